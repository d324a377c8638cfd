/** What the planner and the data plane learn of formats from their manifests. */
import { readdirSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  allFormats,
  decodeOf,
  encodeOf,
  formatNames,
  loadEncoder,
  openEncoder,
  readsOption,
  schemaTypeOf,
} from '../../../host/codecs/index.js';
import type { OutputChunk } from '../../../kernels/api.js';

const folder = new URL('../../../host/codecs/', import.meta.url);

test('every folder is a format of its name', () => {
  const folders = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'gen')
    .map(({ name }) => name)
    .sort();
  assert.equal(
    allFormats().map(({ name }) => name),
    folders,
  );
});

test('statements may name formats that are there or planned; a template is chosen by its property alone', () => {
  for (const name of ['json', 'binary', 'delimited', 'protobuf', 'urlencoded']) assert.ok(formatNames.includes(name));
  assert.not(formatNames.includes('template'));
  assert.equal(
    [decodeOf('json')?.kernel, decodeOf('binary')?.isWhole, decodeOf('template')],
    ['json', true, undefined],
  );
});

test('options belong to formats', () => {
  assert.ok(readsOption('delimited', 'DELIMITER'));
  assert.ok(readsOption('protobuf', 'SCHEMAID'));
  assert.not(readsOption('json', 'DELIMITER'));
  assert.equal([schemaTypeOf('protobuf'), schemaTypeOf('json')], ['protobuf', undefined]);
});

test('actions choose what writes their messages', () => {
  assert.equal(encodeOf({}), { kernel: 'json' });
  assert.equal(encodeOf({ format: 'JSON' }), { kernel: 'json' });
  assert.is(encodeOf({ format: 'nope' }), undefined);
  assert.equal(encodeOf({ format: 'binary' }), { kernel: 'raw', isWhole: true });
  const template = encodeOf({ format: 'delimited', dataTemplate: '{{.a}}' });
  assert.ok(template !== undefined && 'load' in template && template.selects);
});

const texts = ['{"a":1}', 'it failed', '[{"a":2}]'];
const ends = texts.map((_text, i) => Buffer.byteLength(texts.slice(0, i + 1).join('')));
const chunk: OutputChunk = {
  node: 1,
  host: 1,
  bytes: Buffer.from(texts.join('')),
  ends: Uint32Array.from(ends),
  messages: 3,
  rows: 3,
  errors: new Set([1]),
};

test('an encoder on the host turns a chunk into a chunk, and says which messages are errors', async () => {
  const props = { dataTemplate: 'a is {{with .a}}{{.}}{{end}}' };
  await loadEncoder(props);
  const failures: string[] = [];
  const encode = (framing: 'lines' | 'messages', sendError: boolean) =>
    openEncoder(props, { sink: 'sink x', framing, sendError, isBatch: false })!.encode(chunk, (reason) =>
      failures.push(reason),
    );
  const lines = encode('lines', false);
  assert.is(Buffer.from(lines.bytes).toString(), 'a is 1\nit failed\n');
  assert.equal([lines.ends, lines.messages, [...lines.errors!]], [null, 2, [1]]);
  const messages = encode('messages', true);
  assert.equal([...messages.ends!].length, 3);
  assert.equal([messages.messages, [...messages.errors!]], [3, [1, 2]]);
  assert.is(failures.length, 2);
  assert.match(failures[0]!, /^sink x: dataTemplate: /);
});

test('the kernel writes by itself what needs nothing else', () => {
  assert.is(openEncoder({}, { sink: 'sink x', framing: 'messages', sendError: false, isBatch: false }), undefined);
});

test.run();
