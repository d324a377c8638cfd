/**
 * Values in a binary form as JSON: walks through the bytes and writes, without a value in between. A format says what
 * stands at a place; the walk, its bounds, lists and maps are here.
 */
import type { MessageDecoder } from './define.js';
import { JsonWriter, maxDepth } from './json-writer.js';

const openObject = 0x7b;
const closeObject = 0x7d;
const openList = 0x5b;
const closeList = 0x5d;
const colon = 0x3a;

/** Number of elements that is not known before the end. */
export const uncounted = Number.POSITIVE_INFINITY;

export abstract class BinaryReader implements MessageDecoder {
  protected readonly out = new JsonWriter();
  protected bytes: Uint8Array = new Uint8Array();
  protected view = new DataView(this.bytes.buffer);
  protected at = 0;

  decode(message: Uint8Array): Uint8Array {
    this.bytes = message;
    this.view = new DataView(message.buffer, message.byteOffset, message.length);
    this.at = 0;
    this.out.begin();
    this.value(0);
    const rest = message.length - this.at;
    if (rest > 0) throw new Error(`${rest} bytes follow the value`);
    return this.out.bytes;
  }

  /** Writes the value that comes next. */
  protected abstract value(depth: number): void;

  /** Whether the value that comes next may be a name: as text, or by its JSON as numbers, booleans and null. */
  protected abstract keyForm(): 'text' | 'scalar' | 'none';

  /** Passes the end of a list or map of unknown length, if it is next. */
  protected isEnd(): boolean {
    return false;
  }

  /** Place of so many bytes, which are behind it then. */
  protected take(size: number): number {
    const { at } = this;
    if (size > this.bytes.length - at) throw new Error('it ends in the middle of a value');
    this.at = at + size;
    return at;
  }

  protected byte(): number {
    return this.bytes[this.take(1)] as number;
  }

  protected text(size: number): void {
    const at = this.take(size);
    this.out.utf8(this.bytes, at, at + size);
  }

  protected base64(size: number): void {
    const at = this.take(size);
    this.out.base64(this.bytes, at, at + size);
  }

  protected enter(depth: number): number {
    if (depth === maxDepth) throw new Error(`it is nested deeper than ${maxDepth} levels`);
    return depth + 1;
  }

  /** Refuses more elements than there are bytes for. */
  #needs(bytes: number): void {
    if (bytes !== uncounted && bytes > this.bytes.length - this.at) throw new Error('it ends in the middle of a value');
  }

  protected list(count: number, depth: number): void {
    this.#needs(count);
    const inner = this.enter(depth);
    this.out.sign(openList);
    for (let i = 0; i < count && !(count === uncounted && this.isEnd()); i++) {
      this.out.next(i);
      this.value(inner);
    }
    this.out.sign(closeList);
  }

  protected map(count: number, depth: number): void {
    this.#needs(count * 2);
    const inner = this.enter(depth);
    this.out.sign(openObject);
    for (let i = 0; i < count && !(count === uncounted && this.isEnd()); i++) {
      this.out.next(i);
      this.#key();
      this.out.sign(colon);
      this.value(inner);
    }
    this.out.sign(closeObject);
  }

  #key(): void {
    const form = this.keyForm();
    if (form === 'none') throw new Error('the key of a map is no text and no number');
    if (form === 'scalar') this.out.raw('"');
    this.value(0);
    if (form === 'scalar') this.out.raw('"');
  }
}
