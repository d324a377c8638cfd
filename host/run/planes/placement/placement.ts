/**
 * Places units, such as rules, on a number of places, such as data planes. Units with a common tie form a group, which
 * is in one place; groups go where the least load is. It asks for no time and knows nothing of rules, so that
 * simulations run it too.
 */

import { areSoftAlike, keeperOf, SoftTies, type Ties, tiesIn } from './soft-ties.js';

/** A unit as it is shown. */
export interface Placed {
  readonly place: number;
  /** Ties that other units have as well, with the number of these. */
  readonly shared: readonly (readonly [tie: string, others: number])[];
  /** Number of units in the group. */
  readonly groupSize: number;
  /** The group can be in the first place only. */
  readonly isFixed: boolean;
}

/** A group that is to go to another place, or units that soft ties held together. */
export interface Move {
  readonly units: readonly string[];
  readonly from: number;
  readonly to: number;
}

interface Unit {
  readonly id: string;
  /** Those that hold now. */
  readonly ties: readonly string[];
  readonly given: Ties;
  /** The unit can be in the first place only. */
  readonly isFixed: boolean;
  /** Measured load; undefined while it is not known. */
  load: number | undefined;
  group: Group;
}

/** Sum of the loads that are known, and number of units whose load is not. */
interface Load {
  known: number;
  unknown: number;
}

interface Sum extends Load {
  units: number;
}

interface Group extends Load {
  readonly units: Set<Unit>;
  /** Number of units by tie. */
  readonly ties: Map<string, number>;
  /** Undefined before it is chosen; set by `#setPlace` alone. */
  place: number | undefined;
  fixed: number;
  /** A unit that may have held it together is gone. */
  isLoose: boolean;
}

/** A move has to lower the load of the fuller place by this part of it. */
const leastGain = 0.1;

export class Placement {
  readonly #units = new Map<string, Unit>();
  readonly #byTie = new Map<string, Group>();
  readonly #groups = new Set<Group>();
  /** What each place has. */
  readonly #sums: Sum[];
  readonly #soft = new SoftTies<Unit>();
  /** All measured loads, and their number: what a unit without one is taken for. */
  #measured = 0;
  #measuredUnits = 0;

  /** @param places number of places, one at least */
  constructor(readonly places: number) {
    this.#sums = Array.from({ length: places }, () => ({ known: 0, unknown: 0, units: 0 }));
  }

  /**
   * Adds a unit, or gives it other ties. Returns the units that have another place now, since the new ties join groups
   * of several places: the group with the most load stays, or the one that is fixed.
   */
  set(id: string, ties: readonly string[] | Ties, isFixed = false): readonly string[] {
    const given = tiesIn(ties);
    const former = this.#units.get(id);
    const load = former?.load;
    const place = former?.group.place;
    const sorted = this.#soft.holding(given);
    if (former?.isFixed === isFixed && isSame(former.ties, sorted) && areSoftAlike(former.given, given)) return [];
    const unit: Unit = { id, ties: sorted, given, isFixed, load, group: newGroup(place) };
    // Soft ties of both stay as they are.
    this.#soft.add(unit);
    if (former !== undefined) this.delete(id);
    this.#units.set(id, unit);
    this.#count(unit, 1);
    return this.#join(unit).filter((moved) => moved !== id);
  }

