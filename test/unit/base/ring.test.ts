/** Bytes come out of a ring as they went in, whatever their length and their places in memory. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Ring, ringMemory } from '../../../host/base/structures/ring.js';

const lengths = [1, 5, 63, 64, 511, 512, 513, 4099, 16_384, 16_385, 16_393, 40_000, 65_536];
const ringBytes = 1 << 16;

test('keeps bytes at all places within eight bytes and over its end', () => {
  const shared = ringMemory(ringBytes);
  const [writer, reader] = [new Ring(shared), new Ring(shared)];
  let value = 0;
  for (const length of lengths) {
    for (let place = 0; place < 64; place++) {
      const memory = new Uint8Array(length + 16);
      const sent = memory.subarray(place & 7, (place & 7) + length);
      for (let i = 0; i < length; i++) sent[i] = value = (value * 31 + 7) & 255;
      assert.is(writer.put(sent), length);
      const taken = new Uint8Array(length + 16).subarray(place >> 3, (place >> 3) + length);
      assert.is(reader.take(taken), length);
      assert.equal(Buffer.compare(taken, sent), 0, `${length} bytes at ${place}`);
      assert.is(reader.available, 0);
      // The next ones begin elsewhere.
      writer.put(new Uint8Array(1 + (place % 5)));
      reader.take(new Uint8Array(1 + (place % 5)));
    }
  }
});

test('takes as much as there is room for, and gives as much as there is', () => {
  const ring = new Ring(ringMemory(1024));
  const bytes = Uint8Array.from({ length: 1000 }, (_, i) => i);
  assert.is(ring.put(bytes), 1000);
  assert.is(ring.put(bytes), 24);
  assert.is(ring.put(bytes), 0);
  const taken = new Uint8Array(2000);
  assert.is(ring.take(taken), 1024);
  assert.equal(taken.subarray(0, 1000), bytes);
  assert.equal(taken.subarray(1000, 1024), bytes.subarray(0, 24));
  assert.is(ring.take(taken), 0);
});

test.run();
