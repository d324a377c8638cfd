/** Ties that hold while their units have little to do, and what is tied when they no longer do. */

/**
 * Once it is divided it ties its keeper alone: what it stands for stays in the place of that, and comes from there to
 * units elsewhere.
 */
export interface SoftTie {
  readonly tie: string;
  /** Ties of what the keeper keeps, as a client with a name. */
  readonly with: readonly string[];
}

/** How a unit is tied. */
export interface Ties {
  readonly hard: readonly string[];
  readonly soft: readonly SoftTie[];
  /** With its soft ties divided the unit can move without a loss. */
  readonly isMovable: boolean;
}

export function tiesIn(ties: readonly string[] | Ties): Ties {
  return 'hard' in ties ? ties : { hard: ties, soft: [], isMovable: false };
}

/** Name of the unit that a divided tie ties. */
export function keeperOf(tie: string): string {
  return `keeper of ${tie}`;
}

/** Whether units with these ties are softly tied in the same way. */
export function areSoftAlike(one: Ties, other: Ties): boolean {
  if (one.soft.length === 0 && other.soft.length === 0) return true;
  const text = ({ soft, isMovable }: Ties) => JSON.stringify([soft, isMovable]);
  return one === other || text(one) === text(other);
}

/** The soft ties of all units. */
export class SoftTies<U extends { readonly given: Ties }> {
  readonly #units = new Map<string, Set<U>>();
  readonly #divided = new Set<string>();

  add(unit: U): void {
    for (const { tie } of unit.given.soft) {
      const units = this.#units.get(tie);
      if (units === undefined) this.#units.set(tie, new Set([unit]));
      else units.add(unit);
    }
  }

  /** Returns ties that were divided and have no units any more. */
  delete(unit: U): string[] {
    return unit.given.soft.flatMap(({ tie }) => {
      const units = this.#units.get(tie)!;
      units.delete(unit);
      if (units.size > 0) return [];
      this.#units.delete(tie);
      return this.#divided.delete(tie) ? tie : [];
    });
  }

  divide(tie: string): readonly U[] {
    this.#divided.add(tie);
    return [...(this.#units.get(tie) ?? [])];
  }

  isDivided(tie: string): boolean {
    return this.#divided.has(tie);
  }

  /** Those that are not divided. */
  *whole(): Generator<[tie: string, units: ReadonlySet<U>]> {
    for (const entry of this.#units) if (!this.#divided.has(entry[0])) yield entry;
  }

  /** Ties that hold now, in order. */
  holding({ hard, soft }: Ties): string[] {
    const held = soft.flatMap((one) => (this.#divided.has(one.tie) ? [] : [one.tie, ...one.with]));
    return [...new Set([...hard, ...held])].sort();
  }

  /** Soft ties alone have kept it, and no longer do. */
  isFree({ given: { soft, isMovable } }: U): boolean {
    return isMovable && soft.length > 0 && soft.every(({ tie }) => this.#divided.has(tie));
  }
}
