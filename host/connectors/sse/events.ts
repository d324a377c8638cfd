/** Reads an event stream (HTML, section 9.2): bytes in pieces of any size, events out. */

export interface ServerEvent {
  readonly name: string;
  readonly data: Buffer;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const newline = Buffer.from('\n');
const byteOrderMark = Buffer.from('\ufeff');
/** Begin of the lines that nearly all are: their bytes are passed on as they are. */
const dataField = Buffer.from('data:');
/** Most bytes of the data of an event; one with more is skipped, and those behind it are read. */
const maxEventBytes = 16 << 20;
/** What stands before the data in a line. */
const fieldBytes = 'data: '.length;

export class EventReader {
  /** Id of the last event that had one. */
  lastId = '';
  /** Pause before the next connection that the server wants, ms. */
  retryMs: number | undefined;
  #line: Buffer[] = [];
  #lineBytes = 0;
  #isFirst = true;
  /** The last byte ended a line as a carriage return: a line feed that follows belongs to it. */
  #isAfterReturn = false;
  #name = '';
  #data: Buffer[] = [];
  #dataBytes = 0;
  /** Number of lines of data that are copies. */
  #owned = 0;
  #id: string | undefined;
  /** The event under way is too long: nothing of it is kept. */
  #isTooLong = false;

  constructor(
    private readonly take: (event: ServerEvent) => void,
    private readonly skipped: (reason: string) => void,
  ) {}

  /** Forgets the event under way, as the end of a connection does. */
  reset(): void {
    this.#line = [];
    this.#lineBytes = 0;
    this.#isFirst = true;
    this.#isAfterReturn = false;
    this.#clear();
  }

  read(bytes: Buffer): void {
    let from = this.#isAfterReturn && bytes[0] === lineFeed ? 1 : 0;
    if (bytes.length > 0) this.#isAfterReturn = false;
    let feed = bytes.indexOf(lineFeed, from);
    let back = bytes.indexOf(carriageReturn, from);
    while (feed >= 0 || back >= 0) {
      const isReturn = back >= 0 && (feed < 0 || back < feed);
      const end = isReturn ? back : feed;
      this.#add(bytes.subarray(from, end));
      this.#endLine();
      from = end + 1;
      if (isReturn && bytes[from] === lineFeed) from++;
      else this.#isAfterReturn = isReturn && from === bytes.length;
      if (feed >= 0 && feed < from) feed = bytes.indexOf(lineFeed, from);
      if (isReturn) back = bytes.indexOf(carriageReturn, from);
    }
    if (from < bytes.length) this.#add(Buffer.from(bytes.subarray(from)));
    // What waits for the end of its event must not hold the memory of all that came with it.
    for (; this.#owned < this.#data.length; this.#owned++) {
      this.#data[this.#owned] = Buffer.from(this.#data[this.#owned]!);
    }
  }

  #add(part: Buffer): void {
    this.#lineBytes += part.length;
    if (this.#lineBytes + this.#dataBytes > maxEventBytes + fieldBytes) {
      this.#isTooLong = true;
      this.#line = [];
      this.#data = [];
      this.#owned = 0;
    }
    if (part.length > 0 && !this.#isTooLong) this.#line.push(part);
  }

  #endLine(): void {
    if (this.#isTooLong) {
      this.#skipLine();
      return;
    }
    let line = this.#line.length === 1 ? this.#line[0]! : Buffer.concat(this.#line);
    this.#line = [];
    this.#lineBytes = 0;
    if (this.#isFirst && isBegin(line, byteOrderMark)) line = line.subarray(byteOrderMark.length);
    this.#isFirst = false;
    if (line.length === 0) this.#dispatch();
    else if (isBegin(line, dataField)) this.#addData(line.subarray(dataField.length));
    else this.#field(line.toString());
  }

  /** An empty line ends the event. */
  #skipLine(): void {
    if (this.#lineBytes === 0) this.#dispatch();
    this.#lineBytes = 0;
  }

  #field(line: string): void {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'event') this.#name = value;
    else if (name === 'id') {
      if (!value.includes('\0')) this.#id = value;
    } else if (name === 'retry') {
      if (/^\d+$/.test(value)) this.retryMs = Number(value);
    } else if (name === 'data') this.#addData(Buffer.alloc(0));
  }

  /** Adds a line of data; a space that follows the colon is no part of it. */
  #addData(text: Buffer): void {
    const data = text[0] === space ? text.subarray(1) : text;
    this.#data.push(data);
    this.#dataBytes += data.length + newline.length;
  }

  #dispatch(): void {
    this.lastId = this.#id ?? this.lastId;
    if (this.#isTooLong) {
      this.#clear();
      this.skipped(`an event with more than ${maxEventBytes} bytes was skipped`);
    } else if (this.#data.length > 0) {
      const [name, lines] = [this.#name === '' ? 'message' : this.#name, this.#data];
      this.#clear();
      this.take({ name, data: lines.length === 1 ? lines[0]! : joined(lines) });
    } else this.#clear();
  }

  #clear(): void {
    this.#name = '';
    this.#data = [];
    this.#dataBytes = 0;
    this.#owned = 0;
    this.#id = undefined;
    this.#isTooLong = false;
  }
}

function isBegin(line: Buffer, begin: Buffer): boolean {
  if (line.length < begin.length) return false;
  for (let i = 0; i < begin.length; i++) if (line[i] !== begin[i]) return false;
  return true;
}

function joined(lines: readonly Buffer[]): Buffer {
  return Buffer.concat(lines.flatMap((line, i) => (i === 0 ? [line] : [newline, line])));
}
