/** Finds the ends of MessagePack values in the bytes of a connection. */

/** Deepest value. */
const maxDepth = 64;

/** Bytes behind the first one of a value; negative: so many bytes have the length. Lists and maps are elsewhere. */
function tailOf(head: number): number {
  if (head < 0x80 || head >= 0xe0) return 0;
  if (head >= 0xa0 && head < 0xc0) return head & 31;
  switch (head) {
    case 0xc4:
    case 0xd9:
    case 0xc7:
      return -1;
    case 0xc5:
    case 0xda:
    case 0xc8:
      return -2;
    case 0xc6:
    case 0xdb:
    case 0xc9:
      return -4;
    case 0xcc:
    case 0xd0:
      return 1;
    case 0xcd:
    case 0xd1:
      return 2;
    case 0xca:
    case 0xce:
    case 0xd2:
      return 4;
    case 0xcb:
    case 0xcf:
    case 0xd3:
      return 8;
    case 0xd4:
      return 2;
    case 0xd5:
      return 3;
    case 0xd6:
      return 5;
    case 0xd7:
      return 9;
    case 0xd8:
      return 17;
    case 0xc1:
      throw new Error('it sends what is no MessagePack');
    default:
      return 0;
  }
}

/** Where it stands in a value of which not all bytes have come. */
export class ValueEnd {
  /** Values that are to come, for each list or map that is open. */
  readonly #left: number[] = [];
  /** The next head, or the end of the value. */
  #at = 0;

  /** End of the value that begins at 0; undefined when it is not there. Bytes that were looked at are not again. */
  find(bytes: Buffer): number | undefined {
    do {
      const end = this.#next(bytes);
      if (end === undefined) return undefined;
      this.#at = end;
      while (this.#left.length > 0 && this.#left[this.#left.length - 1] === 0) this.#left.pop();
    } while (this.#left.length > 0);
    const end = this.#at;
    if (end > bytes.length) return undefined;
    this.#at = 0;
    return end;
  }

  /** End of the value at this place, or of its head where it is a list or a map. */
  #next(bytes: Buffer): number | undefined {
    const at = this.#at;
    const head = bytes[at];
    if (head === undefined) return undefined;
    const isMap = (head & 0xf0) === 0x80 || head === 0xde || head === 0xdf;
    const isList = (head & 0xf0) === 0x90 || head === 0xdc || head === 0xdd;
    if (!isMap && !isList) {
      const tail = tailOf(head);
      const end = tail >= 0 ? at + 1 + tail : this.#sized(bytes, at, head, -tail);
      if (end === undefined || end > bytes.length) return undefined;
      this.#took();
      return end;
    }
    const isWide = head >= 0xdc;
    const size = isWide ? (head === 0xdc || head === 0xde ? 2 : 4) : 0;
    if (at + 1 + size > bytes.length) return undefined;
    const count = isWide ? bytes.readUIntBE(at + 1, size) : head & 15;
    this.#took();
    if (this.#left.length >= maxDepth) throw new Error('its answer is nested too deeply');
    this.#left.push(isMap ? count * 2 : count);
    return at + 1 + size;
  }

  #sized(bytes: Buffer, at: number, head: number, size: number): number | undefined {
    if (at + 1 + size > bytes.length) return undefined;
    const isExtension = head >= 0xc7 && head <= 0xc9;
    return at + 1 + size + bytes.readUIntBE(at + 1, size) + (isExtension ? 1 : 0);
  }

  #took(): void {
    const last = this.#left.length - 1;
    if (last >= 0) this.#left[last]!--;
  }
}
