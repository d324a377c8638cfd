/** Has the codec of a plugin make the messages of a chunk, all in one call. */
import type { OutputChunk } from '../../../kernels/api.js';
import { type Made, MessageCalls } from '../../../kernels/calls/message-calls.js';
import { ChunkWriter } from '../chunk-writer.js';
import type { EncodeContext, Encoder, Unmade } from '../define.js';

export class CodecEncoder implements Encoder {
  readonly encodeLater: Encoder['encodeLater'];

  constructor(readonly context: EncodeContext) {
    const { codec, codecLater } = context;
    if (codec === undefined) throw new Error(`${context.sink} has no codec`);
    this.encodeLater =
      codecLater && (async (chunk, failed) => this.#put(chunk, await codecLater(textsOf(chunk)), failed));
  }

  encode(chunk: OutputChunk, failed: Unmade): OutputChunk {
    const made = calls.run(textsOf(chunk), 'text', (columns) => this.context.codec?.(columns));
    return this.#put(chunk, made, failed);
  }

  /** The chunk with the messages that were made of its texts. */
  #put(chunk: OutputChunk, made: readonly Made[], failed: Unmade): OutputChunk {
    const { sink, framing, sendError } = this.context;
    const out = new ChunkWriter(framing);
    let from = 0;
    let n = 0;
    for (const [place, end] of (chunk.ends ?? []).entries()) {
      const message = Buffer.from(chunk.bytes.buffer, chunk.bytes.byteOffset + from, end - from);
      from = end;
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

/** The messages of a chunk; no codec sees the text of an error. */
function textsOf({ bytes, ends, errors }: OutputChunk): Uint8Array[] {
  const texts: Uint8Array[] = [];
  let from = 0;
  for (const [place, end] of (ends ?? []).entries()) {
    if (!errors.has(place)) texts.push(bytes.subarray(from, end));
    from = end;
  }
  return texts;
}

/** One call after the other: all encoders of a thread share its memory. */
const calls = new MessageCalls();
