/**
 * Rules on their way to another data plane, with their state. Those that go together all leave before the first begins
 * there: rows of one that writes to another would go to nobody.
 */
import { reasonOf } from '../../base/errors.js';
import type { MovingRun } from '../link/moving.js';
import type { Planes } from '../planes/planes.js';
import type { Supervisor } from '../planes/supervisor.js';
import type { RulePlans } from '../planning/rule-plans.js';
import type { ByPlane } from './moves-ahead.js';
import type { Entry } from './rule-entry.js';
import type { RuleLogs } from './rule-logs.js';

export interface MovesOptions {
  readonly plans: RulePlans;
  readonly planes: Planes;
  readonly logs: RuleLogs;
  /** The rule of a unit, as it is placed; undefined of others. */
  readonly entryOf: (unit: string) => Entry | undefined;
  readonly ofRun: (run: number) => Entry | undefined;
  /** The rule is about to begin: it begins where it belongs by itself. */
  readonly isWaiting: (entry: Entry) => boolean;
  /** All of a group have left: they begin again, and then `Planes.startsAll` is called. */
  readonly arrived: () => void;
}

const message = 'moves to another data plane';
/** Rules leave after that time, whether what they bring along is read or not, ms. */
const longestMs = 15_000;

/** Rules that go together. */
interface Group {
  /** How many of them have not left yet. */
  left: number;
  /** How many have not begun again, and who waits for that. */
  coming: number;
  readonly over: (() => void) | undefined;
}

function isAtWork({ state }: Entry): boolean {
  return state === 'running' || state === 'starting';
}

function byPlane(entries: readonly Entry[]): ByPlane {
  const planes = new Map<Supervisor, Entry[]>();
  for (const entry of entries) {
    if (entry.plane === undefined) continue;
    const before = planes.get(entry.plane);
    if (before === undefined) planes.set(entry.plane, [entry]);
    else before.push(entry);
  }
  return planes;
}

export class Moves {
  /** Rules that have not left yet, with their group. */
  readonly #leaving = new Map<Entry, Group>();
  /** Rules that run until what they bring along is read. */
  readonly #staying = new Set<Entry>();
  /** Rules that have left and not begun yet, of groups of which somebody waits for that. */
  readonly #arriving = new Map<Entry, Group>();

  constructor(private readonly options: MovesOptions) {}

  /**
   * Lets data planes read what rules bring along, while the rules still run elsewhere: code, and the rows of those that
   * hold many. Resolves when they have, or can't.
   * @param to the data plane where the units will be; without it the one that they have by now
   */
  async ready(units: readonly string[], to?: number): Promise<void> {
    await this.#ready(byPlane(this.#movable(units).filter(isAtWork)), to);
  }

  async #ready(moving: ByPlane, to?: number): Promise<void> {
    try {
      const { MovesAhead } = await import('./moves-ahead.js');
      await new MovesAhead({ ...this.options, runsOf: (entries) => this.#runs(entries) }, to).read(moving);
    } catch (error) {
      this.options.logs.log.warn(`nothing is read ahead: ${reasonOf(error)}`);
    }
  }

  #runs(entries: readonly Entry[]): MovingRun[] {
    const { plans } = this.options;
    return entries.map(({ run, definition }) => ({ run, saveTo: plans.stateFolderOf(definition) }));
  }

  /**
   * Lets rules that run leave their data planes, those of one at one instant: of units that have another place now, and
   * those that read a stream which has.
   * @param over called when each has begun again, or has ended instead
   * @param isReady the data planes where they go have read what they bring along
   */
  all(units: readonly string[], over?: () => void, isReady = false): void {
    const { planes, logs } = this.options;
    const moving = byPlane(this.#movable(units).filter(isAtWork));
    const entries = [...moving.values()].flat();
    const group: Group = { left: entries.length, coming: entries.length, over };
    for (const entry of entries) {
      Object.assign(entry, { state: 'stopping', message, move: 'leaves' } satisfies Partial<Entry>);
      logs.take(entry, { kind: 'log', level: 'info', message });
      this.#leaving.set(entry, group);
      if (over !== undefined) this.#arriving.set(entry, group);
    }
    if (group.left === 0) {
      over?.();
      return;
    }
    planes.startsAll(true);
    // A thread may die until they leave, and its rules have other runs then.
    const runs = [...moving].map(([plane, some]) => [plane, this.#runs(some)] as const);
    const leave = () => {
      for (const entry of entries) this.#staying.delete(entry);
      for (const [plane, some] of runs) plane.command({ kind: 'move', runs: some });
    };
    if (isReady) {
      leave();
      return;
    }
    for (const entry of entries) this.#staying.add(entry);
    // Shared streams of new rules wait meanwhile.
    const patience = new Promise<void>((resolve) => void setTimeout(resolve, longestMs).unref());
    void Promise.race([this.#ready(moving), patience]).then(leave);
  }

  /** Whether the rule still runs, until what it brings along is read where it goes. */
  isStaying(entry: Entry): boolean {
    return this.#staying.has(entry);
  }

  /** Runs of the rules that would leave. */
  runsOf(units: readonly string[]): number[] {
    return this.#movable(units).map(({ run }) => run);
  }

  #movable(units: readonly string[]): Entry[] {
    const { planes, entryOf, ofRun, isWaiting } = this.options;
    const readers = units.flatMap((unit) => planes.division?.readersOf(unit) ?? []);
    const rules = [...units.flatMap((unit) => entryOf(unit) ?? []), ...readers.flatMap((run) => ofRun(run) ?? [])];
    return [...new Set(rules)].filter((entry) => !isWaiting(entry));
  }

  /** Whether nothing is lost when the unit goes to another data plane: what it reads comes again or waits. */
  isWhole(unit: string): boolean {
    const entry = this.options.entryOf(unit);
    if (entry === undefined || entry.state === 'stopping' || entry.definition.common !== undefined) return false;
    if (entry.state !== 'running' && entry.state !== 'starting') return true;
    return entry.definition.options.qos > 0 && this.options.plans.comesAgain(entry.definition);
  }

  /** A rule has left, or has ended instead. */
  left(entry: Entry): void {
    const group = this.#leaving.get(entry);
    if (group === undefined) return;
    this.#leaving.delete(entry);
    if (--group.left === 0) this.options.arrived();
  }

  /** A rule has begun again, or never will. */
  begun(entry: Entry): void {
    const group = this.#arriving.get(entry);
    if (group === undefined) return;
    this.#arriving.delete(entry);
    if (--group.coming === 0) group.over?.();
  }
}
