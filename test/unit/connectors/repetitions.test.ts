/** Repetitions are taken out of a connection, however it is cut, and nothing else is. */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { printOf } from '../../../host/connectors/publish-print.js';
import { Repetitions } from '../../../host/connectors/repetitions.js';

interface Sent {
  id: number;
  text: string;
  isAgain: boolean;
}

function packet(head: number, body: Buffer): Buffer {
  const length: number[] = [];
  for (let left = body.length; ; left = Math.floor(left / 128)) {
    length.push(left < 128 ? left : (left % 128) | 128);
    if (left < 128) break;
  }
  return Buffer.concat([Buffer.from([head, ...length]), body]);
}

const publishOf = ({ id, text, isAgain }: Sent, properties: Buffer = Buffer.alloc(0)) =>
  packet(
    isAgain ? 0x3a : 0x32,
    Buffer.concat([Buffer.from([0, 1, 0x74, id >> 8, id & 255]), properties, Buffer.from(text)]),
  );
const consent = (hasSession: boolean) => Buffer.from([0x20, 2, hasSession ? 1 : 0, 0]);
const ping = Buffer.from([0xd0, 0]);
const mark = (id: number) => Buffer.from([0x40, 2, id >> 8, id & 255]);
const safe = { isSafe: true };

const sifted = (of: Repetitions<typeof safe>, bytes: Buffer, pieces: readonly number[]): Buffer => {
  const out: Buffer[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const piece = pieces[i % pieces.length]!;
    // What the kernel gets may be in a buffer that is used again.
    out.push(...of.sift(Buffer.from(bytes.subarray(at, at + piece))).map((part) => Buffer.from(part)));
    at += piece;
  }
  return Buffer.concat(out);
};

test('whatever comes again of what is known is a mark, and all else is as it came', () => {
  const message = fc.record({
    id: fc.integer({ min: 1, max: 6 }),
    text: fc.constantFrom('', 'a', 'b', 'x'.repeat(300), 'y'.repeat(20_000)),
    isAgain: fc.boolean(),
  });
  const pieces = fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1 });
  fc.assert(
    fc.property(fc.array(fc.array(message, { maxLength: 12 }), { maxLength: 5 }), pieces, (connections, sizes) => {
      const one = new Repetitions<typeof safe>('s', 1 << 20, 4);
      const known = new Map<number, string>();
      connections.forEach((messages, connection) => {
        one.reset();
        const bytes: Buffer[] = [consent(connection > 0)];
        const wanted: Buffer[] = [consent(connection > 0)];
        const taken: number[] = [];
        for (const sent of messages) {
          bytes.push(publishOf(sent), ping);
          const isKnown = sent.isAgain && known.get(sent.id) === sent.text;
          wanted.push(isKnown ? mark(sent.id) : publishOf(sent), ping);
          if (isKnown) continue;
          known.set(sent.id, sent.text);
          taken.push(sent.id);
        }
        assert.ok(sifted(one, Buffer.concat(bytes), sizes).equals(Buffer.concat(wanted)));
        // None is acknowledged: each id stands for one message.
        one.taken(Uint16Array.from(taken), safe);
      });
    }),
    { numRuns: 300 },
  );
});

test('what is acknowledged for sure is forgotten, what is not is known on the next connection', () => {
  const one = new Repetitions<typeof safe>('s', 1 << 20, 4);
  const first = { id: 1, text: 'a', isAgain: false };
  const second = { id: 2, text: 'b', isAgain: false };
  one.sift(Buffer.concat([consent(false), publishOf(first), publishOf(second)]));
  one.taken(Uint16Array.of(1, 2), safe);
  one.acknowledged(Uint16Array.of(1));
  one.asked();
  one.acknowledged(Uint16Array.of(2));
  one.answered();
  assert.is(one.settled, 1);
  one.reset();
  const again = [first, second].map((sent) => publishOf({ ...sent, isAgain: true }));
  assert.ok(Buffer.concat(one.sift(Buffer.concat(again))).equals(Buffer.concat([again[0]!, mark(2)])));
});

test('what a broken connection has left half done is not known', () => {
  const one = new Repetitions<typeof safe>('s', 1 << 20, 4);
  one.sift(Buffer.concat([consent(false), publishOf({ id: 1, text: 'a', isAgain: false })]));
  one.reset();
  const again = publishOf({ id: 1, text: 'a', isAgain: true });
  assert.ok(Buffer.concat(one.sift(again)).equals(again));
});

test('a message that can not come again is not kept until it is whole', () => {
  const one = new Repetitions<typeof safe>('s', 1 << 20, 4);
  const part = Buffer.alloc(1 << 20, 0x61);
  const before = process.memoryUsage().arrayBuffers;
  // QoS 0, of 64 MB.
  let passed = Buffer.concat(one.sift(Buffer.from([0x30, 0x80, 0x80, 0x80, 0x20, 0, 1, 0x74]))).length;
  for (let i = 0; i < 64; i++)
    passed += one.sift(i < 63 ? part : part.subarray(3)).reduce((n, { length }) => n + length, 0);
  assert.is(passed, 5 + (64 << 20));
  assert.ok(process.memoryUsage().arrayBuffers - before < 8 << 20);
  const next = { id: 1, text: 'a', isAgain: false };
  one.sift(publishOf(next));
  one.taken(Uint16Array.of(1), safe);
  assert.ok(Buffer.concat(one.sift(publishOf({ ...next, isAgain: true }))).equals(mark(1)));
});

test('the print of a message is that of its content, whatever a broker changes on the way', () => {
  const print = (sent: Buffer) => printOf(sent, sent.length < 130 ? 2 : 3, sent.length, 5);
  const of = (text: string, ...properties: number[]) =>
    print(publishOf({ id: 7, text, isAgain: false }, Buffer.from([properties.length, ...properties])));
  const plain = of('a');
  assert.is(of('a', 0x02, 0, 0, 0, 9), of('a', 0x02, 0, 0, 0, 3));
  assert.is(of('a', 0x02, 0, 0, 0, 9), plain);
  assert.is.not(of('b'), plain);
  assert.is.not(of('a', 0x26, 0, 1, 0x6b, 0, 1, 0x76), plain);
  assert.is(of('a', 0x77), 0);
});

test.run();
