/** Figures of all rules: what the data planes answer, told by the rules that it is about. */
import type { PlaneFigures, RuleCpuTime, RuleNumbers, RuleStatus } from '../../model/engine.js';
import { numbersIn, type PlaneMemory, type RuleLatencies, type RuleTraffic } from '../../model/figures.js';
import type { PortableUse } from '../../plugins/portable/code.js';
import type { ServiceFigures } from '../../plugins/service-figures.js';
import type { Loads } from '../planes/loads.js';
import type { Planes } from '../planes/planes.js';
import type { Supervisor } from '../planes/supervisor.js';
import { type Entry, unitOf } from './rule-entry.js';
import type { RuleLives } from './rule-lives.js';

export class RuleFigures {
  readonly #planes: Planes;
  readonly #lives: RuleLives;
  readonly #entries: ReadonlyMap<string, Entry>;
  #loads: Promise<Loads> | undefined;

  constructor(planes: Planes, lives: RuleLives, entries: ReadonlyMap<string, Entry>) {
    this.#planes = planes;
    this.#lives = lives;
    this.#entries = entries;
    if (planes.division !== undefined) void this.#watch();
  }

  /** Loaded at the first question where nothing depends on loads. */
  #watch(): Promise<Loads> {
    this.#loads ??= import('../planes/loads.js').then(
      ({ Loads }) =>
        new Loads({
          planes: this.#planes,
          unitOf: (run) => {
            const entry = this.#lives.ofRun(run);
            return entry && unitOf(entry.definition.id);
          },
          mayMove: (unit) => this.#lives.moves.isWhole(unit),
          runsOf: (units) => this.#lives.moves.runsOf(units),
          ready: (units, to) => this.#lives.moves.ready(units, to),
          move: (units, over, isReady) => this.#lives.moves.all(units, over, isReady),
        }),
    );
    return this.#loads;
  }

  close(): void {
    void this.#loads?.then((loads) => loads.close());
  }

  async cpuTimes(): Promise<RuleCpuTime[]> {
    // Rules that ended lately are known by their last run only.
    const byRun = new Map([...this.#entries.values()].map((entry) => [entry.run, entry]));
    return joined(await this.#planes.ask('cpuTimes')).flatMap(([run, cpuUs]) => {
      const entry = byRun.get(run);
      return entry === undefined ? [] : [{ id: entry.definition.id, startedAt: entry.startedAt, cpuUs }];
    });
  }

  async traffic(): Promise<{ id: string; startedAt: number; traffic: RuleTraffic }[]> {
    return joined(await this.#planes.ask('traffic')).flatMap(([run, traffic]) => {
      const entry = this.#lives.ofRun(run);
      return entry === undefined ? [] : [{ id: entry.definition.id, startedAt: entry.startedAt, traffic }];
    });
  }

  /** Of rules that run as they are now, of others as they were at their end. */
  async ofRules(ids: readonly string[]): Promise<RuleNumbers[]> {
    const entries = ids.flatMap((id) => this.#entries.get(id) ?? []);
    const asked = new Map<Supervisor, number[]>();
    for (const { plane, run, state } of entries) {
      if (plane === undefined || (state !== 'running' && state !== 'starting')) continue;
      const runs = asked.get(plane);
      if (runs === undefined) asked.set(plane, [run]);
      else runs.push(run);
    }
    const live = new Map<number, Pick<RuleNumbers, 'names' | 'values'>>();
    await Promise.all(
      [...asked].map(async ([plane, all]) => {
        const { names, runs } = await plane.ask('figures', all);
        for (const [run, of, values] of runs) live.set(run, { names: names[of] ?? [], values });
      }),
    );
    return entries.map(({ definition, state, run, metrics }) => ({
      id: definition.id,
      state,
      ...(live.get(run) ?? numbersIn(metrics)),
    }));
  }

  async memory(): Promise<{ id: string; bytes: number }[]> {
    return joined(await this.#planes.ask('memory')).flatMap(([run, bytes]) => {
      const id = this.#lives.ofRun(run)?.definition.id;
      return id === undefined ? [] : [{ id, bytes }];
    });
  }

  async threadMemory(): Promise<PlaneMemory[]> {
    const answers = await this.#planes.ask('threadMemory');
    return answers.flatMap(([{ number }, memory]) => (memory === undefined ? [] : { plane: number, ...memory }));
  }

  async userCodeBytes(owner: string): Promise<number> {
    const planes = await this.threadMemory();
    const all = planes.flatMap(({ userCode }) => userCode.owners);
    return all.reduce((sum, [name, bytes]) => (name === owner ? sum + bytes : sum), 0);
  }

  async latencies(): Promise<({ id: string } & RuleLatencies)[]> {
    return joined(await this.#planes.ask('latencies')).flatMap((latencies) => {
      const id = this.#lives.ofRun(latencies.run)?.definition.id;
      return id === undefined ? [] : [{ id, ...latencies }];
    });
  }

  async planes(): Promise<PlaneFigures[]> {
    const loads = await (await this.#watch()).look();
    const counts = new Array<number>(loads.length).fill(0);
    for (const { plane, state } of this.#entries.values()) {
      if (plane !== undefined && !state.startsWith('stopped')) counts[plane.number]! += 1;
    }
    const live = new Set(this.#planes.all.filter(({ threadId }) => threadId !== undefined).map(({ number }) => number));
    const sent = new Map((await this.#planes.ask('exchanges')).map(([{ number }, exchanges]) => [number, exchanges]));
    return loads.map((load, plane) => ({
      plane,
      isRunning: live.has(plane),
      rules: counts[plane]!,
      load,
      exchanges: sent.get(plane) ?? [],
    }));
  }

  /** Data plane of a rule, as its status shows it. */
  placeOf(id: string): Partial<RuleStatus> {
    const placement = this.#planes.division?.shown(unitOf(id));
    return placement === undefined
      ? {}
      : { dataPlane: placement.plane, dataPlaneBecause: placement.because.join('; ') };
  }

  async portableStates(): Promise<PortableUse[]> {
    return joined(await this.#planes.ask('portableStates'));
  }

  async serviceFigures(): Promise<ServiceFigures[]> {
    const { joinedFigures } = await import('../../plugins/service-figures.js');
    return joinedFigures(joined(await this.#planes.ask('serviceFigures')));
  }
}

/** The lists that data planes answered with, as one. */
function joined<T>(answers: readonly (readonly [plane: unknown, list: readonly T[]])[]): T[] {
  return answers.flatMap(([, list]) => list);
}
