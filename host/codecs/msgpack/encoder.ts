/** JSON as MessagePack. Integers beyond 53 bits are those of 64 bits. */
import { Encoder as Packer } from '@msgpack/msgpack';
import type { EncodeContext } from '../define.js';
import { maxDepth } from '../json-writer.js';
import { MessageEncoder } from '../message-encoder.js';

export class MsgpackEncoder extends MessageEncoder {
  readonly #packer = new Packer({ useBigInt64: true, maxDepth });

  constructor(context: EncodeContext) {
    super('msgpack', context);
  }

  protected bytesOf(message: unknown): Uint8Array {
    return this.#packer.encode(message);
  }
}
