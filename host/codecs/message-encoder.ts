/** Makes each JSON message of a chunk one of another format, by itself. */
import type { OutputChunk } from '../../kernels/api.js';
import { reasonOf } from '../base/errors.js';
import { readExactJson } from '../base/text/exact-json.js';
import { ChunkWriter } from './chunk-writer.js';
import type { EncodeContext, Encoder, Unmade } from './define.js';

export abstract class MessageEncoder implements Encoder {
  /** @param format its name in errors */
  constructor(
    readonly format: string,
    readonly context: EncodeContext,
  ) {}

  /** Bytes of a message, which is JSON: integers beyond 53 bits are bigint. Throws the reason why there are none. */
  protected abstract bytesOf(message: unknown): Uint8Array;

  encode(chunk: OutputChunk, failed: Unmade): OutputChunk {
    const { sink, framing, sendError } = this.context;
    const out = new ChunkWriter(framing);
    let from = 0;
    for (const [place, end] of (chunk.ends ?? []).entries()) {
      const message = Buffer.from(chunk.bytes.buffer, chunk.bytes.byteOffset + from, end - from);
      from = end;
      // The text of an error stays one.
      if (chunk.errors.has(place)) {
        out.add(Buffer.from(message), true);
        continue;
      }
      try {
        const bytes = this.bytesOf(readExactJson(message.toString()));
        out.add(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
      } catch (error) {
        const reason = `${sink}: format ${this.format}: ${reasonOf(error)}`;
        failed(reason, message);
        if (sendError) out.add(Buffer.from(reason), true);
      }
    }
    return out.chunkOf(chunk);
  }
}
