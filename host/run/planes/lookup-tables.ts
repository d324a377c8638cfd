/**
 * Keeps the lookup tables at work whose rows come by a source: from their creation to their end, whether or not a rule
 * reads them. To the data plane each is a run without sinks; rules on the table have the same node in the kernel.
 */
import type { RulePlan } from '../../../kernels/plan/ir.js';
import { reasonOf } from '../../base/errors.js';
import type { Logger } from '../../base/log/log.js';
import { type Clock, systemClock, type Timer } from '../../base/time/clock.js';
import { isKeptTable } from '../../connectors/index.js';
import type { Catalog } from '../../model/engine.js';
import type { StreamDefinition } from '../../sql/source-def.js';
import type { AtWork } from '../link/heartbeat.js';
import type { RunNotice } from '../link/protocol.js';
import { sourceSpec } from '../props/resolve.js';
import type { Planes } from './planes.js';
import type { Supervisor } from './supervisor.js';

export interface LookupTablesOptions {
  readonly catalog: Catalog;
  readonly planes: Planes;
  readonly plan: (definition: StreamDefinition) => RulePlan;
  /** A number that no run has had. */
  readonly nextRun: () => number;
  /** Takes rules to the data plane where they belong now. */
  readonly moved: (units: readonly string[]) => void;
  readonly log: Logger;
}

/** Pauses before a table that failed is started again, ms. */
const firstPauseMs = 1000;
const longestPauseMs = 60_000;
/** Nobody waits longer for a table to begin, ms. */
const longestWaitMs = 2000;
/** A table that ran so long has recovered. */
const steadyMs = 60_000;

interface Entry {
  readonly name: string;
  /** Definition with which the table was started. */
  readonly definition: StreamDefinition;
  run: number;
  plane: Supervisor | undefined;
  startedAt: number;
  pauseMs: number;
  timer: Timer | undefined;
  /** Who wait until it takes rows. */
  waiting: (() => void)[];
}

export class LookupTables {
  readonly #entries = new Map<string, Entry>();
  readonly #byRun = new Map<number, Entry>();
  readonly #clock: Clock = systemClock;

  constructor(private readonly options: LookupTablesOptions) {}

  /**
   * Brings the table in line with its definition: it begins, goes on as it is, begins anew or ends. Resolves when it
   * takes rows, or when that takes too long to be waited for.
   */
  async follow(name: string): Promise<void> {
    const definition = this.#definitionOf(name);
    const entry = this.#entries.get(name);
    if (entry !== undefined && definition === entry.definition) return;
    if (entry !== undefined) this.#end(entry);
    if (definition === undefined) return;
    const made: Entry = {
      name,
      definition,
      run: 0,
      plane: undefined,
      startedAt: 0,
      pauseMs: firstPauseMs,
      timer: undefined,
      waiting: [],
    };
    this.#entries.set(name, made);
    await new Promise<void>((resolve) => {
      const timer = this.#clock.after(longestWaitMs, resolve);
      made.waiting.push(() => {
        timer.close();
        resolve();
      });
      this.#start(made);
    });
  }

  /** Takes news of a run; false when it is none of a table. */
  noticed(notice: RunNotice): boolean {
    const entry = this.#byRun.get(notice.run);
    if (entry === undefined) return false;
    if (notice.kind === 'opened') release(entry);
    if (notice.kind === 'failed') this.#failed(entry, notice.reason);
    if (notice.kind === 'stopped') this.#byRun.delete(notice.run);
    return true;
  }

  /** The thread died with all its runs. A table at whose work it died alone waits before it is tried again. */
  lost(plane: Supervisor, reason: string, atWork: AtWork | undefined): void {
    for (const entry of this.#entries.values()) {
      if (entry.plane !== plane) continue;
      if (entry.run === atWork?.run) this.#failed(entry, reason);
      else this.#start(entry);
    }
  }

  close(): void {
    for (const entry of this.#entries.values()) entry.timer?.close();
    this.#entries.clear();
  }

  #definitionOf(name: string): StreamDefinition | undefined {
    try {
      const definition = this.options.catalog.source(name);
      const { tableKind, type } = definition?.options ?? { tableKind: null, type: '' };
      return tableKind === 'lookup' && isKeptTable(type) ? definition : undefined;
    } catch {
      // A record that can't be read: whoever asks for the table is told.
      return undefined;
    }
  }

  #start(entry: Entry): void {
    const { catalog, planes, plan: rowsOf, nextRun, moved: takeAlong } = this.options;
    entry.timer?.close();
    entry.timer = undefined;
    entry.startedAt = Date.now();
    try {
      const sources = [sourceSpec(entry.definition, catalog)];
      this.#byRun.delete(entry.run);
      entry.run = nextRun();
      this.#byRun.set(entry.run, entry);
      const { plane, moved } = planes.placeTable(unitOf(entry), { sources, sinks: [] });
      entry.plane = plane;
      plane.command({
        kind: 'start',
        rule: {
          id: `table ${entry.name}`,
          run: entry.run,
          plan: rowsOf(entry.definition),
          sources,
          sinks: [],
          sendError: false,
          sinkLimitBytes: 0,
          zone: 'UTC',
          isTable: true,
        },
      });
      takeAlong(moved);
    } catch (error) {
      this.#failed(entry, reasonOf(error));
    }
  }

  #failed(entry: Entry, reason: string): void {
    this.#byRun.delete(entry.run);
    entry.run = 0;
    release(entry);
    if (this.#entries.get(entry.name) !== entry) return;
    if (Date.now() - entry.startedAt > steadyMs) entry.pauseMs = firstPauseMs;
    this.options.log.warn(`table ${entry.name}: ${reason}; it is tried again in ${entry.pauseMs / 1000} s`);
    entry.timer = this.#clock.after(entry.pauseMs, () => this.#start(entry));
    entry.pauseMs = Math.min(longestPauseMs, entry.pauseMs * 2);
  }

  #end(entry: Entry): void {
    this.#entries.delete(entry.name);
    this.options.planes.division?.forget(unitOf(entry));
    entry.timer?.close();
    release(entry);
    if (entry.run !== 0) entry.plane?.command({ kind: 'stop', run: entry.run });
  }
}

/** Name of the table among all that is placed in data planes. */
function unitOf({ name }: Entry): string {
  return `table ${name}`;
}

function release(entry: Entry): void {
  for (const resolve of entry.waiting.splice(0)) resolve();
}
