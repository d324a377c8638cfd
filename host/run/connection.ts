/** Keeps one connection open: tries, waits longer and longer between attempts, and remembers how it went. */
import { HaumeaError, reasonOf } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import type { Redact } from './secret-props.js';

const firstDelayMs = 200;
const maxDelayMs = 30_000;
const jitter = 0.1;
/** A connection that held this long starts the series of delays anew. */
const steadyMs = 5000;

/** Delay before attempt number `attempt` (from 1), ms. */
export function backoffMs(attempt: number): number {
  const delay = Math.min(maxDelayMs, firstDelayMs * 2 ** Math.min(attempt - 1, 20));
  return delay * (1 + jitter * (Math.random() * 2 - 1));
}

/** Whose connection it is. */
export interface ConnectionOwner {
  /** Names the owner in the log. */
  readonly label: string;
  readonly log: Logger;
  /** Connects once; see `Source.open`. */
  connect(): Promise<void>;
  /** A failure that no repetition can cure. */
  refused(reason: string): void;
  /** Any other failed attempt. */
  attemptFailed(reason: string): void;
}

export class Connection {
  /** 1 connected, 0 connecting, -1 disconnected. */
  status: 1 | 0 | -1 = 0;
  /** Epoch ms, 0 never. */
  lastConnectedAt = 0;
  lastDisconnectedAt = 0;
  lastTryAt = 0;
  lastMessage = '';
  /** Since when it is not connected, epoch ms; of use while it is not. */
  downSince = Date.now();
  #attempt = 0;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #lostWhileTrying: string | undefined;
  /** Why it is down, as the log has it. */
  #loggedReason: string | undefined;

  /** @param redact masks the secrets of the connector in its reasons */
  constructor(
    readonly owner: ConnectionOwner,
    readonly redact: Redact,
  ) {}

  start(): void {
    this.downSince = Date.now();
    this.#try();
  }

  /** To be called when an open connection is lost. */
  lost(reason: string): void {
    if (this.#isStopped) return;
    if (this.status !== 1) {
      // Lost before the attempt has ended: its success would be news of the past.
      this.#lostWhileTrying = reason;
      return;
    }
    if (Date.now() - this.lastConnectedAt >= steadyMs) this.#attempt = 0;
    this.#failed(reason);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.status = -1;
  }

  #try(): void {
    this.status = 0;
    this.lastTryAt = Date.now();
    this.#lostWhileTrying = undefined;
    this.owner.connect().then(
      () => {
        if (this.#isStopped) return;
        if (this.#lostWhileTrying !== undefined) {
          this.#failed(this.#lostWhileTrying);
          return;
        }
        this.#connected();
      },
      (error: unknown) => {
        if (this.#isStopped) return;
        const reason = this.redact(reasonOf(error));
        if (error instanceof HaumeaError && error.kind === 'config') {
          this.status = -1;
          this.lastMessage = reason;
          this.lastDisconnectedAt = Date.now();
          this.owner.refused(this.lastMessage);
        } else {
          this.owner.attemptFailed(reason);
          this.#failed(reason);
        }
      },
    );
  }

  #connected(): void {
    this.status = 1;
    this.lastConnectedAt = Date.now();
    if (this.#loggedReason !== undefined) this.owner.log.info(`${this.owner.label} is connected`);
    this.#loggedReason = undefined;
  }

  #failed(reason: string): void {
    // Attempts that fail alike are one line.
    if (this.status === 1) this.downSince = Date.now();
    if (reason !== this.#loggedReason) this.owner.log.warn(`${this.owner.label} is disconnected: ${reason}`);
    this.#loggedReason = reason;
    this.status = -1;
    this.lastMessage = reason;
    this.lastDisconnectedAt = Date.now();
    this.#attempt++;
    this.#timer = setTimeout(() => this.#try(), backoffMs(this.#attempt));
  }
}
