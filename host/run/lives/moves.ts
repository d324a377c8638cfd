/**
 * Rules on their way to another data plane, with their state. Those that go together all leave before the first begins
 * there: rows of one that writes to another would go to nobody.
 */
import type { MovingRun } from '../link/protocol.js';
import type { Planes } from '../planes/planes.js';
import type { Supervisor } from '../planes/supervisor.js';
import type { RulePlans } from '../planning/rule-plans.js';
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

/** Rules that go together. */
interface Group {
  /** How many of them have not left yet. */
  left: number;
  /** How many have not begun again, and who waits for that. */
  coming: number;
  readonly over: (() => void) | undefined;
}

export class Moves {
  /** Rules that have not left yet, with their group. */
  readonly #leaving = new Map<Entry, Group>();
  /** Rules that have left and not begun yet, of groups of which somebody waits for that. */
  readonly #arriving = new Map<Entry, Group>();

  constructor(private readonly options: MovesOptions) {}

  /**
   * Lets rules that run leave their data planes, those of one at one instant: of units that have another place now, and
   * those that read a stream which has.
   * @param over called when each has begun again, or has ended instead
   */
  all(units: readonly string[], over?: () => void): void {
    const { plans, planes, logs } = this.options;
    const runs = new Map<Supervisor, MovingRun[]>();
    const group: Group = { left: 0, coming: 0, over };
    for (const entry of this.#movable(units)) {
      const { plane, run, state, definition } = entry;
      if (plane === undefined || (state !== 'running' && state !== 'starting')) continue;
      Object.assign(entry, { state: 'stopping', message, move: 'leaves' } satisfies Partial<Entry>);
      logs.take(entry, { kind: 'log', level: 'info', message });
      this.#leaving.set(entry, group);
      if (over !== undefined) this.#arriving.set(entry, group);
      group.left++;
      group.coming++;
      runs.set(plane, [...(runs.get(plane) ?? []), { run, saveTo: plans.stateFolderOf(definition) }]);
    }
    if (group.left === 0) {
      over?.();
      return;
    }
    planes.startsAll(true);
    for (const [plane, some] of runs) plane.command({ kind: 'move', runs: some });
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
