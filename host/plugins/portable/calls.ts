/**
 * Calls to a plugin. The plugin dials and asks first: each of its requests carries the answer to the last call, and our
 * reply is the next one. So one connection has one call under way. A request `handshake` answers nothing: the plugin
 * begins, or has waited for so long that it asks anew.
 */
import { type SpConnection, SpListener, type SpUser } from '../../clients/sp/listener.js';

const handshake = Buffer.from('handshake');
const lookMs = 100;

interface Call {
  readonly body: Buffer;
  /** How often it may be repeated when the plugin is lost. */
  retries: number;
  readonly resolve: (answer: Buffer) => void;
  readonly reject: (error: Error) => void;
}

/** A connection of the plugin: room for one call under way. */
interface Slot {
  /** Header of the request that our next reply answers. */
  header: Buffer;
  call: Call | undefined;
  since: number;
}

export interface CallHost {
  /** A call is not answered in time: the plugin hangs. */
  hangs(ms: number): void;
  /** The last connection is gone. */
  lost(): void;
  /** Why the plugin has ended, as soon as that is known; undefined when it has not. */
  lossReason?(): Promise<string | undefined>;
  /** Longest answer, ms. */
  readonly timeoutMs: number;
}

export class CallChannel implements SpUser {
  #listener: SpListener | undefined;
  readonly #slots = new Map<SpConnection, Slot>();
  #queue: Call[] = [];
  /** First call of the queue that nobody took. */
  #next = 0;
  #timer: NodeJS.Timeout | undefined;
  #greeted: (() => void)[] = [];

  constructor(private readonly host: CallHost) {}

  async listen(path: string): Promise<void> {
    this.#listener ??= await SpListener.open(path, 'rep', 'req', this);
  }

  /** Resolves when a plugin has said hello. */
  greeting(): Promise<void> {
    if (this.#slots.size > 0) return Promise.resolve();
    return new Promise((resolve) => this.#greeted.push(resolve));
  }

  get isWanted(): boolean {
    return this.#next < this.#queue.length;
  }

  /** Resolves with the answer; rejects when the plugin is lost too often, or hangs. */
  call(body: Buffer, retries = 0): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ body, retries, resolve, reject });
      this.#pump();
    });
  }

  /** Fails all calls that wait for a plugin. */
  fail(reason: string): void {
    const waiting = this.#queue.slice(this.#next);
    this.#queue = [];
    this.#next = 0;
    for (const { reject } of waiting) reject(new Error(reason));
  }

  take(connection: SpConnection, body: Buffer, header: Buffer): void {
    const slot = this.#slots.get(connection);
    if (slot === undefined) {
      this.#slots.set(connection, { header, call: undefined, since: 0 });
      for (const resolve of this.#greeted.splice(0)) resolve();
    } else {
      slot.header = header;
      const { call } = slot;
      if (call !== undefined && body.equals(handshake)) {
        // It asked anew before the call had come, and drops that.
        connection.send(call.body, header);
        return;
      }
      slot.call = undefined;
      call?.resolve(body);
    }
    this.#pump();
  }

  lost(connection: SpConnection): void {
    this.#lose(connection);
  }

  /** @param reason why the plugin has ended, where that is known */
  #lose(connection: SpConnection, reason?: string): void {
    const slot = this.#slots.get(connection);
    if (slot === undefined) return;
    this.#slots.delete(connection);
    const { call } = slot;
    if (call !== undefined) {
      if (call.retries > 0) {
        call.retries--;
        this.#queue = [call, ...this.#queue.slice(this.#next)];
        this.#next = 0;
      } else void this.#failEnded(call, reason);
    }
    if (this.#slots.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      this.host.lost();
    } else this.#pump();
  }

  /** The connection is noticed to be gone before the process is. */
  async #failEnded(call: Call, known: string | undefined): Promise<void> {
    const reason = known ?? (await this.host.lossReason?.());
    const told = 'the plugin ended during the call';
    call.reject(new Error(reason === undefined ? told : `${told}: ${reason}`));
  }

  /** Closes all connections; calls under way are repeated or fail as if the plugin had. */
  drop(reason?: string): void {
    for (const connection of [...this.#slots.keys()]) {
      connection.close();
      this.#lose(connection, reason);
    }
  }

  close(reason: string): void {
    this.#listener?.close();
    this.#listener = undefined;
    clearInterval(this.#timer);
    for (const { call } of this.#slots.values()) call?.reject(new Error(reason));
    this.#slots.clear();
    this.fail(reason);
  }

  #pump(): void {
    if (this.#next >= this.#queue.length) return;
    for (const [connection, slot] of this.#slots) {
      if (slot.call !== undefined) continue;
      const call = this.#queue[this.#next++]!;
      slot.call = call;
      slot.since = performance.now();
      connection.send(call.body, slot.header);
      if (this.#next >= this.#queue.length) break;
    }
    if (this.#next >= this.#queue.length) {
      this.#queue = [];
      this.#next = 0;
    }
    this.#timer ??= setInterval(() => this.#look(), lookMs).unref();
  }

  /** Looks for a call that takes too long; it is not repeated, since it would hang again. */
  #look(): void {
    const { timeoutMs } = this.host;
    const now = performance.now();
    for (const slot of this.#slots.values()) {
      const { call, since } = slot;
      if (call === undefined || now - since < timeoutMs) continue;
      slot.call = undefined;
      call.reject(new Error(`the plugin gave no answer within ${timeoutMs} ms`));
      this.host.hangs(timeoutMs);
      return;
    }
  }
}
