/** Server-sent events: one list of listeners, told the same, slow ones waited for up to bounds of bytes and time. */
import type { ServerResponse } from 'node:http';

/** Unread bytes of a listener from which on the sender waits for it. */
const maxUnreadBytes = 1 << 20;
/** Time, ms, after which such a listener is dropped if it reads nothing: the stream would stop for all others. */
const defaultSlowMs = 5000;

export class EventStream {
  readonly #listeners = new Set<ServerResponse>();
  #isClosed = false;
  #note = '';

  constructor(private readonly slowMs = defaultSlowMs) {}

  /** Adds a listener. The head goes out at once, so that the client knows that it is heard. */
  open(response: ServerResponse): void {
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
    response.on('close', () => this.#listeners.delete(response));
  }

  /** Sends events to all listeners; without listeners they are dropped. Resolves when all listeners can take more. */
  async send(payloads: readonly string[]): Promise<void> {
    const text = payloads.map(eventOf).join('');
    const slow: Promise<void>[] = [];
    for (const listener of this.#listeners) {
      listener.write(text);
      if (listener.writableLength > maxUnreadBytes) slow.push(drained(listener, this.slowMs));
    }
    await Promise.all(slow);
  }

  /** Sends a comment, which clients ignore, to all listeners and to later ones when they join. */
  note(text: string): void {
    this.#note = text === '' ? '' : commentOf(text);
    for (const listener of this.#listeners) if (listener.writableLength < maxUnreadBytes) listener.write(this.#note);
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

/** Resolves when a listener has read all waiting bytes, or is gone; destroys it after `slowMs`. */
function drained(listener: ServerResponse, slowMs: number): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(() => listener.destroy(), slowMs);
    const done = () => {
      clearTimeout(late);
      listener.off('drain', done).off('close', done);
      resolve();
    };
    listener.on('drain', done).on('close', done);
  });
}
