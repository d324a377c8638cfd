/** Cuts chunks of bytes into lines without their line ends. */

const lineFeed = 10;
const carriageReturn = 13;

export class LineSplitter {
  #rest: Buffer[] = [];

  *add(chunk: Buffer): Generator<Uint8Array> {
    let from = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, from)) {
      yield trimmed(this.#whole(chunk.subarray(from, end)));
      from = end + 1;
    }
    // The chunk's memory is used again by the reader.
    if (from < chunk.length) this.#rest.push(Buffer.from(chunk.subarray(from)));
  }

  *end(): Generator<Uint8Array> {
    if (this.#rest.length > 0) yield trimmed(this.#whole(Buffer.alloc(0)));
  }

  #whole(end: Buffer): Buffer {
    if (this.#rest.length === 0) return end;
    const whole = Buffer.concat([...this.#rest, end]);
    this.#rest = [];
    return whole;
  }
}

function trimmed(line: Buffer): Buffer {
  return line.length > 0 && line[line.length - 1] === carriageReturn ? line.subarray(0, line.length - 1) : line;
}
