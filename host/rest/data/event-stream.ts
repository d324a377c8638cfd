/** Server-sent events: one list of listeners, told the same, slow ones waited for up to bounds of bytes and time. */
import type { ServerResponse } from 'node:http';

/** Unread bytes of a listener from which on the sender waits for it. */
const maxUnreadBytes = 1 << 20;
/** Time, ms, after which such a listener is dropped if it reads nothing: the stream would stop for all others. */
const defaultSlowMs = 5000;

export interface EventStreamOptions {
  readonly slowMs?: number;
  /** The last events of so many bytes are kept, with ids, for listeners that come back. */
  readonly keptBytes?: number;
}

export class EventStream {
  readonly #listeners = new Set<ServerResponse>();
  #isClosed = false;
  #note = '';
  /** Begin of all ids: those of another stream mean nothing here. */
  readonly #name = Date.now().toString(36);
  #lastId = 0;
  /** The last events with their numbers, the oldest first. */
  readonly #kept: { readonly id: number; readonly text: string }[] = [];
  #keptBytes = 0;

  constructor(private readonly options: EventStreamOptions = {}) {}

  get listeners(): number {
    return this.#listeners.size;
  }

  /**
   * Adds a listener, with the kept events behind the one that it had last. The head goes out at once, so that the
   * client knows that it is heard.
   */
  open(response: ServerResponse, lastId?: string): void {
    response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-cache',
      Connection: 'keep-alive',
    });
    response.flushHeaders();
    if (this.#isClosed) {
      response.end();
      return;
    }
    this.#listeners.add(response);
    if (this.#note !== '') response.write(this.#note);
    const missed = this.#missed(lastId);
    if (missed !== '') response.write(missed);
    response.on('close', () => this.#listeners.delete(response));
  }

  /**
   * Sends events to all listeners; without listeners they are dropped. Resolves when all listeners can take more, with
   * the number of those that were too slow and are dropped.
   */
  async send(payloads: readonly string[]): Promise<number> {
    const text = payloads.map((payload) => this.#eventOf(payload)).join('');
    const slow: Promise<boolean>[] = [];
    for (const listener of this.#listeners) {
      listener.write(text);
      if (listener.writableLength > maxUnreadBytes)
        slow.push(isTooSlow(listener, this.options.slowMs ?? defaultSlowMs));
    }
    return (await Promise.all(slow)).filter((isSlow) => isSlow).length;
  }

  /** Sends a comment, which clients ignore, to all listeners and to later ones when they join. */
  note(text: string): void {
    this.#note = text === '' ? '' : commentOf(text);
    this.#tell(this.#note);
  }

  /** Sends an empty comment, which shows that the connection works. */
  beat(): void {
    this.#tell(':\n\n');
  }

  /** Ends the stream of every listener. */
  close(): void {
    this.#isClosed = true;
    for (const listener of this.#listeners) {
      // A listener with that much unread would keep its connection, and hold up whoever waits for the end.
      if (listener.writableLength > maxUnreadBytes) listener.destroy();
      else listener.end();
    }
    this.#listeners.clear();
  }

  #tell(comment: string): void {
    for (const listener of this.#listeners) if (listener.writableLength < maxUnreadBytes) listener.write(comment);
  }

  #eventOf(payload: string): string {
    const { keptBytes = 0 } = this.options;
    if (keptBytes === 0) return eventOf(payload);
    const id = ++this.#lastId;
    const text = `id: ${this.#name}-${id}\n${eventOf(payload)}`;
    this.#kept.push({ id, text });
    this.#keptBytes += text.length;
    while (this.#keptBytes > keptBytes) this.#keptBytes -= this.#kept.shift()!.text.length;
    return text;
  }

  #missed(lastId: string | undefined): string {
    if (lastId === undefined || !lastId.startsWith(`${this.#name}-`)) return '';
    const number = Number(lastId.slice(this.#name.length + 1));
    return this.#kept
      .filter(({ id }) => id > number)
      .map(({ text }) => text)
      .join('');
  }
}

function commentOf(text: string): string {
  return `${text
    .split(/\r\n|\n|\r/)
    .map((line) => `: ${line}\n`)
    .join('')}\n`;
}

/** An event has one data line for each line of its payload. */
function eventOf(payload: string): string {
  return payload.includes('\n') || payload.includes('\r')
    ? `${payload
        .split(/\r\n|\n|\r/)
        .map((line) => `data: ${line}\n`)
        .join('')}\n`
    : `data: ${payload}\n\n`;
}

/** Resolves when a listener has read all waiting bytes, or is gone; true for one that is destroyed after `slowMs`. */
function isTooSlow(listener: ServerResponse, slowMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    let isSlow = false;
    const late = setTimeout(() => {
      isSlow = true;
      listener.destroy();
    }, slowMs);
    const done = () => {
      clearTimeout(late);
      listener.off('drain', done).off('close', done);
      resolve(isSlow);
    };
    listener.on('drain', done).on('close', done);
  });
}
