/**
 * A connection of HTTP/2 (RFC 9113) for many small requests: what they send in one turn goes out in one write, and
 * answers are read without an object for each frame.
 */
import type { Socket } from 'node:net';
import { HeaderDecoder, headerBytes } from './hpack.js';
import type { HeaderField } from './static-table.js';

export interface Http2Stream {
  /** Headers of the answer, and those behind its body. */
  headers(fields: ReadonlyMap<string, string>): void;
  data(bytes: Buffer): void;
  /** The answer is complete. */
  ended(): void;
  /** There will be no answer; `isUntouched`: the other side has not begun with the request. */
  failed(reason: string, isUntouched: boolean): void;
}

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
const frameHead = 9;
/** Largest frame that both sides take without an agreement. */
const frameBytes = 16_384;
const usualWindow = 65_535;
const maxWindow = 0x7fffffff;
/** What the other side may send before it is told to go on; of a single answer, what takes it sets the bound. */
const ownWindow = 16 << 20;
const maxHeaderBytes = 64 << 10;
/** Most streams at once until the other side names a number. */
const usualStreams = 100;
/** Numbers of streams that are left when a connection is no longer used for new ones. */
const lastStream = 0x7fff0000;

const Frame = { data: 0, headers: 1, reset: 3, settings: 4, push: 5, ping: 6, goAway: 7, window: 8, more: 9 } as const;
const Flag = { ended: 1, ack: 1, headersEnd: 4, padded: 8, priority: 32 } as const;
const Setting = { streams: 3, window: 4, frame: 5 } as const;
const cancel = 8;
const refusedStream = 7;

interface Open {
  readonly stream: Http2Stream;
  /** Bytes that may be sent. */
  window: number;
  /** Body that has no room in the windows yet. */
  left: Buffer | undefined;
}

/** A request; it may wait until the other side takes one more. */
interface Request {
  readonly head: Buffer;
  readonly body: Buffer;
  readonly stream: Http2Stream;
  /** Number of its stream; 0 while it waits. */
  id: number;
}

export class Http2Connection {
  readonly #streams = new Map<number, Open>();
  readonly #waiting = new Set<Request>();
  readonly #decoder = new HeaderDecoder();
  #next = 1;
  #maxStreams = usualStreams;
  #window = usualWindow;
  #streamWindow = usualWindow;
  #frameBytes = frameBytes;
  /** Bytes received of which the other side was not told. */
  #received = 0;
  #out = Buffer.allocUnsafe(16 << 10);
  #outAt = 0;
  #isFlushing = false;
  /** Bytes of an incomplete frame. */
  #rest: Buffer | undefined;
  /** Header block that goes on in the next frame. */
  #block: { readonly id: number; readonly isEnd: boolean; readonly parts: Buffer[]; size: number } | undefined;
  #reason = '';
  #pings = 0;
  #isDraining = false;

