/** Has the codec of a plugin make the messages of a chunk, all in one call. */
import type { OutputChunk } from '../../../kernels/api.js';
import { MessageCalls } from '../../../kernels/calls/message-calls.js';
import { ChunkWriter } from '../chunk-writer.js';
import type { EncodeContext, Encoder, Unmade } from '../define.js';

export class CodecEncoder implements Encoder {
  constructor(readonly context: EncodeContext) {
    if (context.codec === undefined) throw new Error(`${context.sink} has no codec`);
  }

  encode(chunk: OutputChunk, failed: Unmade): OutputChunk {
    const { sink, framing, sendError, codec } = this.context;
    const out = new ChunkWriter(framing);
    const ends = chunk.ends ?? new Uint32Array();
    const texts: Uint8Array[] = [];
    let from = 0;
    for (const [place, end] of ends.entries()) {
      if (!chunk.errors.has(place)) texts.push(chunk.bytes.subarray(from, end));
      from = end;
    }
    const made = calls.run(texts, 'text', (columns) => codec?.(columns));
    from = 0;
    let n = 0;
    for (const [place, end] of ends.entries()) {
      const message = Buffer.from(chunk.bytes.buffer, chunk.bytes.byteOffset + from, end - from);
      from = end;
      // No codec sees the text of an error.
      if (chunk.errors.has(place)) {
        out.add(Buffer.from(message), true);
        continue;
      }
      const bytes = made[n++];
      if (bytes instanceof Uint8Array) {
        out.add(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
        continue;
      }
      const reason = `${sink}: ${bytes?.message ?? 'the codec gave no message'}`;
      failed(reason, message);
      if (sendError) out.add(Buffer.from(reason), true);
    }
    return out.chunkOf(chunk);
  }
}

/** One call after the other: all encoders of a thread share its memory. */
const calls = new MessageCalls();
