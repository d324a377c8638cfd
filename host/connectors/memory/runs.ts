/** Puts messages that follow each other into runs, which are a frame each: neither side looks at single messages. */
import { runTag } from '../../../kernels/gen/layouts.js';
import { valueEnd } from '../../../kernels/values/rows.js';
import { FrameBuffer, nextFrame } from '../messages/frames.js';
import type { OutputChunk } from '../running.js';

/** A run is input of one piece, so that few messages go together: rows times rules is what a piece costs. */
const mostMessages = 64;
/** A longer message stands by itself: those of runs have to fit in a batch of the kernel, and a row has 5 bytes. */
const longestMessage = 4096;
const frameHead = 8;
const runHead = 5;

/** The messages of a chunk as frames with these metadata, in memory of its own. */
export function runsOf({ bytes, ends }: OutputChunk, meta: Uint8Array): Buffer {
  const all = ends ?? [bytes.length];
  // Before each run and each long message stands at most one run that is not full.
  const runs = Math.ceil(all.length / mostMessages) + 2 * Math.floor(bytes.length / longestMessage) + 1;
  const frames = Buffer.allocUnsafe(bytes.length + runs * (frameHead + meta.length + runHead));
  let length = 0;
  let from = 0;
  for (let i = 0; i < all.length; ) {
    const first = i;
    let to = all[i++]!;
    const isLong = to - from > longestMessage;
    while (!isLong && i < all.length && i - first < mostMessages && all[i]! - to <= longestMessage) to = all[i++]!;
    const head = isLong ? 0 : runHead;
    frames.writeUInt32LE(head + to - from, length);
    frames.writeUInt32LE(meta.length, length + 4);
    frames.set(meta, length + frameHead);
    length += frameHead + meta.length;
    if (!isLong) {
      frames[length] = runTag;
      frames.writeUInt32LE(i - first, length + 1);
    }
    frames.set(bytes.subarray(from, to), length + head);
    length += head + to - from;
    from = to;
  }
  return frames.subarray(0, length);
}

/** The messages of runs, each in a frame of its own. */
export function singlesOf(runs: Buffer): Buffer {
  const frames = new FrameBuffer();
  for (let frame = nextFrame(runs, 0); frame !== undefined; frame = nextFrame(runs, frame.end)) {
    const { payload, meta } = frame;
    if (payload[0] !== runTag) frames.add(payload, meta);
    else {
      for (let at = runHead; at < payload.length; ) {
        const end = valueEnd(payload, at);
        frames.add(payload.subarray(at, end), meta);
        at = end;
      }
    }
  }
  return Buffer.from(frames.bytes);
}
