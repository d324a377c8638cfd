/** A whole file as one message. */

/** Longest message; the kernel takes no longer ones. */
const mostBytes = 16 * 1024 * 1024;

export class RawSplitter {
  #parts: Buffer[] = [];
  #bytes = 0;

  add(chunk: Buffer): Iterable<Uint8Array> {
    this.#bytes += chunk.length;
    if (this.#bytes > mostBytes) throw new Error(`it has more than the ${mostBytes} bytes of a message`);
    // The chunk's memory is used again by the reader.
    this.#parts.push(Buffer.from(chunk));
    return [];
  }

  end(): Iterable<Uint8Array> {
    return this.#bytes === 0 ? [] : [Buffer.concat(this.#parts)];
  }
}
