/** What rules bring along to another data plane, read there while they still run; loaded with the first that moves. */
import { reasonOf } from '../../base/errors.js';
import type { AheadOfRules, MovingRun } from '../link/moving.js';
import type { Planes } from '../planes/planes.js';
import type { Supervisor } from '../planes/supervisor.js';
import type { RulePlans } from '../planning/rule-plans.js';
import { type Entry, unitOf } from './rule-entry.js';
import type { RuleLogs } from './rule-logs.js';

/** Rules by the data planes that they are in. */
export type ByPlane = ReadonlyMap<Supervisor, readonly Entry[]>;

export interface AheadOptions {
  readonly plans: RulePlans;
  readonly planes: Planes;
  readonly logs: RuleLogs;
  readonly ofRun: (run: number) => Entry | undefined;
  /** Runs of rules, as their data plane is told of them. */
  readonly runsOf: (entries: readonly Entry[]) => MovingRun[];
}

export class MovesAhead {
  /** @param to the data plane where they will be; without it the one that they are placed in by now */
  constructor(
    private readonly options: AheadOptions,
    private readonly to: number | undefined,
  ) {}

  /** Resolves when all is read, or can't be. */
  async read(moving: ByPlane): Promise<void> {
    const all = [...moving].map(async ([from, entries]) => {
      const left = entries.filter((entry) => this.#targetOf(entry) !== from.number);
      if (left.length > 0) await this.#readOf(from, left);
    });
    for (const end of await Promise.allSettled(all)) {
      if (end.status === 'rejected') this.options.logs.log.warn(`nothing is read ahead: ${reasonOf(end.reason)}`);
    }
  }

  async #readOf(from: Supervisor, entries: readonly Entry[]): Promise<void> {
    const { planes, ofRun, runsOf } = this.options;
    const there = await from.ask('readyToMove', runsOf(entries));
    const places = [...new Set(entries.map((entry) => this.#targetOf(entry)))];
    await Promise.all(
      places.map((place) => {
        const isThere = (entry: Entry | undefined) => entry !== undefined && this.#targetOf(entry) === place;
        const rows = there.filter(({ run }) => isThere(ofRun(run)));
        return planes.at(place).ask('readAhead', { ...this.#typesOf(entries.filter(isThere)), rows });
      }),
    );
  }

  #targetOf({ definition }: Entry): number {
    return this.to ?? this.options.planes.division?.shown(unitOf(definition.id))?.plane ?? 0;
  }

  /** Types of the sources and sinks of rules; those of streams that are handed over are not read there. */
  #typesOf(entries: readonly Entry[]): Pick<AheadOfRules, 'sources' | 'sinks'> {
    const { plans, planes } = this.options;
    const sources = new Set<string>();
    const sinks = new Set<string>();
    const known = new Set<string>();
    for (const entry of entries) {
      const { definition } = entry;
      for (const { type } of definition.actions) sinks.add(type);
      // Thousands of rules read the same streams.
      const streams = entry.sources.join('\n');
      if (known.has(streams)) continue;
      known.add(streams);
      const handed = planes.division?.handedOf(unitOf(definition.id)) ?? [];
      for (const { name, type } of plans.placedPartsOf(definition)?.sources ?? [])
        if (!handed.includes(name)) sources.add(type);
    }
    return { sources: [...sources], sinks: [...sinks] };
  }
}
