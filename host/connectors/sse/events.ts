/** Reads an event stream (HTML, section 9.2): bytes in pieces of any size, events out. */

export interface ServerEvent {
  readonly name: string;
  readonly data: string;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
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
  #data: string[] = [];
  #dataBytes = 0;
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
    let from = 0;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!;
      const wasReturn = this.#isAfterReturn;
      this.#isAfterReturn = byte === carriageReturn;
      if (byte === lineFeed && wasReturn) {
        from = at + 1;
      } else if (byte === lineFeed || byte === carriageReturn) {
        this.#add(bytes.subarray(from, at));
        this.#endLine();
        from = at + 1;
      }
    }
    if (from < bytes.length) this.#add(Buffer.from(bytes.subarray(from)));
  }

  #add(part: Buffer): void {
    this.#lineBytes += part.length;
    if (this.#lineBytes + this.#dataBytes > maxEventBytes + fieldBytes) {
      this.#isTooLong = true;
      this.#line = [];
      this.#data = [];
    }
    if (part.length > 0 && !this.#isTooLong) this.#line.push(part);
  }

  #endLine(): void {
    if (this.#isTooLong) {
      this.#skipLine();
      return;
    }
    let line = (this.#line.length === 1 ? this.#line[0]! : Buffer.concat(this.#line)).toString();
    this.#line = [];
    this.#lineBytes = 0;
    if (this.#isFirst && line.startsWith('\ufeff')) line = line.slice(1);
    this.#isFirst = false;
    if (line === '') this.#dispatch();
    else if (!line.startsWith(':')) {
      const colon = line.indexOf(':');
      const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
      this.#field(colon < 0 ? line : line.slice(0, colon), value);
    }
  }

  /** An empty line ends the event. */
  #skipLine(): void {
    if (this.#lineBytes === 0) this.#dispatch();
    this.#lineBytes = 0;
  }

  #field(name: string, value: string): void {
    if (name === 'event') this.#name = value;
    else if (name === 'id') {
      if (!value.includes('\0')) this.#id = value;
    } else if (name === 'retry') {
      if (/^\d+$/.test(value)) this.retryMs = Number(value);
    } else if (name === 'data') {
      this.#data.push(value);
      this.#dataBytes += value.length;
    }
  }

  #dispatch(): void {
    this.lastId = this.#id ?? this.lastId;
    if (this.#isTooLong) {
      this.#clear();
      this.skipped(`an event with more than ${maxEventBytes} bytes was skipped`);
    } else if (this.#data.length > 0) {
      const [name, data] = [this.#name === '' ? 'message' : this.#name, this.#data.join('\n')];
      this.#clear();
      this.take({ name, data });
    } else this.#clear();
  }

  #clear(): void {
    this.#name = '';
    this.#data = [];
    this.#dataBytes = 0;
    this.#id = undefined;
    this.#isTooLong = false;
  }
}
