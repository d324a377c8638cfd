/** Puts messages that the host has made into the chunk that a sink gets. */
import type { OutputChunk } from '../../kernels/api.js';
import type { EncodeContext } from './define.js';

const lineFeed = Buffer.from('\n');

export class ChunkWriter {
  readonly #parts: Buffer[] = [];
  readonly #ends: number[] = [];
  readonly #errors = new Set<number>();
  #length = 0;

  constructor(readonly framing: EncodeContext['framing']) {}

  /** Appends a message, or the text of an error in its place. */
  add(message: Buffer, isError = false): void {
    if (isError) this.#errors.add(this.#ends.length);
    this.#parts.push(message);
    this.#length += message.length;
    this.#ends.push(this.#length);
    if (this.framing !== 'lines') return;
    this.#parts.push(lineFeed);
    this.#length++;
  }

  /** The chunk with the messages in the place of those that they were made of. */
  chunkOf(chunk: OutputChunk): OutputChunk {
    return {
      ...chunk,
      bytes: Buffer.concat(this.#parts, this.#length),
      ends: this.framing === 'lines' ? null : Uint32Array.from(this.#ends),
      messages: this.#ends.length,
      errors: this.#errors,
    };
  }
}
