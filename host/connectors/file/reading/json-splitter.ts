/**
 * Cuts a JSON text of any size into the elements of its array, or into values that follow one another. It only finds
 * the borders; what is between them is checked by the decoder, so one bad element costs no other.
 */

const quote = 34;
const comma = 44;
const openBracket = 91;
const backslash = 92;
const closeBracket = 93;
const openBrace = 123;
const closeBrace = 125;

/** Longest single element; a longer one is most likely a text that is no JSON. */
const maxElementBytes = 64 * 1024 * 1024;

export class JsonSplitter {
  #rest: Buffer[] = [];
  #restBytes = 0;
  #depth = 0;
  #isInText = false;
  #isEscaped = false;
  #isArray = false;
  #hasStarted = false;
  #isInValue = false;

  *add(chunk: Buffer): Generator<Uint8Array> {
    let from = this.#isInValue ? 0 : -1;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i]!;
      if (this.#isInText) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === backslash) this.#isEscaped = true;
        else if (byte === quote) this.#isInText = false;
        continue;
      }
      const isSpace = byte <= 32;
      if (!this.#isInValue) {
        if (isSpace || byte === comma) continue;
        if (!this.#hasStarted && byte === openBracket) {
          this.#hasStarted = true;
          this.#isArray = true;
          continue;
        }
        this.#hasStarted = true;
        if (byte === closeBracket && this.#isArray) {
          this.#isArray = false;
          continue;
        }
        this.#isInValue = true;
        from = i;
      } else if (this.#depth === 0 && (isSpace || byte === comma || (byte === closeBracket && this.#isArray))) {
        // A bare number, word or text ends where something else begins.
        yield this.#whole(chunk.subarray(from, i));
        from = -1;
        if (byte === closeBracket) this.#isArray = false;
        continue;
      }
      if (byte === quote) this.#isInText = true;
      else if (byte === openBrace || byte === openBracket) this.#depth++;
      else if (byte === closeBrace || byte === closeBracket) {
        this.#depth--;
        if (this.#depth <= 0) {
          this.#depth = 0;
          yield this.#whole(chunk.subarray(from, i + 1));
          from = -1;
        }
      }
    }
    if (this.#isInValue && from >= 0) {
      this.#rest.push(Buffer.from(chunk.subarray(from)));
      this.#restBytes += chunk.length - from;
      if (this.#restBytes > maxElementBytes) throw new Error(`a JSON element is longer than ${maxElementBytes} bytes`);
    }
  }

  *end(): Generator<Uint8Array> {
    if (this.#isInValue) yield this.#whole(Buffer.alloc(0));
  }

  #whole(end: Buffer): Buffer {
    this.#isInValue = false;
    this.#isInText = false;
    if (this.#rest.length === 0) return end;
    const whole = Buffer.concat([...this.#rest, end]);
    this.#rest = [];
    this.#restBytes = 0;
    return whole;
  }
}
