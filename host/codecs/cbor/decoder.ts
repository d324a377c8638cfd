/**
 * CBOR (RFC 8949) as JSON: walks through the bytes and writes, without a value in between. Integers keep all digits,
 * bytes are base64, times RFC 3339.
 */

import { halfOf, shortest } from '../../base/bytes/short-floats.js';
import { BinaryReader, uncounted } from '../binary-reader.js';
import { dateText, instantOf, uuidText } from '../value-text.js';

const Major = { uint: 0, negative: 1, bytes: 2, text: 3, list: 4, map: 5, tag: 6 } as const;
const indefinite = 31;
const breakByte = 0xff;
/** Tags that say what a value is for; the value stands for itself: dates, URIs, base64 texts, sets, CBOR itself. */
const plainTags: ReadonlySet<bigint> = new Set([0n, 21n, 22n, 23n, 32n, 33n, 34n, 35n, 36n, 258n, 1004n, 55799n]);
/** Longest number of tag 2 and 3, bytes. */
const maxNumberBytes = 128;

export class CborDecoder extends BinaryReader {
  protected value(depth: number): void {
    const head = this.byte();
    const info = head & 31;
    switch (head >> 5) {
      case Major.uint:
        this.out.raw(String(info === 27 ? this.#argument(info) : this.#small(info)));
        break;
      case Major.negative:
        this.out.raw(String(info === 27 ? -1n - this.#argument(info) : -1 - this.#small(info)));
        break;
      case Major.bytes:
      case Major.text:
        this.#span(head >> 5, info);
        break;
      case Major.list:
        this.list(this.#count(info), depth);
        break;
      case Major.map:
        this.map(this.#count(info), depth);
        break;
      case Major.tag:
        this.#tagged(this.#argument(info), depth);
        break;
      default:
        this.#simple(info);
        break;
    }
  }

  #argument(info: number): bigint {
    return info === 27 ? this.view.getBigUint64(this.take(8)) : BigInt(this.#small(info));
  }

  #small(info: number): number {
    if (info < 24) return info;
    switch (info) {
      case 24:
        return this.view.getUint8(this.take(1));
      case 25:
        return this.view.getUint16(this.take(2));
      case 26:
        return this.view.getUint32(this.take(4));
      default:
        throw new Error(`it has a head that is none: ${info}`);
    }
  }

  /** A length. */
  #size(info: number): number {
    return info === 27 ? Number(this.#argument(info)) : this.#small(info);
  }

  /** A number of elements. */
  #count(info: number): number {
    return info === indefinite ? uncounted : this.#size(info);
  }

  #simple(info: number): void {
    const out = this.out;
    switch (info) {
      case 20:
        out.raw('false');
        break;
      case 21:
        out.raw('true');
        break;
      case 22:
      case 23:
        out.raw('null');
        break;
      case 25:
      case 26:
      case 27:
        out.number(this.#float(info));
        break;
      case indefinite:
        throw new Error('it has the end of a list where none is');
      default: {
        const number = info === 24 ? this.view.getUint8(this.take(1)) : info;
        throw new Error(`it has the simple value ${number}, which is not known`);
      }
    }
  }

  #float(info: number): number {
    const view = this.view;
    if (info === 25) return halfOf(view.getUint16(this.take(2)));
    return info === 26 ? shortest(view.getFloat32(this.take(4))) : view.getFloat64(this.take(8));
  }

  /** The bytes of a text or of bytes, which may come in chunks. */
  #spanBytes(major: number, info: number): Uint8Array {
    if (info !== indefinite) {
      const size = this.#size(info);
      const at = this.take(size);
      return this.bytes.subarray(at, at + size);
    }
    // Measured first and then copied: a message of empty chunks would be millions of views.
    const from = this.at;
    let size = 0;
    while (!this.isEnd()) size += this.#chunk(major);
    this.at = from;
    const joined = Buffer.allocUnsafe(size);
    for (let at = 0; !this.isEnd(); ) {
      const bytes = this.#chunk(major);
      if (bytes > 0) joined.set(this.bytes.subarray(this.at - bytes, this.at), at);
      at += bytes;
    }
    return joined;
  }

  /** Passes a chunk of a text or of bytes; returns its size. */
  #chunk(major: number): number {
    const head = this.byte();
    if (head >> 5 !== major || (head & 31) === indefinite) throw new Error('a chunk of a text or of bytes is none');
    const size = this.#size(head & 31);
    this.take(size);
    return size;
  }

  #span(major: number, info: number): void {
    if (info !== indefinite) {
      if (major === Major.text) this.text(this.#size(info));
      else this.base64(this.#size(info));
      return;
    }
    const joined = this.#spanBytes(major, info);
    if (major === Major.text) this.out.utf8(joined, 0, joined.length);
    else this.out.base64(joined, 0, joined.length);
  }

  protected override isEnd(): boolean {
    if (this.bytes[this.at] !== breakByte) return false;
    this.at++;
    return true;
  }

  protected keyForm(): 'text' | 'scalar' | 'none' {
    const major = (this.bytes[this.at] ?? 0) >> 5;
    if (major === Major.text || major === Major.bytes) return 'text';
    return major >= Major.list && major <= Major.tag ? 'none' : 'scalar';
  }

  #tagged(tag: bigint, depth: number): void {
    const inner = this.enter(depth);
    if (plainTags.has(tag)) {
      this.value(inner);
      return;
    }
    switch (tag) {
      case 1n:
        this.out.text(this.#epochTime());
        break;
      case 2n:
        this.out.raw(String(this.#bigNumber()));
        break;
      case 3n:
        this.out.raw(String(-1n - this.#bigNumber()));
        break;
      case 4n:
        this.#decimal();
        break;
      case 37n:
        this.out.text(uuidText(this.#ownBytes('UUID')));
        break;
      case 100n:
        this.out.text(dateText(this.#integer()));
        break;
      default:
        throw new Error(`it has a value with the tag ${tag}, which is not known`);
    }
  }

  #epochTime(): string {
    const head = this.bytes[this.at] ?? 0;
    if (head >> 5 !== 7) return instantOf(this.#integer(), 1n);
    this.at++;
    const info = head & 31;
    const seconds = info >= 25 && info <= 27 ? this.#float(info) : Number.NaN;
    if (!Number.isFinite(seconds)) throw new Error('the time of tag 1 is no number');
    // Doubles of today's times are good to a microsecond.
    return instantOf(BigInt(Math.round(seconds * 1e6)), 1_000_000n);
  }

  #integer(): bigint {
    const head = this.byte();
    const major = head >> 5;
    if (major === Major.uint) return this.#argument(head & 31);
    if (major === Major.negative) return -1n - this.#argument(head & 31);
    if (head === 0xc2) return this.#bigNumber();
    if (head === 0xc3) return -1n - this.#bigNumber();
    throw new Error('a number of a tag is no integer');
  }

  #ownBytes(what: string): Uint8Array {
    const head = this.byte();
    if (head >> 5 !== Major.bytes) throw new Error(`the ${what} of a tag is no bytes`);
    return this.#spanBytes(Major.bytes, head & 31);
  }

  #bigNumber(): bigint {
    const bytes = this.#ownBytes('number');
    if (bytes.length > maxNumberBytes) throw new Error(`it has a number of more than ${maxNumberBytes} bytes`);
    return bytes.length === 0 ? 0n : BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  }

  /** Tag 4: a list of an exponent of ten and a number. */
  #decimal(): void {
    const head = this.byte();
    if (head !== 0x82) throw new Error('the decimal of tag 4 is no list of two numbers');
    const exponent = this.#integer();
    const mantissa = this.#integer();
    this.out.raw(`${mantissa}e${exponent}`);
  }
}