  delete(id: string): void {
    const unit = this.#units.get(id);
    if (unit === undefined) return;
    this.#units.delete(id);
    this.#count(unit, -1);
    for (const tie of this.#soft.delete(unit)) this.delete(keeperOf(tie));
    const { group } = unit;
    this.#add(group, unit, -1);
    for (const tie of unit.ties) {
      const left = group.ties.get(tie)! - 1;
      if (left > 0) group.ties.set(tie, left);
      else {
        group.ties.delete(tie);
        this.#byTie.delete(tie);
      }
    }
    if (group.units.size === 0) this.#groups.delete(group);
    else if (unit.ties.length > 1) group.isLoose = true;
  }

  /** Whether a unit has the tie. */
  has(tie: string): boolean {
    return this.#byTie.has(tie);
  }

  /** The load of a unit, in parts of what a place can bear; undefined while it is not known. */
  setLoad(id: string, load: number | undefined): void {
    const unit = this.#units.get(id);
    if (unit === undefined || unit.load === load) return;
    this.#count(unit, -1);
    this.#add(unit.group, unit, -1);
    unit.load = load;
    this.#add(unit.group, unit, 1);
    this.#count(unit, 1);
  }

  /** Place of a unit, which is chosen when its group has none. */
  place(id: string): number {
    const { group } = this.#units.get(id)!;
    return group.place ?? this.#setPlace(group, this.#choose(group));
  }

  /** Places all groups that have no place, those with the most load first. */
  placeAll(): void {
    this.#tighten();
    const left = [...this.#groups].filter(({ place }) => place === undefined);
    const sizes = left.map((group) => ({ group, load: this.#loadOf(group), first: firstOf(group) }));
    sizes.sort((a, b) => b.load - a.load || (a.first < b.first ? -1 : 1));
    for (const { group } of sizes) this.#setPlace(group, this.#choose(group));
  }

  /** Load of each place; units without a known load count as the mean of the others. */
  loads(): number[] {
    return this.#sums.map((sum) => this.#loadOf(sum));
  }

  /** Number of units in each place. */
  counts(): number[] {
    return this.#sums.map(({ units }) => units);
  }

  /** Where a unit is, and what it shares; undefined before it has a place. */
  shown(id: string): Placed | undefined {
    const unit = this.#units.get(id);
    const place = unit?.group.place;
    if (unit === undefined || place === undefined) return undefined;
    const { group, ties } = unit;
    const shared = ties.map((tie) => [tie, group.ties.get(tie)! - 1] as const).filter(([, others]) => others > 0);
    return { place, shared, groupSize: group.units.size, isFixed: group.fixed > 0 };
  }

  /** Where a unit would be with these ties; nothing changes. */
  foreseen(id: string, ties: readonly string[] | Ties, isFixed = false): Placed {
    const known = this.#units.get(id);
    const groups = new Set<Group>();
    const shared: [tie: string, others: number][] = [];
    for (const tie of this.#soft.holding(tiesIn(ties))) {
      const group = this.#byTie.get(tie);
      if (group === undefined) continue;
      const others = group.ties.get(tie)! - (known?.ties.includes(tie) ? 1 : 0);
      if (others === 0) continue;
      groups.add(group);
      shared.push([tie, others]);
    }
    const joined = [...groups];
    const fixed = isFixed || joined.some((group) => group.fixed > 0);
    const units = joined.reduce((sum, group) => sum + group.units.size, 0);
    const isCounted = known !== undefined && joined.includes(known.group);
    const place = fixed ? 0 : (this.#placeOfMost(joined) ?? known?.group.place ?? this.#least());
    return { place, shared, groupSize: Math.max(1, units + (isCounted ? 0 : 1)), isFixed: fixed };
  }

  /**
   * The move of one group that evens the loads best; undefined when none is worth it. Places with less than `least` are
   * left as they are. Units that may not move keep their group where it is.
   */
  betterMove(least: number, mayMove: (id: string) => boolean): Move | undefined {
    this.#tighten();
    const loads = this.loads();
    const from = loads.indexOf(Math.max(...loads));
    const to = loads.indexOf(Math.min(...loads));
    const [most, fewest] = [loads[from]!, loads[to]!];
    if (most < least || from === to) return undefined;
    let best: { group: Group; left: number } | undefined;
    for (const group of this.#groups) {
      if (group.place !== from || group.fixed > 0) continue;
      const load = this.#loadOf(group);
      const left = Math.max(most - load, fewest + load);
      if (left > most * (1 - leastGain) || left >= (best?.left ?? Number.POSITIVE_INFINITY)) continue;
      if (this.#mayMove(group, mayMove)) best = { group, left };
    }
    if (best === undefined) return this.#divide(from, to, least, mayMove);
    this.#setPlace(best.group, to);
    return { units: [...best.group.units].map(({ id }) => id), from, to };
  }

  #mayMove({ units }: Group, mayMove: (id: string) => boolean): boolean {
    return [...units].every((unit) => this.#soft.isFree(unit) || mayMove(unit.id));
  }

  /** Moves units that no tie holds any more, the largest first; divides a soft tie for that if there is much on it. */
  #divide(from: number, to: number, least: number, mayMove: (id: string) => boolean): Move | undefined {
    const loads = this.loads();
    const much = Math.max(least, loads[from]! * leastGain);
    if (this.#moveSome(from, to, mayMove) === undefined) {
      let most: { tie: string; load: number } | undefined;
      for (const [tie, units] of this.#soft.whole()) {
        const known = [...units].filter(({ group, load }) => group.place === from && load !== undefined);
        const load = known.reduce((sum, unit) => sum + unit.load!, 0);
        const movable = known.filter(({ given, load: own }) => given.isMovable && own! > 0);
        if (load >= Math.max(much, most?.load ?? 0) && movable.length > 1) most = { tie, load };
      }
      if (most === undefined) return undefined;
      this.#divideTie(most.tie, from);
    }
    const some = this.#moveSome(from, to, mayMove);
    if (some === undefined) return undefined;
    for (const group of some) this.#setPlace(group, to);
    return { units: some.flatMap(({ units }) => [...units].map(({ id }) => id)), from, to };
  }

  /** Groups that even the loads together; undefined when it is not worth it. */
  #moveSome(from: number, to: number, mayMove: (id: string) => boolean): Group[] | undefined {
    const loads = this.loads();
    const wanted = (loads[from]! - loads[to]!) / 2;
    const free = [...this.#groups].filter(
      (group) =>
        group.place === from &&
        group.fixed === 0 &&
        group.unknown === 0 &&
        group.known > 0 &&
        [...group.units].some((unit) => this.#soft.isFree(unit)) &&
        this.#mayMove(group, mayMove),
    );
    free.sort((a, b) => b.known - a.known || (firstOf(a) < firstOf(b) ? -1 : 1));
    const some: Group[] = [];
    let sum = 0;
    for (const group of free) {
      if (wanted - sum < (loads[from]! * leastGain) / 2) break;
      if (sum + group.known > wanted) continue;
      some.push(group);
      sum += group.known;
    }
    return sum >= loads[from]! * leastGain ? some : undefined;
  }

  /** From now on the tie holds its keeper alone, which stays where it is. */
  #divideTie(tie: string, place: number): void {
    const keeper = keeperOf(tie);
    // The keeper joins the group before others leave it, so it has their place.
    this.set(keeper, [tie]);
    const units = this.#soft.divide(tie);
    const along = units.flatMap(({ given }) => given.soft.flatMap((one) => (one.tie === tie ? one.with : [])));
    this.set(keeper, [tie, ...along]);
    this.setLoad(keeper, 0);
    for (const { id, given, isFixed } of units) this.set(id, given, isFixed);
    this.#tighten();
    const { group } = this.#units.get(keeper)!;
    if (group.place === undefined) this.#setPlace(group, place);
  }

  /** Place of what a divided soft tie stands for; undefined for other ties. */
  keeperPlace(tie: string): number | undefined {
    return this.#soft.isDivided(tie) ? this.#units.get(keeperOf(tie))?.group.place : undefined;
  }

  /** Divided soft ties of a unit. */
  dividedOf(id: string): string[] {
    return (this.#units.get(id)?.given.soft ?? []).flatMap(({ tie }) => (this.#soft.isDivided(tie) ? tie : []));
  }

  /** Takes back a move that did not come about. */
  putBack({ units, from }: Move): void {
    for (const id of units) {
      const group = this.#units.get(id)?.group;
      if (group !== undefined) this.#setPlace(group, from);
    }
  }

  /** Puts the unit into the group of its ties, which it joins; returns the units that have another place then. */
  #join(unit: Unit): string[] {
    const found = new Set<Group>([unit.group]);
    for (const tie of unit.ties) {
      const group = this.#byTie.get(tie);
      if (group !== undefined) found.add(group);
    }
    this.#add(unit.group, unit, 1);
    for (const tie of unit.ties) unit.group.ties.set(tie, 1);
    this.#groups.add(unit.group);
    const groups = [...found];
    // The unit alone follows the others.
    const place = groups.some(({ fixed }) => fixed > 0)
      ? 0
      : this.#placeOfMost(groups.length > 1 ? groups.slice(1) : groups);
    const moved: string[] = [];
    for (const group of groups) {
      if (group.place !== undefined && group.place !== place) for (const { id } of group.units) moved.push(id);
      this.#setPlace(group, undefined);
    }
    const largest = groups.reduce((most, group) => (group.units.size > most.units.size ? group : most));
    for (const group of groups) if (group !== largest) this.#merge(group, largest);
    for (const tie of unit.ties) this.#byTie.set(tie, largest);
    if (place !== undefined) this.#setPlace(largest, place);
    return moved;
  }

  /** The place in which the groups have the most load together; undefined when none has a place. */
  #placeOfMost(groups: readonly Group[]): number | undefined {
    const found = new Map<number, { load: number; units: number }>();
    for (const group of groups) {
      if (group.place === undefined) continue;
      const sum = found.get(group.place) ?? { load: 0, units: 0 };
      found.set(group.place, { load: sum.load + this.#loadOf(group), units: sum.units + group.units.size });
    }
    const most = [...found].sort(([a, one], [b, other]) => other.load - one.load || other.units - one.units || a - b);
    return most[0]?.[0];
  }

  #merge(from: Group, into: Group): void {
    for (const unit of from.units) {
      unit.group = into;
      this.#add(into, unit, 1);
    }
    for (const [tie, count] of from.ties) {
      into.ties.set(tie, (into.ties.get(tie) ?? 0) + count);
      this.#byTie.set(tie, into);
    }
    into.isLoose ||= from.isLoose;
    this.#groups.delete(from);
  }

  /** Divides groups that nothing holds together any more; their parts stay in their place. */
  #tighten(): void {
    for (const group of [...this.#groups]) {
      if (!group.isLoose) continue;
      const { place } = group;
      this.#setPlace(group, undefined);
      this.#groups.delete(group);
      for (const tie of group.ties.keys()) this.#byTie.delete(tie);
      for (const unit of group.units) {
        unit.group = newGroup(place);
        this.#join(unit);
      }
    }
  }

  #choose(group: Group): number {
    return group.fixed > 0 ? 0 : this.#least();
  }

  /** The place with the least load. */
  #least(): number {
    const loads = this.loads();
    let best = 0;
    for (let place = 1; place < this.places; place++) {
      const more = loads[place]! - loads[best]! || this.#sums[place]!.units - this.#sums[best]!.units;
      if (more < 0) best = place;
    }
    return best;
  }

  /** Puts a unit into a group, or takes it out (`sign`). */
  #add(group: Group, unit: Unit, sign: 1 | -1): void {
    if (sign > 0) group.units.add(unit);
    else group.units.delete(unit);
    if (unit.isFixed) group.fixed += sign;
    const sum = group.place === undefined ? undefined : this.#sums[group.place]!;
    if (sum !== undefined) sum.units += sign;
    for (const each of sum === undefined ? [group] : [group, sum]) {
      if (unit.load === undefined) each.unknown += sign;
      else each.known += sign * unit.load;
    }
    // Differences of fractions leave a rest.
    if (group.units.size === group.unknown) group.known = 0;
    if (sum !== undefined && sum.units === sum.unknown) sum.known = 0;
  }

  #setPlace<P extends number | undefined>(group: Group, place: P): P {
    this.#sumUp(group, -1);
    group.place = place;
    this.#sumUp(group, 1);
    return place;
  }

  #sumUp({ place, known, unknown, units }: Group, sign: 1 | -1): void {
    if (place === undefined) return;
    const sum = this.#sums[place]!;
    sum.known += sign * known;
    sum.unknown += sign * unknown;
    sum.units += sign * units.size;
    if (sum.units === sum.unknown) sum.known = 0;
  }

  #loadOf({ known, unknown }: Load): number {
    if (unknown === 0) return known;
    return known + unknown * (this.#measuredUnits === 0 ? 1 : this.#measured / this.#measuredUnits);
  }

  #count({ load }: Unit, sign: 1 | -1): void {
    if (load === undefined) return;
    this.#measuredUnits += sign;
    this.#measured = this.#measuredUnits === 0 ? 0 : this.#measured + sign * load;
  }
}

function newGroup(place: number | undefined): Group {
  return { units: new Set(), ties: new Map(), place, fixed: 0, known: 0, unknown: 0, isLoose: false };
}

function firstOf({ units }: Group): string {
  let first: string | undefined;
  for (const { id } of units) if (first === undefined || id < first) first = id;
  return first ?? '';
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((tie, i) => tie === other[i]);
}
