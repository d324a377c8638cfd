/** What messages become in a file: text, that compressed, that encrypted. A form has the state of one file. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { compressions } from '../../../base/bytes/compression.js';

export interface FormOptions {
  readonly fileType: 'lines' | 'json' | 'csv' | 'parquet';
  readonly compression: '' | 'gzip' | 'zstd';
  readonly level?: number | undefined;
  /** Key of AES, base64; undefined without encryption. */
  readonly aesKey?: string | undefined;
}

/** Messages that are written together. */
export interface Text {
  /** Lines with their ends; JSON values with commas between them. */
  readonly raw: Buffer;
  /** Header that has to stand before the lines, with its line feed. */
  readonly header: Buffer | undefined;
}

/** The begin of a file that is gone on with. */
export interface Begun {
  /** The last bytes that belong to it, at least 32 where it has as many. */
  readonly tail: Buffer;
  readonly size: number;
  /** Header of its last lines, where it is known. */
  readonly header: Buffer | undefined;
}

const gzipLater = promisify(gzip) as (data: Uint8Array, options: { level?: number | undefined }) => Promise<Buffer>;
const nothing = Buffer.alloc(0);
const open = Buffer.from('[');
const comma = Buffer.from(',');
const ivBytes = 16;
/** What ends a JSON file. */
export const closing = Buffer.from(']');

/** Makes the bytes of a file, piece by piece. */
export interface FileForm {
  /** Header of the last lines. */
  readonly header: Buffer | undefined;
  /** Whether the text has a place in this file; a new one begins for it otherwise. */
  fits(text: Text): boolean;
  /** Bytes of the text; each call goes on with the file. */
  encode(text: Text): Buffer;
  /** The same, compressed in another thread; undefined where `encode` is as good. */
  encodeLater(text: Text): Later | undefined;
  /** Bytes that make the file whole. */
  footer(): Buffer;
}

interface Later {
  readonly bytes: Promise<Buffer>;
  readonly finish: (bytes: Buffer) => Buffer;
}

export class TextForm implements FileForm {
  #isFirst: boolean;
  #header: Buffer | undefined;
  readonly #cipher: FileCipher | undefined;

  /** @param begun of a file that has something; undefined for a new one */
  constructor(
    private readonly options: FormOptions,
    begun: Begun | undefined,
  ) {
    this.#isFirst = begun === undefined;
    this.#header = begun?.header;
    if (options.aesKey !== undefined) this.#cipher = new FileCipher(options.aesKey, begun);
  }

  get header(): Buffer | undefined {
    return this.#header;
  }

  fits(): boolean {
    return true;
  }

  encode(text: Text): Buffer {
    return this.#encrypted(this.#compressed(this.#headed(text)));
  }

  encodeLater(text: Text): Later | undefined {
    const { compression, level } = this.options;
    if (compression !== 'gzip') return undefined;
    const plain = Buffer.concat([this.#lead(text), text.raw]);
    const bytes = gzipLater(plain, { level });
    return {
      bytes,
      finish: (packed) => {
        this.#note(text);
        return this.#encrypted(packed);
      },
    };
  }

  footer(): Buffer {
    if (this.options.fileType !== 'json' || this.#isFirst) return nothing;
    return this.#encrypted(this.#compressed(closing));
  }

  #headed(text: Text): Buffer {
    const lead = this.#lead(text);
    this.#note(text);
    return lead.length === 0 ? text.raw : Buffer.concat([lead, text.raw]);
  }

  /** What stands before the text. */
  #lead({ header }: Text): Buffer {
    if (this.options.fileType === 'json') return this.#isFirst ? open : comma;
    if (header === undefined || this.#header?.equals(header) === true) return nothing;
    return header;
  }

  #note({ header }: Text): void {
    this.#isFirst = false;
    if (header !== undefined) this.#header = header;
  }

  #compressed(text: Buffer): Buffer {
    const { compression, level } = this.options;
    if (compression === '') return text;
    const packed = compressions[compression].compress(text, level);
    return Buffer.from(packed.buffer, packed.byteOffset, packed.length);
  }

  #encrypted(bytes: Buffer): Buffer {
    return this.#cipher === undefined ? bytes : this.#cipher.encrypt(bytes);
  }
}

/** AES in the mode cfb over a whole file, whose first bytes are the iv. */
class FileCipher {
  readonly #encrypt: (bytes: Buffer) => Buffer;
  #iv: Buffer;

  constructor(key: string, begun: Begun | undefined) {
    const secret = Buffer.from(key, 'base64');
    const name = `aes-${secret.length * 8}-cfb`;
    if (begun === undefined) {
      this.#iv = randomBytes(ivBytes);
      const cipher = createCipheriv(name, secret, this.#iv);
      this.#encrypt = (bytes) => cipher.update(bytes);
      return;
    }
    this.#iv = nothing;
    // A block is encrypted by the one before: the last whole one, the iv among them, is that of the next.
    const { tail, size } = begun;
    const over = size % ivBytes;
    const last = tail.subarray(tail.length - over);
    const iv = tail.subarray(tail.length - over - ivBytes, tail.length - over);
    const cipher = createCipheriv(name, secret, iv);
    cipher.update(createDecipheriv(name, secret, iv).update(last));
    this.#encrypt = (bytes) => cipher.update(bytes);
  }

  encrypt(bytes: Buffer): Buffer {
    const made = this.#encrypt(bytes);
    if (this.#iv.length === 0) return made;
    const first = Buffer.concat([this.#iv, made]);
    this.#iv = nothing;
    return first;
  }
}
