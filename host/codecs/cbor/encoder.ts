/** JSON as CBOR, names in the order of the columns. Integers have all their digits. */
import { encode } from 'cborg';
import type { EncodeContext } from '../define.js';
import { MessageEncoder } from '../message-encoder.js';

export class CborEncoder extends MessageEncoder {
  constructor(context: EncodeContext) {
    super('cbor', context);
  }

  protected bytesOf(message: unknown): Uint8Array {
    return encode(message, { mapSorter: () => 0 });
  }
}
