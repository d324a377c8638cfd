/** Reads answers of HTTP/1.1 from the bytes of a connection, one after the other. */

export interface Http1Answer {
  readonly status: number;
  readonly contentType: string;
  /** What `retry-after` says; empty without it. */
  readonly retryAfter: string;
  readonly body: Buffer;
}

const maxHeadBytes = 64 << 10;
const headEnd = Buffer.from('\r\n\r\n');
const lineEnd = Buffer.from('\r\n');
const none = Buffer.alloc(0);
/** Longest line that tells the size of a chunk. */
const maxLineBytes = 4096;

/** How the end of a body is told. */
type Body = 'length' | 'chunks' | 'close';

export class AnswerReader {
  #rest: Buffer = none;
  #head: Omit<Http1Answer, 'body'> | undefined;
  #body: Body = 'length';
  /** Bytes of the body, or of the chunk, that have not come; -1: the size of the next chunk comes. */
  #left = 0;
  /** The last chunk was there: lines behind it come. */
  #isBehind = false;
  readonly #parts: Buffer[] = [];
  #size = 0;
  /** The connection can be used again after the answer. */
  isKept = true;
  /** Time for which the other side keeps a connection that is not used, ms; undefined when it does not say. */
  keepMs: number | undefined;

  /** @param maxBytes longest body */
  constructor(private readonly maxBytes: number) {}

  /** Whether nothing of an answer has come. */
  get isEmpty(): boolean {
    return this.#rest.length === 0 && this.#head === undefined;
  }

  /** Takes bytes; gives the answer when it is complete. Throws for what is no answer, or a larger one than may be. */
  take(chunk: Buffer, isHead: boolean): Http1Answer | undefined {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (this.#head === undefined) if (!this.#readHead(isHead)) return undefined;
    return this.#readBody() ? this.#done() : undefined;
  }

  /** The answer that ends with the connection; undefined when it is not complete. */
  closed(): Http1Answer | undefined {
    return this.#head !== undefined && this.#body === 'close' ? this.#done() : undefined;
  }

  #done(): Http1Answer {
    const head = this.#head!;
    const body = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
    if (this.#rest.length > 0) this.isKept = false;
    this.#head = undefined;
    this.#parts.length = 0;
    this.#size = 0;
    return { ...head, body };
  }

  /** Reads a head; false when it is not complete. */
  #readHead(isHead: boolean): boolean {
    const end = this.#rest.indexOf(headEnd);
    if ((end < 0 ? this.#rest.length : end) > maxHeadBytes) throw new Error('the headers of the answer are too long');
    if (end < 0) return false;
    const [first = '', ...lines] = this.#rest.toString('latin1', 0, end).split('\r\n');
    this.#rest = this.#rest.subarray(end + headEnd.length);
    const found = /^HTTP\/1\.([01]) (\d{3})(?: |$)/.exec(first);
    if (found === null) throw new Error('the answer is not one of HTTP/1.1');
    const status = Number(found[2]);
    if (status >= 100 && status < 200) {
      if (status === 101) throw new Error('the answer wants another protocol');
      return true;
    }
    const fields = fieldsOf(lines);
    const connection = fields.get('connection')?.toLowerCase() ?? '';
    this.isKept = found[1] === '1' ? !/\bclose\b/.test(connection) : /\bkeep-alive\b/.test(connection);
    const seconds = /\btimeout=(\d+)/.exec(fields.get('keep-alive') ?? '')?.[1];
    this.keepMs = seconds === undefined ? undefined : Number(seconds) * 1000;
    this.#setBody(fields, isHead || status === 204 || status === 304);
    const contentType = fields.get('content-type') ?? '';
    this.#head = { status, contentType, retryAfter: fields.get('retry-after') ?? '' };
    return true;
  }

  #setBody(fields: ReadonlyMap<string, string>, isNone: boolean): void {
    const coding = fields.get('transfer-encoding')?.toLowerCase();
    const length = fields.get('content-length');
    this.#isBehind = false;
    if (!isNone && (fields.get('content-encoding') ?? 'identity') !== 'identity') {
      throw new Error('the answer is compressed, which was not agreed');
    }
    if (isNone) this.#expect('length', 0);
    else if (coding !== undefined) {
      if (coding !== 'chunked') throw new Error(`the answer has the transfer encoding ${coding}`);
      this.#expect('chunks', -1);
    } else if (length !== undefined) {
      if (!/^\d{1,15}$/.test(length)) throw new Error('the length of the answer is no number');
      this.#expect('length', Number(length));
      if (this.#left > this.maxBytes) throw tooLarge(this.maxBytes);
    } else {
      this.#expect('close', Number.POSITIVE_INFINITY);
      this.isKept = false;
    }
  }

  #expect(body: Body, left: number): void {
    this.#body = body;
    this.#left = left;
  }

  /** Reads what has come of the body; true when it is complete. */
  #readBody(): boolean {
    if (this.#body !== 'chunks') {
      this.#move();
      return this.#left === 0;
    }
    for (;;) {
      if (this.#left > 0) {
        this.#move();
        if (this.#left > 0) return false;
        // The end of the line behind the chunk.
        this.#left = -2;
      }
      const end = this.#rest.indexOf(lineEnd);
      if (end > maxLineBytes || (end < 0 && this.#rest.length > maxLineBytes)) throw new Error('a line is too long');
      if (end < 0) return false;
      const line = this.#rest.toString('latin1', 0, end);
      this.#rest = this.#rest.subarray(end + lineEnd.length);
      if (this.#isBehind) {
        if (line === '') return true;
      } else if (this.#left === -2) {
        if (line !== '') throw new Error('a chunk is longer than its size');
        this.#left = -1;
      } else {
        const size = /^([\da-f]{1,8})\s*(?:;|$)/i.exec(line)?.[1];
        if (size === undefined) throw new Error('the size of a chunk is no number');
        this.#left = Number.parseInt(size, 16);
        this.#isBehind = this.#left === 0;
      }
    }
  }

  #move(): void {
    const part = this.#rest.length > this.#left ? this.#rest.subarray(0, this.#left) : this.#rest;
    this.#rest = part.length === this.#rest.length ? none : this.#rest.subarray(part.length);
    this.#left -= part.length;
    this.#size += part.length;
    if (this.#size > this.maxBytes) throw tooLarge(this.maxBytes);
    if (part.length > 0) this.#parts.push(part);
  }
}

function fieldsOf(lines: readonly string[]): Map<string, string> {
  const fields = new Map<string, string>();
  for (const line of lines) {
    const at = line.indexOf(':');
    if (at <= 0) throw new Error('a header of the answer has no name');
    const name = line.slice(0, at).toLowerCase();
    const value = line.slice(at + 1).trim();
    const former = fields.get(name);
    if (former !== undefined && name === 'content-length' && former !== value) {
      throw new Error('the answer has two lengths');
    }
    fields.set(name, former === undefined || name === 'content-length' ? value : `${former}, ${value}`);
  }
  return fields;
}

function tooLarge(most: number): Error {
  return new Error(`the answer has more than ${most} bytes`);
}
