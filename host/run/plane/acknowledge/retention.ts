/**
 * Rules with checkpoints hold the messages of a source until they are safe. Held messages stand in one list for all
 * rules, with a number for each rule up to which it has them safe: lists for each of thousands of rules would need more
 * memory than anything else.
 */
import type { Barrier } from './barrier.js';

/** Holds messages of sources until they are safe. */
export interface Retainer {
  /** Messages are held that no checkpoint under way has. */
  readonly isHolding: boolean;
  /** Requests a checkpoint, since the sender waits. */
  request(): void;
}

/** Messages of a source that are in a checkpoint on its way to disk. */
export interface Claim {
  /** To be called when the messages are safe. */
  pass(): void;
  /** To be called when the checkpoint came to nothing. */
  giveBack(): void;
}

/** Messages of a source that a rule holds. */
export interface RuleHold {
  /** Messages are held that no checkpoint under way has. */
  readonly isHolding: boolean;
  /** Takes the held messages into a checkpoint. */
  claim(): Claim;
  /** Holds no further messages. */
  close(): void;
  /** Gives up all messages. With `isLost` they are not safe, and stay unacknowledged where they come again only so. */
  drop(isLost: boolean): void;
}

/** Messages of a source that one rule holds, numbered in the order of their arrival. */
export class Hold implements RuleHold {
  /** Number of the first message that is not safe, and of the first that is in no checkpoint under way. */
  safe: number;
  taken: number;
  /** Number from which on no messages are held. */
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
  /** Number of the first held message. */
  #first = 0;
  /** Holds with messages; the one whose messages became safe last stands last. */
  readonly holds = new Set<Hold>();

  /** Number of the next message. */
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

  /** To be called when more messages are safe for a hold, or it holds no more. */
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
  /** Position up to which each rule has all input safe; the one that was here longest ago comes first. */
  #positions: Map<Retainer, unknown> | undefined;
  readonly #held = new HeldMessages();

  /** @param commit see `Source.commit` */
  constructor(private readonly commit: (position: unknown) => void) {}

  get isNeeded(): boolean {
    return this.#positions !== undefined && this.#positions.size > 0;
  }

  /** Returns the hold of a new rule, which begins with the next message. */
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
   * Lets all rules hold the barrier, even those that do not take its input: they have it safe with their next
   * checkpoint.
   */
  hold(barrier: Barrier): void {
    if (this.isNeeded) this.#held.add(barrier);
  }

  /** Requests checkpoints of all rules, in turns, since there may be thousands. */
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

  /** To be called when the rule has all input up to the position safe; without a position it needs none any more. */
  committed(retainer: Retainer, position: unknown): void {
    const positions = this.#positions;
    const isLast = positions === undefined || positions.size === 0;
    if (positions?.delete(retainer)) positions.set(retainer, position);
    // The rule that lags furthest decides.
    const [first] = positions?.values() ?? [];
    if (isLast || first !== undefined) this.commit(isLast ? position : first);
  }
}
