/** Sockets that others read from: sinks with the same address share one, since an address is bound once. */
import { Publisher } from 'zeromq';
import { reasonOf } from '../../base/errors.js';
import { zmqClientErrors } from './errors.js';

/** Time between two attempts to send to a slow subscriber, ms. */
const retryMs = 5;

export class ZmqPublishers {
  readonly #sockets = new Map<string, SharedPublisher>();

  /** Returns the socket of the address; each user gives it back. */
  take(server: string, waits: boolean): SharedPublisher {
    const key = JSON.stringify([server, waits]);
    let socket = this.#sockets.get(key);
    if (socket === undefined) {
      socket = new SharedPublisher(server, waits, () => this.#sockets.delete(key));
      this.#sockets.set(key, socket);
    }
    socket.users++;
    return socket;
  }
}

export class SharedPublisher {
  users = 0;
  #socket: Publisher | undefined;
  #opening: Promise<void> | undefined;
  /** A socket takes one message at a time. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    readonly server: string,
    readonly waits: boolean,
    readonly onUnused: () => void,
  ) {}

  /** Resolves when the address is bound. */
  async open(): Promise<void> {
    if (this.#socket !== undefined) return;
    this.#opening ??= this.#bind().finally(() => {
      this.#opening = undefined;
    });
    await this.#opening;
  }

  /** Sends a message of several parts behind all others; rejects when the socket is closed meanwhile. */
  send(parts: Buffer[]): Promise<void> {
    const sent = this.#last.then(() => {
      return this.#send(parts);
    });
    this.#last = sent.catch(() => {});
    return sent;
  }

  async #send(parts: Buffer[]): Promise<void> {
    for (;;) {
      if (this.#socket === undefined) throw zmqClientErrors.connection('the socket is closed');
      try {
        await this.#socket.send(parts);
        return;
      } catch (error) {
        // A subscriber takes no more, and is waited for.
        if ((error as { code?: string }).code !== 'EAGAIN') throw error;
        await new Promise((resolve) => setTimeout(resolve, retryMs));
      }
    }
  }

  giveBack(): void {
    if (--this.users > 0) return;
    this.onUnused();
    this.#socket?.close();
    this.#socket = undefined;
  }

  async #bind(): Promise<void> {
    // Subscribers that take nothing lose messages, unless they are waited for.
    const socket = new Publisher({ linger: 0, noDrop: this.waits });
    try {
      await socket.bind(this.server);
    } catch (error) {
      socket.close();
      throw zmqClientErrors.connection(`${this.server}: ${reasonOf(error)}`, { cause: error });
    }
    if (this.users > 0) this.#socket = socket;
    else socket.close();
  }
}