  /** @param onEnd called once, when no new request may go out any more */
  constructor(
    private readonly socket: Socket,
    private readonly onEnd: () => void,
  ) {
    this.#send(preface);
    const settings = Buffer.alloc(12);
    settings.writeUInt16BE(2, 0);
    settings.writeUInt32BE(0, 2);
    settings.writeUInt16BE(Setting.window, 6);
    settings.writeUInt32BE(maxWindow, 8);
    this.#frame(Frame.settings, 0, 0, settings);
    this.#frame(Frame.window, 0, 0, uint32(ownWindow - usualWindow));
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (error) => this.#close(error.message));
    socket.on('close', () => this.#close('the connection was closed'));
  }

  /** Bytes of the headers of requests, for `request`. */
  static headersOf(fields: Iterable<HeaderField>): Buffer {
    const bytes = headerBytes(fields);
    if (bytes.length > frameBytes) throw new Error(`the headers of a request have more than ${frameBytes} bytes`);
    return bytes;
  }

  /** Sends a request with a body; returns what gives it up. */
  request(head: Buffer, body: Buffer, stream: Http2Stream): () => void {
    if (this.#reason !== '' || this.#isDraining) {
      queueMicrotask(() => stream.failed(this.#reason || 'the connection is at its end', true));
      return () => {};
    }
    const request: Request = { head, body, stream, id: 0 };
    if (this.#streams.size >= this.#maxStreams) this.#waiting.add(request);
    else this.#begin(request);
    return () => (request.id === 0 ? void this.#waiting.delete(request) : this.#cancel(request.id));
  }

  /** Asks the other side for a sign of life; without one in this time the connection ends. */
  probe(withinMs: number): void {
    if (this.#pings > 0 || this.#reason !== '') return;
    this.#pings++;
    this.#frame(Frame.ping, 0, 0, Buffer.alloc(8));
    setTimeout(() => {
      if (this.#pings > 0) this.#close('it gives no sign of life');
    }, withinMs).unref();
  }

  close(): void {
    this.#close('the connection was closed');
  }

  #begin(request: Request): void {
    const { head, body, stream } = request;
    const id = this.#next;
    this.#next += 2;
    request.id = id;
    const open: Open = { stream, window: this.#streamWindow, left: body };
    this.#streams.set(id, open);
    this.#frame(Frame.headers, Flag.headersEnd, id, head);
    this.#sendBody(id, open);
    if (this.#next > lastStream) this.#drain();
  }

  /** Sends as much of the body as the windows have room for. */
  #sendBody(id: number, open: Open): void {
    let { left } = open;
    while (left !== undefined) {
      const size = Math.min(left.length, this.#window, open.window, this.#frameBytes);
      if (size < left.length && size <= 0) break;
      const isLast = size === left.length;
      this.#frame(Frame.data, isLast ? Flag.ended : 0, id, isLast ? left : left.subarray(0, size));
      this.#window -= size;
      open.window -= size;
      left = isLast ? undefined : left.subarray(size);
    }
    open.left = left;
  }

  #cancel(id: number): void {
    if (!this.#streams.delete(id)) return;
    this.#frame(Frame.reset, 0, id, uint32(cancel));
    this.#more();
  }

  /** Begins requests that waited, as far as the other side takes them. */
  #more(): void {
    for (const request of this.#waiting) {
      if (this.#streams.size >= this.#maxStreams || this.#isDraining) break;
      this.#waiting.delete(request);
      this.#begin(request);
    }
    if (this.#isDraining && this.#streams.size === 0) this.#close('the connection is at its end');
  }

  #frame(type: number, flags: number, id: number, payload: Buffer): void {
    const at = this.#room(frameHead + payload.length);
    const out = this.#out;
    out[at] = payload.length >>> 16;
    out[at + 1] = payload.length >>> 8;
    out[at + 2] = payload.length;
    out[at + 3] = type;
    out[at + 4] = flags;
    out[at + 5] = id >>> 24;
    out[at + 6] = id >>> 16;
    out[at + 7] = id >>> 8;
    out[at + 8] = id;
    payload.copy(out, at + frameHead);
  }

  #send(bytes: Buffer): void {
    bytes.copy(this.#out, this.#room(bytes.length));
  }

  #room(size: number): number {
    const at = this.#outAt;
    if (at + size > this.#out.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.#out.length * 2, at + size));
      this.#out.copy(larger, 0, 0, at);
      this.#out = larger;
    }
    this.#outAt += size;
    if (!this.#isFlushing) {
      this.#isFlushing = true;
      queueMicrotask(() => this.#flush());
    }
    return at;
  }

  #flush(): void {
    this.#isFlushing = false;
    if (this.#reason === '' && this.#outAt > 0) this.socket.write(this.#out.subarray(0, this.#outAt));
    // What is under way to the socket must not change.
    this.#out = Buffer.allocUnsafe(16 << 10);
    this.#outAt = 0;
  }

  #take(chunk: Buffer): void {
    if (this.#reason !== '') return;
    const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = undefined;
    let at = 0;
    try {
      while (bytes.length - at >= frameHead) {
        const size = bytes.readUIntBE(at, 3);
        if (size > frameBytes) throw new Error('a frame is larger than was agreed');
        const end = at + frameHead + size;
        if (end > bytes.length) break;
        const id = bytes.readUInt32BE(at + 5) & 0x7fffffff;
        this.#read(bytes[at + 3]!, bytes[at + 4]!, id, bytes.subarray(at + frameHead, end));
        at = end;
        if (this.#reason !== '') return;
      }
    } catch (error) {
      this.#close((error as Error).message);
      return;
    }
    if (at < bytes.length) this.#rest = bytes.subarray(at);
    this.#grant();
  }

  /** Lets the other side send on. */
  #grant(): void {
    if (this.#received < ownWindow / 2) return;
    this.#frame(Frame.window, 0, 0, uint32(this.#received));
    this.#received = 0;
  }

  #read(type: number, flags: number, id: number, payload: Buffer): void {
    if (this.#block !== undefined && (type !== Frame.more || id !== this.#block.id)) {
      throw new Error('headers are not complete');
    }
    switch (type) {
      case Frame.data:
        this.#received += payload.length;
        this.#streams.get(id)?.stream.data(unpadded(payload, flags, 0));
        if ((flags & Flag.ended) !== 0) this.#ended(id);
        break;
      case Frame.headers:
        this.#headers(id, flags, unpadded(payload, flags, (flags & Flag.priority) !== 0 ? 5 : 0));
        break;
      case Frame.more:
        this.#moreHeaders(flags, payload);
        break;
      case Frame.reset: {
        const code = payload.readUInt32BE(0);
        const open = this.#streams.get(id);
        this.#streams.delete(id);
        open?.stream.failed(`the request was reset with code ${code}`, code === refusedStream);
        this.#more();
        break;
      }
      case Frame.settings:
        if ((flags & Flag.ack) === 0) this.#settings(payload);
        break;
      case Frame.ping:
        if ((flags & Flag.ack) !== 0) this.#pings = 0;
        else this.#frame(Frame.ping, Flag.ack, 0, payload);
        break;
      case Frame.goAway:
        this.#goAway(payload.readUInt32BE(0) & 0x7fffffff);
        break;
      case Frame.window:
        this.#widen(id, payload.readUInt32BE(0) & 0x7fffffff);
        break;
      case Frame.push:
        throw new Error('it pushes what nobody asked for');
      default:
        break;
    }
  }

  #headers(id: number, flags: number, payload: Buffer): void {
    const block = { id, isEnd: (flags & Flag.ended) !== 0, parts: [payload], size: payload.length };
    if ((flags & Flag.headersEnd) === 0) this.#block = block;
    else this.#decoded(block);
  }

  #moreHeaders(flags: number, payload: Buffer): void {
    const block = this.#block;
    if (block === undefined) throw new Error('headers have no beginning');
    block.parts.push(payload);
    block.size += payload.length;
    if (block.size > maxHeaderBytes) throw new Error(`the headers have more than ${maxHeaderBytes} bytes`);
    if ((flags & Flag.headersEnd) === 0) return;
    this.#block = undefined;
    this.#decoded(block);
  }

  #decoded({ id, isEnd, parts }: { id: number; isEnd: boolean; parts: Buffer[] }): void {
    // Also those of a request that was given up, since the table changes with them.
    const fields = this.#decoder.read(parts.length === 1 ? parts[0]! : Buffer.concat(parts), maxHeaderBytes);
    this.#streams.get(id)?.stream.headers(fields);
    if (isEnd) this.#ended(id);
  }

  #ended(id: number): void {
    const open = this.#streams.get(id);
    if (open === undefined) return;
    this.#streams.delete(id);
    // It answers before it has the whole request, and does not want the rest.
    if (open.left !== undefined) this.#frame(Frame.reset, 0, id, uint32(cancel));
    open.stream.ended();
    this.#more();
  }

  #settings(payload: Buffer): void {
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      const value = payload.readUInt32BE(at + 2);
      switch (payload.readUInt16BE(at)) {
        case Setting.streams:
          this.#maxStreams = value;
          break;
        case Setting.window: {
          if (value > maxWindow) throw new Error('its window is too large');
          const by = value - this.#streamWindow;
          this.#streamWindow = value;
          for (const open of this.#streams.values()) open.window += by;
          break;
        }
        case Setting.frame:
          this.#frameBytes = Math.min(value, 1 << 20);
          break;
        default:
          break;
      }
    }
    this.#frame(Frame.settings, Flag.ack, 0, Buffer.alloc(0));
    this.#sendBodies();
    this.#more();
  }

  #widen(id: number, by: number): void {
    if (id === 0) {
      this.#window += by;
      if (this.#window > maxWindow) throw new Error('its window is too large');
      this.#sendBodies();
      return;
    }
    const open = this.#streams.get(id);
    if (open === undefined) return;
    open.window += by;
    this.#sendBody(id, open);
  }

  #sendBodies(): void {
    for (const [id, open] of this.#streams) {
      if (this.#window <= 0) return;
      if (open.left !== undefined) this.#sendBody(id, open);
    }
  }

  /** Requests after the last one that the other side has taken go to another connection. */
  #goAway(last: number): void {
    const gone = [...this.#streams].filter(([id]) => id > last);
    for (const [id] of gone) this.#streams.delete(id);
    this.#drain();
    for (const [, { stream }] of gone) stream.failed('the server closes the connection', true);
    if (this.#streams.size === 0) this.#close('the server has closed the connection');
  }

  #drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.onEnd();
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const { stream } of waiting) stream.failed('the connection is at its end', true);
  }

  #close(reason: string): void {
    if (this.#reason !== '') return;
    this.#reason = reason;
    this.#drain();
    this.socket.destroy();
    const open = [...this.#streams.values()];
    this.#streams.clear();
    for (const { stream } of open) stream.failed(reason, false);
  }
}

function unpadded(payload: Buffer, flags: number, skip: number): Buffer {
  if ((flags & Flag.padded) === 0) return skip === 0 ? payload : payload.subarray(skip);
  const padding = payload[0] ?? 0;
  if (1 + skip + padding > payload.length) throw new Error('a frame has more padding than bytes');
  return payload.subarray(1 + skip, payload.length - padding);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
