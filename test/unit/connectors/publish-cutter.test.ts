/** Packets that are cut out of a connection: the same bytes, however the connection cuts them. */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { PublishCutter } from '../../../host/base/mqtt/publish-cutter.js';

function packet(head: number, body: Buffer): Buffer {
  const length: number[] = [];
  for (let left = body.length; ; left = Math.floor(left / 128)) {
    if (left < 128) {
      length.push(left);
      break;
    }
    length.push((left % 128) | 128);
  }
  return Buffer.concat([Buffer.from([head, ...length]), body]);
}

const publishOf = (qos: number, id: number, payload: Buffer) =>
  packet(
    0x30 | (qos << 1),
    Buffer.concat([Buffer.from([0, 1, 0x74]), qos > 0 ? Buffer.from([id >> 8, id & 255]) : Buffer.alloc(0), payload]),
  );
const others = [Buffer.from([0xd0, 0]), Buffer.from([0x40, 2, 0, 7])];

test('messages of QoS 1 and 2 come out as they were sent, in pieces of any length', () => {
  const message = fc.record({
    qos: fc.constantFrom(0, 1, 2, 'none' as const),
    size: fc.constantFrom(0, 1, 100, 124, 200, 20_000),
  });
  fc.assert(
    fc.property(
      fc.array(message, { maxLength: 30 }),
      fc.array(fc.integer({ min: 1, max: 30_000 }), { minLength: 1 }),
      (messages, pieces) => {
        const packets = messages.map(({ qos, size }, i) =>
          qos === 'none' ? others[i % 2]! : publishOf(qos, i + 1, Buffer.alloc(size, i)),
        );
        const wanted = packets.filter((_, i) => Number(messages[i]!.qos) > 0);
        const all = Buffer.concat(packets);
        const cutter = new PublishCutter(1 << 20);
        for (let at = 0, i = 0; at < all.length; i++) {
          const piece = pieces[i % pieces.length]!;
          cutter.add(all.subarray(at, at + piece));
          at += piece;
        }
        assert.is(cutter.take(wanted.length + 1), undefined);
        const half = Math.floor(wanted.length / 2);
        for (const part of [wanted.slice(0, half), wanted.slice(half)]) {
          if (part.length === 0) continue;
          const cut = cutter.take(part.length)!;
          assert.ok(cut.bytes.equals(Buffer.concat(part)));
          assert.is(cut.ends.at(-1), cut.bytes.length);
        }
      },
    ),
  );
});

test('a message that is too long counts, and has no bytes', () => {
  const cutter = new PublishCutter(1000);
  const long = publishOf(1, 1, Buffer.alloc(200_000));
  cutter.add(long.subarray(0, 100));
  assert.is(cutter.take(1)?.bytes.length, 0);
  cutter.add(long.subarray(100, 150_000));
  const next = publishOf(1, 2, Buffer.from('x'));
  cutter.add(Buffer.concat([long.subarray(150_000), next]));
  assert.ok(cutter.take(1)?.bytes.equals(next));
});

test('after a new connection nothing of the old one is left', () => {
  const cutter = new PublishCutter(1000);
  const whole = publishOf(1, 1, Buffer.from('y'));
  cutter.add(Buffer.concat([whole, whole.subarray(0, 3)]));
  cutter.reset();
  assert.is(cutter.take(1), undefined);
  cutter.add(whole);
  assert.ok(cutter.take(1)?.bytes.equals(whole));
});

test.run();
