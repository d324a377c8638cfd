/**
 * Pushed bodies of one path on their way to its sources. They wait here, in order, while the sinks of a source are
 * full, and go to all sources at once: what is given up while it waits has reached none.
 */
import { isBefore, type PlaneThread, type PushMessage } from '../../connectors/push-channel.js';
import { TooManyBodies } from '../route/body.js';

/** Bytes of all bodies of a path, those being received included. */
export const maxPathBytes = 64 << 20;
/** Requests that wait for full sinks of a path: half of the connections of the data server. */
export const maxPathWaiting = 250;
/** Most bytes in flight to the sources, one body at least: that much still reaches sources that became full. */
const maxSentBytes = 256 << 10;
const maxSent = 256;
/** A body that has come for this time, ms, and is not there yet, makes room for others. */
const defaultSlowBodyMs = 10_000;

/**
 * Outcome of a body. `taken`: by all sources. `busy`: it waited too long. `unfit`: the engine has no memory for it.
 * `ended`: the sources ended before they took it. `unknown`: it was under way when the thread of its sources died or
 * hung.
 */
export type PushOutcome = 'taken' | 'busy' | 'unfit' | 'ended' | 'unknown';

export interface Push {
  readonly body: Buffer;
  readonly traceparent: string | undefined;
}

interface Waiting extends Push {
  settle(outcome: PushOutcome): void;
  /** Starts the time limit anew. */
  refresh(): void;
}

interface Sent extends Waiting {
  /** Sources that have not answered yet. */
  readonly left: Set<string>;
  isTaken: boolean;
}

/** A body that has begun to come. */
interface Receiving {
  readonly began: number;
  /** Gives its room back and ends its connection. */
  readonly cut: () => void;
}

interface PathSource {
  readonly thread: PlaneThread;
  isFull: boolean;
}

export class PushPath {
  readonly #sources = new Map<string, PathSource>();
  readonly #waiting = new Set<Waiting>();
  readonly #sent = new Map<number, Sent>();
  /** In order of their begin. */
  readonly #receiving = new Set<Receiving>();
  #heldBytes = 0;
  #sentBytes = 0;
  #lastSeq = 0;

  constructor(
    readonly method: string,
    readonly path: string,
    private readonly post: (message: PushMessage) => void,
    private readonly slowBodyMs = defaultSlowBodyMs,
  ) {}

