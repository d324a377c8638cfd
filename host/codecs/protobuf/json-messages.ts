/** Protobuf messages of JSON texts, as a template writes them, and JSON of messages within other messages. */
import type { OutputChunk } from '../../../kernels/api.js';
import type { MessageTypes } from '../../../kernels/plan/message-types.js';
import { ChunkWriter } from '../chunk-writer.js';
import type { EncodeContext, Encoder, MessageDecoder, Unmade } from '../define.js';
import { type Turn, turnOf } from './small-kernel.js';

export class JsonMessageEncoder implements Encoder {
  readonly #turn: Turn;

  constructor(readonly context: EncodeContext) {
    const { messages, sink } = context;
    if (messages === undefined) throw new Error(`${sink} has no schema`);
    this.#turn = turnOf({ format: 'json' }, { format: 'protobuf', messages });
  }

  encode(chunk: OutputChunk, failed: Unmade): OutputChunk {
    const { sink, framing, sendError } = this.context;
    const out = new ChunkWriter(framing);
    let from = 0;
    for (const [place, end] of (chunk.ends ?? []).entries()) {
      const message = chunk.bytes.subarray(from, end);
      from = end;
      if (chunk.errors.has(place)) {
        out.add(Buffer.from(message), true);
        continue;
      }
      for (const made of this.#turn(message)) {
        if (typeof made !== 'string') {
          out.add(made);
          continue;
        }
        const reason = `${sink}: ${made}`;
        failed(reason, message);
        if (sendError) out.add(Buffer.from(reason), true);
      }
    }
    return out.chunkOf(chunk);
  }
}

export class MessageJsonDecoder implements MessageDecoder {
  readonly #turn: Turn;

  constructor(messages: MessageTypes) {
    this.#turn = turnOf({ format: 'protobuf', messages }, { format: 'json' });
  }

  decode(message: Uint8Array): Uint8Array {
    const [made] = this.#turn(message);
    if (made instanceof Uint8Array) return made;
    throw new Error(made ?? 'the message gives no row');
  }
}
