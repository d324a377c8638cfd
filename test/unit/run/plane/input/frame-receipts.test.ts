/** Receipts of messages in frames: each comes back when the kernel has taken its message, however it is cut. */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { FrameBuffer, payloadsOf } from '../../../../../host/connectors/messages/frames.js';
import { OwedReceipts } from '../../../../../host/run/plane/input/owed-receipts.js';
import { FrameCutter } from '../../../../../host/run/plane/state/input-log/frame-cutter.js';

const messages = fc.array(fc.record({ text: fc.string({ maxLength: 20 }), isDropped: fc.boolean() }), {
  maxLength: 30,
});
const cuts = fc.array(fc.nat(), { maxLength: 20 });

function framed(texts: readonly string[]): Buffer {
  const frames = new FrameBuffer();
  for (const text of texts) frames.add(Buffer.from(text), Buffer.from('{}'));
  return Buffer.from(frames.bytes);
}

function pieces(bytes: Buffer, at: readonly number[]): Buffer[] {
  const places = [...at.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return places.map((end, i) => bytes.subarray(places[i - 1] ?? 0, end));
}

test('receipts come back in order, never before their message was taken', () => {
  fc.assert(
    fc.property(messages, cuts, (all, at) => {
      const owed = new OwedReceipts();
      owed.add(Uint32Array.from(all, (_one, i) => i));
      for (const { isDropped } of all) owed.passed(isDropped);
      const passed = all.flatMap(({ isDropped, text }, i) => (isDropped ? [] : [{ text, i }]));
      const bytes = framed(passed.map(({ text }) => text));
      const got: number[] = [];
      let length = 0;
      for (const piece of pieces(bytes, at)) {
        got.push(...owed.fed(piece));
        length += piece.length;
        const taken = payloadsOf(bytes.subarray(0, length)).length;
        const isPart = framed(passed.slice(0, taken).map(({ text }) => text)).length > length;
        const last = passed[taken - (isPart ? 1 : 0)]?.i ?? all.length;
        assert.ok(got.length <= last, `${got.length} receipts, ${last} messages are over`);
      }
      got.push(...owed.leading);
      assert.equal(
        got,
        all.map((_one, i) => i),
      );
    }),
  );
});

test('frames are kept for a log as they were, and taken out by their number', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 20 })), cuts, fc.nat(), (texts, at, first) => {
      const cutter = new FrameCutter();
      for (const piece of pieces(framed(texts), at)) cutter.add(piece);
      const count = texts.length === 0 ? 0 : first % (texts.length + 1);
      const cut = count === 0 ? undefined : cutter.take(count);
      const rest = count === texts.length ? undefined : cutter.take(texts.length - count);
      const got = [cut, rest].flatMap((one) => (one === undefined ? [] : payloadsOf(one.bytes)));
      assert.equal(
        got.map((payload) => Buffer.from(payload).toString()),
        texts,
      );
      assert.is(cutter.take(1), undefined);
    }),
  );
});

test.run();