  get isUsed(): boolean {
    return this.#sources.size > 0;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  get #isFull(): boolean {
    for (const { isFull } of this.#sources.values()) if (isFull) return true;
    return false;
  }

  add(id: string, thread: PlaneThread, isFull: boolean): void {
    this.#sources.set(id, { thread, isFull });
    this.#advance();
  }

  /** Removes a source: settles bodies that only this source had not taken, and with the last source all that wait. */
  remove(id: string, isDead = false): void {
    if (!this.#sources.delete(id)) return;
    for (const [seq, sent] of [...this.#sent]) {
      if (sent.left.delete(id)) this.#answered(seq, sent, isDead ? 'unknown' : 'ended');
    }
    if (!this.isUsed) for (const waiting of [...this.#waiting]) this.#giveUp(waiting, 'ended');
    this.#advance();
  }

  /** Sources of threads before this one died with them. */
  removeBefore(thread: PlaneThread): void {
    for (const [id, source] of [...this.#sources]) if (isBefore(source.thread, thread)) this.remove(id, true);
  }

  flow(id: string, isFull: boolean): void {
    const source = this.#sources.get(id);
    if (source === undefined) return;
    source.isFull = isFull;
    this.#advance();
  }

  /** A source has taken the body of this number, or can't. */
  answer(id: string, seq: number, outcome: 'taken' | 'unfit'): void {
    const sent = this.#sent.get(seq);
    if (!this.#sources.has(id) || sent === undefined || !sent.left.delete(id)) return;
    sent.isTaken ||= outcome === 'taken';
    this.#answered(seq, sent, outcome);
    this.#advance();
  }

  /** A body begins to come, and ends with the call of what is returned; `cut` ends it when others want its room. */
  receive(cut: () => void): () => void {
    const one = { began: performance.now(), cut };
    this.#receiving.add(one);
    return () => void this.#receiving.delete(one);
  }

  /** Reserves bytes for a body until `release`; throws as `admit` does. */
  hold(bytes: number): void {
    this.admit(bytes);
    this.#heldBytes += bytes;
  }

  /** Throws `TooManyBodies` when too many bytes or requests wait for one more body of this length. */
  admit(bytes: number): void {
    this.#makeRoom(bytes);
    if (this.#heldBytes + bytes > maxPathBytes) {
      throw new TooManyBodies(`${this.#heldBytes} bytes wait for the rules of ${this.path} already, try again later`);
    }
    if (this.#waiting.size >= maxPathWaiting && this.#isFull) {
      throw new TooManyBodies(
        `${this.#waiting.size} requests wait for the rules of ${this.path} already, try again later`,
      );
    }
  }

  release(bytes: number): void {
    this.#heldBytes -= bytes;
  }

  /** Has the failure counted by the sources, so that the status of their rules shows it. */
  refuse(reason: string): void {
    for (const id of this.#sources.keys()) this.post({ kind: 'refused', id, reason });
  }

  /**
   * Resolves with what became of the body.
   * @param timeoutMs how long it waits for full sinks, and then for the answers of the sources
   * @param onLeave says what to call when nobody waits for it any more
   */
  hand(push: Push, timeoutMs: number, onLeave: (leave: () => void) => void): Promise<PushOutcome> {
    if (!this.isUsed) return Promise.resolve('ended');
    return new Promise((resolve) => {
      const late = () => {
        if (!this.#giveUp(waiting, 'busy')) waiting.settle('unknown');
      };
      const timer = setTimeout(late, timeoutMs).unref();
      const settle = (outcome: PushOutcome) => {
        clearTimeout(timer);
        resolve(outcome);
      };
      const waiting: Waiting = { ...push, settle, refresh: () => timer.refresh() };
      onLeave(() => this.#giveUp(waiting, 'busy'));
      this.#waiting.add(waiting);
      this.#advance();
    });
  }

  /** Cuts bodies that come slowly, the oldest first, until there is room. */
  #makeRoom(bytes: number): void {
    for (const one of this.#receiving) {
      if (this.#heldBytes + bytes <= maxPathBytes || performance.now() - one.began < this.slowBodyMs) return;
      this.#receiving.delete(one);
      one.cut();
    }
  }

  /** Withdraws what still waits; false for what is under way already. */
  #giveUp(waiting: Waiting, outcome: PushOutcome): boolean {
    const isWithdrawn = this.#waiting.delete(waiting);
    if (isWithdrawn) waiting.settle(outcome);
    return isWithdrawn;
  }

  /** Sends what may go now. */
  #advance(): void {
    if (!this.isUsed || this.#isFull) return;
    for (const waiting of this.#waiting) {
      const { body, traceparent } = waiting;
      const isMuch = this.#sent.size >= maxSent || this.#sentBytes + body.length > maxSentBytes;
      if (isMuch && this.#sent.size > 0) return;
      this.#waiting.delete(waiting);
      const seq = ++this.#lastSeq;
      this.#sent.set(seq, { ...waiting, left: new Set(this.#sources.keys()), isTaken: false });
      this.#sentBytes += body.length;
      waiting.refresh();
      for (const id of this.#sources.keys()) this.post({ kind: 'data', id, seq, body, traceparent });
    }
  }

  /** Notes the answer of a source; the last one settles the body, which is delivered if any source has taken it. */
  #answered(seq: number, sent: Sent, outcome: PushOutcome): void {
    if (sent.left.size > 0) return;
    this.#sent.delete(seq);
    this.#sentBytes -= sent.body.length;
    sent.settle(sent.isTaken ? 'taken' : outcome);
  }
}
