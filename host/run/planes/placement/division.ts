/** Divides rules and lookup tables among several data planes; loaded where there are several. */
import type { RulePlacement } from '../../../model/engine.js';
import type { PlacedParts } from '../../link/protocol.js';
import { Exchanges } from '../exchanges.js';
import { type HandOverHost, HandOvers } from './hand-overs.js';
import { type Move, type Placed, Placement } from './placement.js';
import { keeperOf } from './soft-ties.js';
import { allTiesOf, streamTie, TopicTies, tiesOf } from './ties.js';

/** Where something is to run; `moved` are others that have another place from now on. */
export interface Decision {
  readonly number: number;
  readonly moved: readonly string[];
}

export class Division {
  readonly #placement: Placement;
  readonly #topics: TopicTies;
  readonly exchanges: Exchanges;
  readonly handOvers = new HandOvers();

  /**
   * @param count number of data planes
   * @param lookMs time between two looks where rules may move, ms
   */
  constructor(
    readonly count: number,
    readonly lookMs = 10_000,
  ) {
    this.#placement = new Placement(count);
    this.exchanges = new Exchanges(count);
    this.#topics = new TopicTies((tie) => this.#placement.has(tie));
  }

  /** Hand-overs begin and end with the rules that need them. */
  open(host: Pick<HandOverHost, 'planeAt' | 'nextRun' | 'log'>): void {
    this.handOvers.open({
      ...host,
      keeperPlace: (tie) => this.#placement.keeperPlace(tie),
      join: (plane) => this.exchanges.join(plane),
    });
  }

  /** Tells of a rule that may start later: others are placed with regard to it. */
  expect(id: string, parts: PlacedParts): void {
    this.#set(id, parts);
  }

  /** Places all that were told of: together they are divided better than one by one. */
  placeAll(): void {
    this.#placement.placeAll();
  }

  place(id: string, parts: PlacedParts): Decision {
    const moved = this.#set(id, parts);
    // What it will take is not known yet.
    this.#placement.setLoad(id, undefined);
    return { number: this.#placement.place(id), moved };
  }

  /** A lookup table that is kept: its rows could not move, so it stays in the first data plane. */
  placeTable(id: string, parts: PlacedParts): Decision {
    return { number: 0, moved: this.#placement.set(id, tiesOf(parts, this.#topics), true) };
  }

  #set(id: string, parts: PlacedParts): readonly string[] {
    return this.#placement.set(id, allTiesOf(parts, this.#topics), hasPlugin(parts));
  }

  /** The rule or table is gone. */
  forget(id: string): void {
    this.#placement.delete(id);
  }

  /** Load of a rule as a part of a processor. */
  setLoad(id: string, load: number): void {
    this.#placement.setLoad(id, load);
  }

  /** See `Placement.betterMove`. */
  betterMove(least: number, mayMove: (id: string) => boolean): Move | undefined {
    return this.#placement.betterMove(least, mayMove);
  }

  /** Where a rule is, and why. */
  shown(id: string): RulePlacement | undefined {
    const placed = this.#placement.shown(id);
    return placed && placementOf(placed, this.#becauseHanded(this.#placement.dividedOf(id), placed.place));
  }

  /** Why a rule is where it is that reads streams which are handed over. */
  #becauseHanded(ties: readonly string[], place: number): string[] {
    return ties.flatMap((tie) => {
      const keeper = this.#placement.keeperPlace(tie);
      const why = 'since its rules take much of a processor';
      if (keeper !== place) return `${tie} is handed over from data plane ${keeper}, ${why}`;
      const isHanded = this.handOvers.readersOf(streamName(tie)).length > 0;
      return isHanded ? `${tie} is read here, and handed to other data planes, ${why}` : [];
    });
  }

  /** Streams of a rule that are handed to other data planes, where it reads nothing else. */
  handedOf(id: string): string[] {
    return this.#placement.dividedOf(id).map(streamName);
  }

  /** Runs that have to begin again when the unit has another place: it hands their stream over. */
  readersOf(unit: string): number[] {
    const prefix = keeperOf(streamTie(''));
    return unit.startsWith(prefix) ? this.handOvers.readersOf(unit.slice(prefix.length)) : [];
  }

  /** See `Placement`. */
  putBack(move: Move): void {
    this.#placement.putBack(move);
  }

  /** Where a rule would be by these parts, which change nothing. */
  foreseen(id: string, parts: PlacedParts): RulePlacement {
    const ties = allTiesOf(parts, this.#topics);
    const placed = this.#placement.foreseen(id, ties, hasPlugin(parts));
    const divided = ties.soft.flatMap(({ tie }) => (this.#placement.keeperPlace(tie) === undefined ? [] : tie));
    return placementOf(placed, this.#becauseHanded(divided, placed.place));
  }
}

function streamName(tie: string): string {
  return tie.slice(streamTie('').length);
}

/** Portable plugins are processes, children of the first data plane: there is one of each. */
function hasPlugin({ portables = [] }: PlacedParts): boolean {
  return portables.length > 0;
}

function placementOf({ place, shared, groupSize, isFixed }: Placed, handed: readonly string[]): RulePlacement {
  const because = [
    ...shared.map(([tie, others]) => `${tie} is shared with ${others === 1 ? '1 other' : `${others} others`}`),
    ...handed,
  ];
  if (groupSize > shared.reduce((most, [, others]) => Math.max(most, others + 1), 1)) {
    because.push(`${groupSize} are together by what these share with others`);
  }
  if (isFixed) because.push('lookup tables in memory and portable plugins are in data plane 0');
  if (because.length === 0) because.push('it shares nothing, and there was the least load');
  return { plane: place, because };
}
