/**
 * MessagePack as JSON: walks through the bytes and writes, without a value in between. Integers keep all digits, bytes
 * are base64, times RFC 3339.
 */

import { shortest } from '../../base/bytes/short-floats.js';
import { BinaryReader } from '../binary-reader.js';
import { instantText } from '../value-text.js';

const timestampType = -1;

export class MsgpackDecoder extends BinaryReader {
  protected value(depth: number): void {
    const head = this.byte();
    if (head < 0x80) this.out.raw(String(head));
    else if (head >= 0xe0) this.out.raw(String(head - 256));
    else if (head < 0x90) this.map(head & 15, depth);
    else if (head < 0xa0) this.list(head & 15, depth);
    else if (head < 0xc0) this.text(head & 31);
    else this.#wide(head, depth);
  }

  #wide(head: number, depth: number): void {
    const out = this.out;
    switch (head) {
      case 0xc0:
        out.raw('null');
        break;
      case 0xc2:
        out.raw('false');
        break;
      case 0xc3:
        out.raw('true');
        break;
      case 0xc4:
      case 0xc5:
      case 0xc6:
        this.base64(this.#size(head - 0xc4));
        break;
      case 0xc7:
      case 0xc8:
      case 0xc9:
        this.#extension(this.#size(head - 0xc7));
        break;
      case 0xd4:
      case 0xd5:
      case 0xd6:
      case 0xd7:
      case 0xd8:
        this.#extension(1 << (head - 0xd4));
        break;
      case 0xd9:
      case 0xda:
      case 0xdb:
        this.text(this.#size(head - 0xd9));
        break;
      case 0xdc:
      case 0xdd:
        this.list(this.#size(head - 0xdb), depth);
        break;
      case 0xde:
      case 0xdf:
        this.map(this.#size(head - 0xdd), depth);
        break;
      case 0xc1:
        throw new Error('it has the byte c1, which stands for nothing');
      default:
        this.#number(head);
        break;
    }
  }

  #number(head: number): void {
    const view = this.view;
    switch (head) {
      case 0xca:
        this.out.number(shortest(view.getFloat32(this.take(4))));
        break;
      case 0xcb:
        this.out.number(view.getFloat64(this.take(8)));
        break;
      case 0xcc:
        this.out.raw(String(view.getUint8(this.take(1))));
        break;
      case 0xcd:
        this.out.raw(String(view.getUint16(this.take(2))));
        break;
      case 0xce:
        this.out.raw(String(view.getUint32(this.take(4))));
        break;
      case 0xcf:
        this.out.raw(String(view.getBigUint64(this.take(8))));
        break;
      case 0xd0:
        this.out.raw(String(view.getInt8(this.take(1))));
        break;
      case 0xd1:
        this.out.raw(String(view.getInt16(this.take(2))));
        break;
      case 0xd2:
        this.out.raw(String(view.getInt32(this.take(4))));
        break;
      default:
        this.out.raw(String(view.getBigInt64(this.take(8))));
        break;
    }
  }

  /** A length of 1, 2 or 4 bytes. */
  #size(power: number): number {
    if (power === 0) return this.view.getUint8(this.take(1));
    return power === 1 ? this.view.getUint16(this.take(2)) : this.view.getUint32(this.take(4));
  }

  protected keyForm(): 'text' | 'scalar' | 'none' {
    const head = this.bytes[this.at] ?? 0;
    const isText = (head >= 0xa0 && head < 0xc0) || (head >= 0xd9 && head <= 0xdb);
    const isBytes = head >= 0xc4 && head <= 0xc6;
    if (isText || isBytes) return 'text';
    const isScalar = head < 0x80 || head >= 0xe0 || head === 0xc0 || head === 0xc2 || head === 0xc3;
    return isScalar || (head >= 0xca && head <= 0xd3) ? 'scalar' : 'none';
  }

  #extension(size: number): void {
    const type = this.view.getInt8(this.take(1));
    const at = this.take(size);
    if (type !== timestampType) throw new Error(`it has a value of the extension type ${type}, which is not known`);
    const view = this.view;
    if (size === 4) {
      this.out.text(instantText(BigInt(view.getUint32(at)), 0));
      return;
    }
    if (size === 8) {
      const both = view.getBigUint64(at);
      this.out.text(instantText(both & 0x3ffffffffn, Number(both >> 34n)));
      return;
    }
    if (size === 12) {
      this.out.text(instantText(view.getBigInt64(at + 4), view.getUint32(at)));
      return;
    }
    throw new Error(`it has a timestamp of ${size} bytes, expected 4, 8 or 12`);
  }
}
