/** Rows in the engine's own binary form, as a memory topic passes them from rule to rule: in runs. */
import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { runsOf, singlesOf } from '../../../host/connectors/memory/runs.js';
import type { Kernel, OutputChunk, StreamHandle, StreamSpec } from '../../../kernels/api.js';
import { runTag, Tag } from '../../../kernels/gen/layouts.js';
import { createKernel } from '../../../kernels/index.js';
import { type ColumnUse, col, type OutputPlan } from '../../../kernels/plan/ir.js';
import { encode, kernelUnderTest, linked } from '../../support/kernel/drive.js';
import { field, lines } from '../../support/kernel/streams.js';

const rows: StreamSpec = { ...lines, framing: 'frames', format: 'rows' };
const meta = Buffer.from('{"topic":"t"}');
const names = ['a', 'b', 'c'];
const fields: OutputPlan['shape'] = {
  kind: 'fields',
  fields: names.map((name, i) => ({ name, operand: col(i), plain: true })),
};

function kernelWith(onOutput: (chunk: OutputChunk) => void): Kernel {
  return createKernel({ onOutput, onPacket: () => {}, onAcknowledge: () => {}, call: () => {} }, kernelUnderTest);
}

function feed(kernel: Kernel, stream: StreamHandle, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) {
    const buffer = kernel.inputBuffer(stream);
    const part = bytes.subarray(at, at + buffer.length);
    buffer.set(part);
    at += kernel.feed(stream, part.length, 1000);
  }
}

/** Lines of JSON through one rule into frames, as the sink of a memory topic makes them. */
function framesOf(input: string, wishes: Partial<OutputPlan> = {}): Buffer {
  const frames: Buffer[] = [];
  const kernel = kernelWith((chunk) => frames.push(runsOf(chunk, meta)));
  const stream = kernel.openStream({ ...lines, wholeNumbersAreInts: true });
  kernel.useColumns(stream, names.map(field));
  const output = { shape: fields, format: 'rows', framing: 'messages', ...wishes } as const;
  kernel.addNode({ stream }, linked(encode({}, output)));
  feed(kernel, stream, Buffer.from(input));
  return Buffer.concat(frames);
}

/** What another rule reads of frames: its columns of each row as JSON, and the counters of the stream. */
function readOf(frames: Uint8Array, uses: ColumnUse[] = names.map(field), pieces: readonly number[] = []) {
  const texts: string[] = [];
  const kernel = kernelWith(({ bytes }) => texts.push(...Buffer.from(bytes).toString().split('\n').slice(0, -1)));
  const stream = kernel.openStream(rows);
  const columns = kernel.useColumns(stream, uses) as number[];
  const columnNames = uses.map((use) => ('name' in use ? use.name : 'key' in use ? use.key : use.kind));
  kernel.addNode({ stream }, linked(encode(Object.fromEntries(columns.map((of, i) => [columnNames[i], of])))));
  let from = 0;
  for (const piece of pieces) {
    feed(kernel, stream, frames.subarray(from, from + piece));
    from += piece;
  }
  feed(kernel, stream, frames.subarray(from));
  const { messages, decodeErrors } = kernel.streamCounters(stream);
  return { texts, messages, decodeErrors };
}

const rowsOf = (texts: readonly string[]) => texts.map((text) => JSON.parse(text) as unknown);
const value = fc
  .oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.string({ unit: 'binary' }),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  )
  // Whole numbers that 64 bits can't hold are errors.
  .filter((one) => !/\d{19}/.test(JSON.stringify(one)));
const row = fc.record({ a: value, b: value, c: value }, { requiredKeys: [] });
const textOf = (all: readonly object[]) => all.map((one) => `${JSON.stringify(one)}\n`).join('');

test('a rule reads the rows that JSON would give it, however many they are and wherever the input is cut', () => {
  fc.assert(
    fc.property(
      fc.array(row, { minLength: 1, maxLength: 200 }),
      fc.boolean(),
      fc.array(fc.integer({ min: 1, max: 2000 }), { maxLength: 4 }),
      fc.boolean(),
      fc.boolean(),
      (all, sendSingle, pieces, readsWhole, isApart) => {
        const uses = [...names.map(field), ...(readsWhole ? [{ kind: 'row' } as const] : [])];
        const frames = framesOf(textOf(all), { sendSingle });
        const { texts, messages, decodeErrors } = readOf(isApart ? singlesOf(frames) : frames, uses, pieces);
        const expected = JSON.parse(JSON.stringify(all)) as object[];
        assert.equal(rowsOf(texts), readsWhole ? expected.map((one) => ({ ...one, row: one })) : expected);
        assert.is(messages, all.length);
        assert.is(decodeErrors, 0);
      },
    ),
    { numRuns: 60 },
  );
});

test('integers of 64 bits and repeated names keep what they are', () => {
  const { texts } = readOf(framesOf('{"a":9007199254740993,"b":1,"b":2}\n{"a":-9223372036854775808}\n'));
  assert.equal(texts, ['{"a":9007199254740993,"b":2}', '{"a":-9223372036854775808}']);
});

test('thousands of rows come through in order, long messages among them', () => {
  const long = 'x'.repeat(5000);
  const all = Array.from({ length: 5000 }, (_, i) => (i % 777 === 0 ? { a: i, b: long } : { a: i, b: [i, { k: i }] }));
  const { texts, messages } = readOf(framesOf(textOf(all)));
  assert.equal(rowsOf(texts), all);
  assert.is(messages, all.length);
});

test('metadata come with each row of a run', () => {
  const { texts } = readOf(framesOf('{"a":1}\n{"a":2}\n'), [{ kind: 'meta', key: 'topic' }, field('a')]);
  assert.equal(rowsOf(texts), [
    { topic: 't', a: 1 },
    { topic: 't', a: 2 },
  ]);
});

test('a message of a run that is no row is one error, and those behind it are read', () => {
  const payload = framesOf('{"a":1}\n', { sendSingle: true }).subarray(8 + meta.length + 5);
  const text = Buffer.from([Tag.str, 1, 0, 0, 0, 0x78]);
  for (const bad of [Buffer.from([Tag.null]), text]) {
    const run = Buffer.concat([Buffer.from([runTag, 3, 0, 0, 0]), payload, bad, payload]);
    const head = Buffer.alloc(8);
    head.writeUInt32LE(run.length);
    const read = readOf(Buffer.concat([head, run]));
    assert.equal(rowsOf(read.texts), [{ a: 1 }, { a: 1 }]);
    assert.is(read.decodeErrors, 1);
    assert.is(read.messages, 3);
  }
});

test('of a run that ends too early all rows that are whole are read', () => {
  const frames = framesOf('{"a":1}\n{"a":2}\n', { sendSingle: true });
  const cut = Buffer.from(frames.subarray(0, frames.length - 1));
  cut.writeUInt32LE(cut.readUInt32LE(0) - 1, 0);
  const { texts, decodeErrors } = readOf(cut);
  assert.equal(rowsOf(texts), [{ a: 1 }]);
  assert.is(decodeErrors, 1);
});

test.run();
