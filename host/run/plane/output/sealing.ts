/** Compresses and encrypts messages between their format and the queue of the sink. */
import type { OutputChunk } from '../../../../kernels/api.js';
import { aesCipher } from '../../../base/bytes/aes.js';
import { compressions } from '../../../base/bytes/compression.js';
import { ChunkWriter } from '../../../codecs/chunk-writer.js';
import type { Encoder, Unmade } from '../../../codecs/define.js';
import { MessageCutter } from '../../../connectors/messages/frames.js';
import type { Seal } from '../../../connectors/seal.js';

export class Sealing implements Encoder {
  readonly #cutter = new MessageCutter();
  readonly #compress: (message: Uint8Array) => Uint8Array;
  readonly #encrypt: (message: Uint8Array) => Uint8Array;

  /**
   * @param aesKey of encryption, base64
   * @param before makes the messages where the kernel does not
   */
  constructor(
    { compression, level, encryption }: Seal,
    aesKey: string,
    private readonly before: Encoder | undefined,
  ) {
    this.#compress = compression === undefined ? same : (message) => compressions[compression].compress(message, level);
    this.#encrypt = encryption === undefined ? same : aesCipher(aesKey, encryption);
  }

  encode(chunk: OutputChunk, failed: Unmade): OutputChunk {
    return this.#seal(this.before?.encode(chunk, failed) ?? chunk);
  }

  get encodeLater(): Encoder['encodeLater'] {
    const later = this.before?.encodeLater;
    return later && (async (chunk, failed) => this.#seal(await later(chunk, failed)));
  }

  #seal(made: OutputChunk): OutputChunk {
    const writer = new ChunkWriter('messages');
    this.#cutter.cut(made, (message, place) => {
      const sealed = this.#encrypt(this.#compress(message));
      writer.add(Buffer.from(sealed.buffer, sealed.byteOffset, sealed.length), made.errors.has(place));
    });
    return writer.chunkOf(made);
  }
}

function same(message: Uint8Array): Uint8Array {
  return message;
}
