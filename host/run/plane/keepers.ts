/** The rules that keep what comes from a source in checkpoints: they hold its messages, and say what they never need again. */
import type { Barrier } from './barrier.js';

/** Holds messages of sources until they are safe. */
export interface Keeper {
  /** Some are held. */
  readonly isHolding: boolean;
  hold(barrier: Barrier): void;
  /** The sender waits: what is held is to be made safe now. */
  request(): void;
}

export class Keepers {
  /** Each with the position up to which it has all safe; the one that was here longest ago comes first. */
  #positions: Map<Keeper, unknown> | undefined;

  /** @param commit see `Source.commit` */
  constructor(private readonly commit: (position: unknown) => void) {}

  get isNeeded(): boolean {
    return this.#positions !== undefined && this.#positions.size > 0;
  }

  add(keeper: Keeper): void {
    this.#positions ??= new Map();
    this.#positions.set(keeper, undefined);
  }

  delete(keeper: Keeper): void {
    this.#positions?.delete(keeper);
  }

  hold(barrier: Barrier): void {
    if (this.#positions !== undefined) for (const keeper of this.#positions.keys()) keeper.hold(barrier);
  }

  request(): void {
    if (this.#positions === undefined) return;
    for (const keeper of this.#positions.keys()) if (keeper.isHolding) keeper.request();
  }

  /** The rule has all input up to the position safe; without one, it needs none any more. */
  committed(keeper: Keeper, position: unknown): void {
    const positions = this.#positions;
    const isLast = positions === undefined || positions.size === 0;
    if (positions?.delete(keeper)) positions.set(keeper, position);
    // Of several rules the one that is behind the others decides.
    const [first] = positions?.values() ?? [];
    if (isLast || first !== undefined) this.commit(isLast ? position : first);
  }
}
