/** State on its way between the kernel, which gives it in slices, and files. */

const pieceBytes = 1 << 20;

/** Gathers slices in pieces that are written at once. */
export class StateCopy {
  readonly pieces: Buffer[] = [];
  bytes = 0;
  #length = 0;

  /** Copies the bytes. */
  add(bytes: Uint8Array): void {
    this.bytes += bytes.length;
    for (let from = 0; from < bytes.length; ) {
      let piece = this.pieces.at(-1);
      if (piece === undefined || this.#length === piece.length) {
        // A small state gets no large piece.
        piece = Buffer.allocUnsafe(this.pieces.length === 0 ? Math.max(4096, bytes.length) : pieceBytes);
        this.pieces.push(piece);
        this.#length = 0;
      }
      const count = Math.min(bytes.length - from, piece.length - this.#length);
      piece.set(bytes.subarray(from, from + count), this.#length);
      this.#length += count;
      from += count;
    }
  }

  /** To be called when no more slices come. */
  end(): void {
    const last = this.pieces.pop();
    if (last !== undefined) this.pieces.push(last.subarray(0, this.#length));
  }
}

/** Gives pieces to the kernel, as much as it has room for. */
export function stateReader(pieces: readonly Uint8Array[]): (into: Uint8Array) => number {
  let piece = 0;
  let at = 0;
  return (into) => {
    while (piece < pieces.length && at === pieces[piece]!.length) {
      piece++;
      at = 0;
    }
    const from = pieces[piece];
    if (from === undefined) return 0;
    const count = Math.min(into.length, from.length - at);
    into.set(from.subarray(at, at + count));
    at += count;
    return count;
  };
}
