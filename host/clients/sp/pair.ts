/**
 * Connections by the protocol PAIR, which has one peer on each side: all sources and sinks with the same address share
 * one. None connects again by itself.
 */
import type { Socket } from 'node:net';
import { reasonOf } from '../../base/errors.js';
import { dialSp } from './dial.js';
import { frameHead } from './frames.js';

export interface PairUser {
  /** The connection is lost: what was not sent is not with the other side. */
  lost(reason: string): void;
  /** Takes a message, a view that nobody changes; left out by users that only send. */
  take?(message: Buffer): void;
}

export class PairPool {
  readonly #pairs = new Map<string, SharedPair>();

  /** The connection with the address; each user gives it back. */
  take(url: string): SharedPair {
    let pair = this.#pairs.get(url);
    if (pair === undefined) {
      pair = new SharedPair(url, () => this.#pairs.delete(url));
      this.#pairs.set(url, pair);
    }
    pair.users++;
    return pair;
  }
}

/** Connects once, up to the hello of the other side; throws the reason when that fails. */
export async function pingPair(url: string): Promise<void> {
  (await dialSp(url, 'pair', 'pair', () => {})).destroy();
}

export class SharedPair {
  users = 0;
  #socket: Socket | undefined;
  #opening: Promise<void> | undefined;
  readonly #open = new Set<PairUser>();
  /** Users that can't take messages now. */
  readonly #full = new Set<PairUser>();

  constructor(
    readonly url: string,
    readonly onUnused: () => void,
  ) {}

  /** Resolves when connected. */
  async open(user: PairUser): Promise<void> {
    // The first message may come together with the hello.
    this.#open.add(user);
    if (this.#socket !== undefined) return;
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = undefined;
    });
    try {
      await this.#opening;
    } catch (error) {
      this.#open.delete(user);
      throw error;
    }
  }

  /** Sends a message; calls `sent` when the system has it, and never when the connection is lost before. */
  send(message: Buffer, sent: () => void): void {
    const socket = this.#socket;
    if (socket === undefined) return;
    socket.cork();
    socket.write(frameHead(message.length, this.url.startsWith('ipc')));
    socket.write(message, (error) => {
      if (this.#socket === socket && (error === undefined || error === null)) sent();
    });
    process.nextTick(() => socket.uncork());
  }

  /** Bytes that the system does not have yet. */
  get waitingBytes(): number {
    return this.#socket?.writableLength ?? 0;
  }

  /** Reads nothing while one of the users is full. */
  flow(user: PairUser, isFull: boolean): void {
    if (isFull) this.#full.add(user);
    else this.#full.delete(user);
    this.#regulate();
  }

  giveBack(user: PairUser): void {
    this.#open.delete(user);
    this.#full.delete(user);
    this.#regulate();
    if (--this.users > 0) return;
    this.onUnused();
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  #regulate(): void {
    if (this.#full.size > 0) this.#socket?.pause();
    else this.#socket?.resume();
  }

  async #connect(): Promise<void> {
    const socket = await dialSp(this.url, 'pair', 'pair', (message) => {
      for (const user of this.#open) user.take?.(message);
    });
    if (this.users === 0) {
      socket.destroy();
      return;
    }
    this.#socket = socket;
    let reason = 'the other side has ended the connection';
    socket.on('error', (error) => {
      reason = reasonOf(error);
    });
    socket.on('close', () => {
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      const users = [...this.#open];
      this.#open.clear();
      for (const user of users) user.lost(reason);
    });
    this.#regulate();
  }
}
