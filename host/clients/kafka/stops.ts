/**
 * Places at which reading stands still for a moment, since a rule goes on from there: nothing behind the place may be
 * written before that rule is told.
 */
import type { Offsets } from './offsets.js';
import type { Place } from './reader.js';

interface Stop {
  readonly index: number;
  /** Undefined: the place is before everything. */
  readonly offsets: Offsets | undefined;
}

export class Stops {
  /** Stops that are not reached, in order. */
  #left: Stop[];

  /** @param reached is called with the index of each place, in the order of the places */
  constructor(
    places: readonly (Offsets | undefined)[],
    readonly reached: (index: number) => void,
  ) {
    this.#left = places.map((offsets, index) => ({ index, offsets })).sort((a, b) => lengthOf(a) - lengthOf(b));
  }

  /** Tells of all stops that are reached, and sets how far each partition may be read; returns whether that changed. */
  pass(places: readonly Place[]): boolean {
    const before = this.#left.length;
    while (this.#left.length > 0 && isReached(this.#left[0]!, places)) this.reached(this.#left.shift()!.index);
    const next = this.#left[0]?.offsets;
    let isChanged = false;
    for (const place of places) {
      const limit = next?.[place.topic]?.[place.partition] ?? Number.POSITIVE_INFINITY;
      isChanged ||= limit !== place.limit;
      place.limit = limit;
    }
    return isChanged || this.#left.length < before;
  }
}

/** Positions of one source rise in all partitions, so their sums tell the order. */
function lengthOf({ offsets }: Stop): number {
  if (offsets === undefined) return -1;
  return Object.values(offsets).reduce((sum, partitions) => Object.values(partitions).reduce((a, b) => a + b, sum), 0);
}

function isReached({ offsets }: Stop, places: readonly Place[]): boolean {
  return places.every(({ topic, partition, position }) => position >= (offsets?.[topic]?.[partition] ?? 0));
}
