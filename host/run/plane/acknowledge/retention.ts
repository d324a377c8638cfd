/**
 * The rules that keep what comes from a source in checkpoints: they hold its messages, and say what they never need
 * again. Messages that are held stand in one list for all rules, and of each rule it is known how far it has them safe:
 * with a list for each rule thousands of rules would need more memory for that than for anything else.
 */
import type { Barrier } from './barrier.js';

/** Holds messages of sources until they are safe. */
export interface Retainer {
  /** Some are held. */
  readonly isHolding: boolean;
  /** The sender waits: what is held is to be made safe now. */
  request(): void;
}

/** Messages of a source that are in a checkpoint on its way to disk. */
export interface Claim {
  /** They are safe. */
  pass(): void;
  /** They are not. */
  giveBack(): void;
}

/** What a rule holds of a source. */
export interface RuleHold {
  /** Some are in no checkpoint under way. */
  readonly isHolding: boolean;
  /** Takes what it holds into a checkpoint. */
  claim(): Claim;
  /** It holds nothing of what comes. */
  close(): void;
  /**
   * It holds nothing any more. With `isLost` that is not safe: it stays unacknowledged where only so it comes again.
   */
  drop(isLost: boolean): void;
}

/** What one rule holds of what a source reads. Messages are numbered in the order in which they came. */
export class Hold implements RuleHold {
  /** Number of the first message that is not safe, and of the first that is in no checkpoint under way. */
  safe: number;
  taken: number;
  /** It holds none from there on. */
  end = Number.POSITIVE_INFINITY;

  constructor(private readonly held: HeldMessages) {
    this.safe = held.end;
    this.taken = held.end;
  }

  get #last(): number {
    return Math.min(this.end, this.held.end);
  }

  get isHolding(): boolean {
    return this.taken < this.#last;
  }

  claim(): Claim {
    const end = this.#last;
    this.taken = end;
    return {
      pass: () => this.#pass(end),
      giveBack: () => {
        this.taken = Math.min(this.taken, this.safe);
      },
    };
  }

  #pass(end: number): void {
    if (end <= this.safe) return;
    this.safe = end;
    this.held.changed(this);
  }

  close(): void {
    this.end = this.#last;
    if (this.safe >= this.end) this.held.changed(this);
  }

  drop(isLost: boolean): void {
    this.close();
    if (!isLost || !this.held.keepsLost) this.#pass(this.end);
  }
}

/** The messages of a source that some rule holds. */
class HeldMessages {
  #barriers: Barrier[] = [];
  /** Number of the first of them. */
  #first = 0;
  /** Those that hold some; whose messages became safe last stands last. */
  readonly holds = new Set<Hold>();

  /** Number of the next one. */
  get end(): number {
    return this.#first + this.#barriers.length;
  }

  get keepsLost(): boolean {
    return this.#barriers[0]?.owner.keepsLost === true;
  }

  add(barrier: Barrier): void {
    if (this.#barriers.at(-1) === barrier) return;
    barrier.keep();
    this.#barriers.push(barrier);
  }

  /** More is safe for one of them, or it holds no more. */
  changed(hold: Hold): void {
    this.holds.delete(hold);
    if (hold.safe < hold.end) this.holds.add(hold);
    let safe = this.end;
    for (const one of this.holds) {
      safe = Math.min(safe, one.safe);
      if (safe <= this.#first) return;
    }
    const left = this.#barriers.splice(0, safe - this.#first);
    this.#first = safe;
    for (const barrier of left) barrier.kept(false);
  }
}

/** Time that requests take until others have their turn, ms. */
const turnMs = 10;

export class Retention {
  /** Each with the position up to which it has all safe; the one that was here longest ago comes first. */
  #positions: Map<Retainer, unknown> | undefined;
  readonly #held = new HeldMessages();

  /** @param commit see `Source.commit` */
  constructor(private readonly commit: (position: unknown) => void) {}

  get isNeeded(): boolean {
    return this.#positions !== undefined && this.#positions.size > 0;
  }

  /** Returns what it holds from now on. */
  add(retainer: Retainer): Hold {
    this.#positions ??= new Map();
    this.#positions.set(retainer, undefined);
    const hold = new Hold(this.#held);
    this.#held.holds.add(hold);
    return hold;
  }

  delete(retainer: Retainer): void {
    this.#positions?.delete(retainer);
  }

  /**
   * All of them hold it, those of rules that do not take it as well: they have it safe, and say so with their next
   * checkpoint.
   */
  hold(barrier: Barrier): void {
    if (this.isNeeded) this.#held.add(barrier);
  }

  /** Thousands of checkpoints are not taken in one go. */
  request(): void {
    if (this.#positions !== undefined) this.#request([...this.#positions.keys()], 0);
  }

  #request(retention: readonly Retainer[], from: number): void {
    const end = performance.now() + turnMs;
    for (let i = from; i < retention.length; i++) {
      const retainer = retention[i]!;
      if (this.#positions?.has(retainer) && retainer.isHolding) retainer.request();
      if (i + 1 < retention.length && performance.now() >= end) {
        setImmediate(() => this.#request(retention, i + 1));
        return;
      }
    }
  }

  /** The rule has all input up to the position safe; without one, it needs none any more. */
  committed(retainer: Retainer, position: unknown): void {
    const positions = this.#positions;
    const isLast = positions === undefined || positions.size === 0;
    if (positions?.delete(retainer)) positions.set(retainer, position);
    // Of several rules the one that lags furthest decides.
    const [first] = positions?.values() ?? [];
    if (isLast || first !== undefined) this.commit(isLast ? position : first);
  }
}
