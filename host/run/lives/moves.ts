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
  /** All of a group have left: they begin again, and then `Planes.startsAll` is called. */
  readonly arrived: () => void;
}

const message = 'moves to another data plane';

export class Moves {
  /** Rules that have not left yet, with how many of their group have not. */
  readonly #leaving = new Map<Entry, { count: number }>();

  constructor(private readonly options: MovesOptions) {}

  /** Lets the rules that run leave their data planes, those of one at one instant. */
  begin(rules: readonly Entry[]): void {
    const { plans, planes, logs } = this.options;
    const runs = new Map<Supervisor, MovingRun[]>();
    const group = { count: 0 };
    for (const entry of rules) {
      const { plane, run, state, definition } = entry;
      if (plane === undefined || (state !== 'running' && state !== 'starting')) continue;
      Object.assign(entry, { state: 'stopping', message, move: 'leaves' } satisfies Partial<Entry>);
      logs.take(entry, { kind: 'log', level: 'info', message });
      this.#leaving.set(entry, group);
      group.count++;
      runs.set(plane, [...(runs.get(plane) ?? []), { run, saveTo: plans.stateFolderOf(definition) }]);
    }
    if (group.count === 0) return;
    planes.startsAll(true);
    for (const [plane, some] of runs) plane.command({ kind: 'move', runs: some });
  }

  /** A rule has left, or has ended instead. */
  left(entry: Entry): void {
    const group = this.#leaving.get(entry);
    if (group === undefined) return;
    this.#leaving.delete(entry);
    if (--group.count === 0) this.options.arrived();
  }
}
