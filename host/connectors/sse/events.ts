/** Reads an event stream (HTML, section 9.2): bytes in pieces of any size, events out. */

export interface ServerEvent {
  readonly name: string;
  readonly data: string;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
/** Most bytes of an event. */
const maxEventBytes = 16 << 20;

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

  constructor(private readonly take: (event: ServerEvent) => void) {}

  /** Forgets the event under way, as the end of a connection does. */
  reset(): void {
    this.#line = [];
    this.#lineBytes = 0;
    this.#isFirst = true;
    this.#isAfterReturn = false;
    this.#clear();
  }

  /** Throws when an event is too long. */
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
    if (this.#lineBytes + this.#dataBytes > maxEventBytes) {
      throw new Error(`an event has more than ${maxEventBytes} bytes`);
    }
    if (part.length > 0) this.#line.push(part);
  }

  #endLine(): void {
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
    if (this.#data.length > 0) {
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
  }
}
