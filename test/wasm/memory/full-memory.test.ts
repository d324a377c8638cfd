/**
 * Input for which there is no room: nothing is lost, it is taken later, and what never fits is skipped to its very end.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { StreamHandle } from '../../../kernels/api.js';
import { type Driver, drive, encode, linked } from '../../support/kernel/drive.js';
import { field, lines, mqtt, publish } from '../../support/kernel/streams.js';

const mb = 1 << 20;
const texts = [1, 2, 3].map((id) => `{"id":${id},"text":"${'x'.repeat(id === 2 ? 3 * mb : 10)}"}`);

function frame(payload: string): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32LE(payload.length, 0);
  return Buffer.concat([head, Buffer.from(payload)]);
}

const framings = {
  lines: { spec: lines, bytes: Buffer.from(`${texts.join('\n')}\n`) },
  frames: { spec: { ...lines, framing: 'frames' as const }, bytes: Buffer.concat(texts.map(frame)) },
  mqtt: { spec: mqtt, bytes: Buffer.concat(texts.map((text, i) => publish('t', text, { qos: 1, id: i + 1 }))) },
};

/** Returns what was not taken. */
function give({ kernel }: Driver, stream: StreamHandle, bytes: Uint8Array, skips = false): Uint8Array {
  for (let at = 0; at < bytes.length; ) {
    const buffer = kernel.inputBuffer(stream);
    const part = bytes.subarray(at, at + Math.min(buffer.length, mb / 4));
    buffer.set(part);
    const taken = kernel.feed(stream, part.length, 1000, skips);
    at += taken;
    if (taken < part.length) return bytes.subarray(at);
  }
  return bytes.subarray(bytes.length);
}

/** A kernel whose memory half messages fill; `free` drops them. */
function fullKernel(spec: typeof lines) {
  const driver = drive({ maxMemoryBytes: 24 * mb });
  const { kernel } = driver;
  const stream = kernel.openStream({ ...spec });
  kernel.useColumns(stream, [field('id')]);
  const sink = kernel.addNode({ stream }, linked(encode({ id: 0 })));
  const ids = () => driver.of(sink).map((text) => JSON.parse(text).id);
  // What a first message needs besides its bytes is there from then on.
  const hogs = Array.from({ length: 8 }, () => kernel.openStream({ ...lines }));
  for (const hog of hogs)
    while (give(driver, hog, Buffer.alloc(mb / 4, 'x')).length === 0) {
      if (kernel.memory().inUse > 22 * mb) break;
    }
  const free = () => {
    for (const hog of hogs) kernel.resetInput(hog);
  };
  return { driver, kernel, stream, ids, free };
}

for (const [framing, { spec, bytes }] of Object.entries(framings)) {
  test(`${framing}: what a message has no room for is given again, and all messages come once`, () => {
    const { driver, kernel, stream, ids, free } = fullKernel(spec);
    let left = give(driver, stream, bytes);
    assert.ok(left.length > mb, 'the kernel was full');
    assert.equal(ids(), [1]);
    // As often as one likes.
    left = give(driver, stream, left);
    assert.ok(left.length > mb);
    free();
    assert.is(give(driver, stream, left).length, 0);
    assert.equal(ids(), [1, 2, 3]);
    const { oversized, decodeErrors, exceptions } = kernel.streamCounters(stream);
    assert.equal([oversized, decodeErrors, exceptions], [0, 0, 0]);
    if (framing === 'mqtt') assert.equal(driver.acknowledged, [1, 2, 3]);
  });

  test(
    `${framing}: a message that is given up is skipped to its end, counted, and the next one is read from its ` +
      'start',
    () => {
      const { driver, kernel, stream, ids } = fullKernel(spec);
      const left = give(driver, stream, bytes);
      assert.ok(left.length > mb, 'the kernel was full');
      const first = left.subarray(0, mb / 4);
      assert.is(give(driver, stream, first, true).length, 0);
      assert.is(give(driver, stream, left.subarray(first.length)).length, 0);
      assert.equal(ids(), [1, 3]);
      const { oversized, decodeErrors, exceptions } = kernel.streamCounters(stream);
      assert.equal([oversized, decodeErrors, exceptions], [1, 0, 0]);
      if (framing === 'mqtt') assert.equal(driver.acknowledged, [1, 2, 3]);
    },
  );
}

test.run();
