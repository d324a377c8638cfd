/** Keeps one connection open: tries, waits longer and longer between attempts, and remembers how it went. */
import { HaumeaError, reasonOf } from '../../../base/errors.js';
import type { Logger } from '../../../base/log/log.js';
import type { Redact } from '../../../base/secrets/redact.js';
import { Reconnects, type Waiting } from './reconnects.js';

/** A connection that held this long starts the series of delays anew. */
const steadyMs = 5000;

const ownPolicy = new Reconnects();

/** The owner of a connection. */
export interface ConnectionOwner {
  /** Names the owner in the log. */
  readonly label: string;
  readonly log: Logger;
  /** See `Source.peer`. */
  readonly peer?: string;
  /** Masks the secrets of the connector in its reasons. */
  readonly redact: Redact;
  /** The policy it shares with others; without it it has one of its own. */
  readonly reconnects?: Reconnects;
  /** Connects once; see `Source.open`. */
  connect(): Promise<void>;
  /** A failure that no repetition can cure. */
  givenUp(reason: string): void;
  /** Any other failed attempt. */
  attemptFailed(reason: string): void;
  /** An attempt has ended, and `status` says how; not told of failures that no repetition can cure. */
  tried?(): void;
}

export class Connection implements Waiting {
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
  /** When the next attempt is due, as `performance.now` says. */
  #dueAt = 0;
  #isStopped = false;
  #lostWhileTrying: string | undefined;
  /** Why it is down, as the log has it. */
  #loggedCause: string | undefined;

  constructor(readonly owner: ConnectionOwner) {}

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
    this.#endWait();
    this.status = -1;
  }

  hurry(ms: number): void {
    if (performance.now() + ms < this.#dueAt) this.#tryIn(ms);
  }

  #tryIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#dueAt = performance.now() + ms;
    this.#timer = setTimeout(() => this.#try(), ms);
  }

  #endWait(): void {
    const { peer, reconnects } = this.owner;
    clearTimeout(this.#timer);
    if (peer !== undefined) reconnects?.forget(peer, this);
  }

  #try(): void {
    this.#endWait();
    this.status = 0;
    this.lastTryAt = Date.now();
    this.#lostWhileTrying = undefined;
    this.owner.connect().then(
      () => {
        if (this.#isStopped) return;
        if (this.#lostWhileTrying !== undefined) this.#failed(this.#lostWhileTrying);
        else this.#connected();
        this.owner.tried?.();
      },
      (error: unknown) => {
        if (this.#isStopped) return;
        const reason = this.owner.redact(reasonOf(error));
        if (this.#isFinal(error)) {
          this.status = -1;
          this.lastMessage = reason;
          this.lastDisconnectedAt = Date.now();
          this.owner.givenUp(this.lastMessage);
        } else {
          this.owner.attemptFailed(reason);
          this.#failed(reason);
          this.owner.tried?.();
        }
      },
    );
  }

  /** Certificates that could be used once may be again, as when their files are being replaced. */
  #isFinal(error: unknown): boolean {
    if (!(error instanceof HaumeaError) || error.kind !== 'config') return false;
    return this.lastConnectedAt === 0 || error.code !== 'connector.certificate';
  }

  #connected(): void {
    this.status = 1;
    this.lastConnectedAt = Date.now();
    if (this.#loggedCause !== undefined) this.owner.log.info(`${this.owner.label} is connected`);
    this.#loggedCause = undefined;
    const { peer, reconnects } = this.owner;
    if (peer !== undefined) reconnects?.reached(peer);
  }

  #failed(reason: string): void {
    // Attempts that fail alike are one line.
    const wasUp = this.status === 1 || this.#lostWhileTrying !== undefined;
    if (this.status === 1) this.downSince = Date.now();
    if (causeOf(reason) !== this.#loggedCause) this.owner.log.warn(`${this.owner.label} is disconnected: ${reason}`);
    this.#loggedCause = causeOf(reason);
    this.status = -1;
    this.lastMessage = reason;
    this.lastDisconnectedAt = Date.now();
    this.#attempt++;
    const { peer, reconnects = ownPolicy } = this.owner;
    this.#tryIn(reconnects.delayMs(this.#attempt));
    // A connection that was up does not hurry: two that end each other (by an equal client id) would never stop.
    if (peer !== undefined && !wasUp) reconnects.wait(peer, this);
  }
}

/** Error code of the system in a reason, or the whole reason: a full disk refuses different calls with one code. */
function causeOf(reason: string): string {
  return /\bE[A-Z]{3,}\b/.exec(reason)?.[0] ?? reason;
}
