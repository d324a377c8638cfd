/** Decoders of formats over the messages of an input: rows, errors and large messages in their order. */
import { encode } from '@msgpack/msgpack';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { FrameBuffer } from '../../../../../host/connectors/messages/frames.js';
import { loadFormat } from '../../../../../host/run/plane/calls/format-code.js';
import type { HostColumns } from '../../../../../kernels/api.js';
import { createKernel } from '../../../../../kernels/index.js';
import { Utf8 } from '../../../../../kernels/values/value.js';
import { openRule } from '../../../../support/engine/rule-kernel.js';
import { kernelUnderTest } from '../../../../support/kernel/drive.js';

const code = await loadFormat({ kind: 'format', name: 'msgpack', version: 1, settings: {} });

/** What comes out of a statement over these messages, errors as texts. */
function written(sql: string, messages: readonly Uint8Array[]): string[] {
  const out: string[] = [];
  const calls = {
    onOutput: ({ bytes }: { bytes: Uint8Array }) => {
      out.push(...Buffer.from(bytes).toString().split('\n').slice(0, -1));
    },
    onPacket: () => {},
    onAcknowledge: () => {},
    call: (_fn: number, columns: HostColumns) => code.call('', columns),
  };
  const decoder = { fn: 1 << 16, errorsBeginWith: '' };
  const rule = openRule(['CREATE STREAM s () WITH (TYPE="memory", DATASOURCE="s")'], sql, {
    kernel: createKernel(calls, kernelUnderTest),
    options: { sendError: true },
    props: { sendSingle: true },
    declared: () => ({ framing: 'frames', format: 'coded', decoder }),
  });
  const frames = new FrameBuffer();
  for (const message of messages) frames.add(message);
  rule.feed('s', frames.bytes);
  rule.close();
  return out;
}

const cut = new Uint8Array([0x92, 1]);

test('rows and errors keep their order', () => {
  const messages = Array.from({ length: 3000 }, (_, i) => (i % 3 === 1 ? cut : encode({ i })));
  const out = written('SELECT i FROM s', messages);
  assert.is(out.length, 3000);
  for (const [i, text] of out.entries()) {
    if (i % 3 === 1) assert.is(text, 'format msgpack: it ends in the middle of a value');
    else assert.is(text, `{"i":${i}}`);
  }
});

test('messages that fill the portions of a batch, lists and empty ones', () => {
  const large = 'x'.repeat(700_000);
  const messages = [
    encode({ a: large }),
    cut,
    encode({ a: large }),
    encode([{ a: '1' }, { a: '22' }]),
    new Uint8Array(),
  ];
  const out = written('SELECT length(a) AS n FROM s', messages);
  assert.equal(out.slice(0, 5), [
    '{"n":700000}',
    'format msgpack: it ends in the middle of a value',
    '{"n":700000}',
    '{"n":1}',
    '{"n":2}',
  ]);
  assert.match(out[5]!, /^format msgpack: it ends/);
  assert.is(out.length, 6);
});

test('columns that are in no memory of a kernel are read and set one by one', () => {
  const given = [encode({ a: 1 }), cut, 'text'];
  const results: unknown[] = [];
  code.call('', {
    count: given.length,
    argCount: 1,
    get: (_i, k) => given[k],
    set: (k, value) => {
      results[k] = value instanceof Utf8 ? Buffer.from(value.bytes).toString() : value;
    },
    fail: (k, message) => {
      results[k] = message;
    },
  });
  assert.equal(results, [
    '{"a":1}',
    'format msgpack: it ends in the middle of a value',
    'format msgpack: the message has no bytes',
  ]);
});

test.run();
