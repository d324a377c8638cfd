/** Writes and reads the messages of the protocol; loaded with the first service, since the package is optional. */
import { Decoder, Encoder } from '@msgpack/msgpack';

/** Deepest nesting that is written. */
const maxDepth = 64;

/** A coder of messages, whose whole numbers are 64 bits wide. */
export function messageCoder(): { encoder: Encoder; decoder: Decoder } {
  return {
    encoder: new Encoder({ useBigInt64: true, maxDepth }),
    // A key of any type is a text, as the name of a member.
    decoder: new Decoder({ useBigInt64: true, mapKeyConverter: String }),
  };
}
