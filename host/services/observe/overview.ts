/** The server at a glance: rules by state, their traffic, what is in trouble, which rules take the most time. */
import { arch, platform, totalmem } from 'node:os';
import type { Engine, RuleState } from '../../model/engine.js';
import { isTestRun } from '../rules/test-names.js';

/** Watchers at nearly the same time share one answer of this age, ms. */
const freshMs = 900;
/** A look is shared for so many times as long as it took: watching thousands of rules takes 2 % of a processor. */
const sharedTimes = 50;
/** Longest that a look is shared, ms: a node or connection that is silent makes it long without any work. */
const longestSharedMs = 30_000;
/** Most rules in a list. */
const most = 20;

export interface OverviewParts {
  readonly engine: Pick<Engine, 'summaries' | 'traffic' | 'memory'>;
  readonly version: string;
  readonly cpuUsage: () => Promise<Record<string, number>>;
  readonly connections: () => Promise<readonly { readonly status: string }[]>;
  /** What is wrong with stored rules that the engine does not have. */
  readonly refused: () => ReadonlyMap<string, string>;
  readonly losses: () => number;
}

export interface Overview {
  readonly version: string;
  readonly os: string;
  readonly arch: string;
  readonly upTimeSeconds: number;
  /** Epoch milliseconds of the figures. */
  readonly time: number;
  /** Processor time of the process since its start, ms. */
  readonly cpuMs: number;
  readonly memoryUsed: number;
  readonly memoryTotal: number;
  /** Rules by state. */
  readonly rules: Readonly<Record<string, number>>;
  /** Messages of all rules since the first look, also of those that have ended. */
  readonly messagesIn: number;
  readonly messagesOut: number;
  readonly messagesFailed: number;
  readonly troubled: number;
  readonly trouble: readonly { readonly id: string; readonly status: RuleState; readonly trouble: readonly string[] }[];
  readonly busiest: readonly { readonly id: string; readonly cpuMs: number; readonly memory: number }[];
  readonly connections: Readonly<Record<string, number>>;
  readonly losses: number;
}

export class OverviewService {
  #latest: { until: number; overview: Promise<Overview> } | undefined;
  /** Traffic of each run that was there at the last look; undefined before the first. */
  #seen: ReadonlyMap<string, readonly number[]> | undefined;
  readonly #totals = [0, 0, 0];

  /** @param clock milliseconds that never go back */
  constructor(
    private readonly parts: OverviewParts,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  look(): Promise<Overview> {
    const now = this.clock();
    if (this.#latest !== undefined && now < this.#latest.until) return this.#latest.overview;
    const latest = { until: Number.POSITIVE_INFINITY, overview: this.#make() };
    const share = (ms: number) => {
      latest.until = this.clock() + Math.max(freshMs, Math.min(longestSharedMs, ms));
    };
    latest.overview.then(
      () => share(sharedTimes * (this.clock() - now)),
      () => share(freshMs),
    );
    this.#latest = latest;
    return latest.overview;
  }

  async #make(): Promise<Overview> {
    const { engine, version, cpuUsage, connections, refused, losses } = this.parts;
    const [summaries, usage, memory, links] = await Promise.all([
      engine.summaries(),
      cpuUsage(),
      engine.memory?.() ?? [],
      connections(),
      this.#count(),
    ]);
    const rules = summaries.filter(({ id }) => !isTestRun(id));
    const inTrouble = [
      ...[...refused()].map(([id, reason]) => ({ id, status: 'stopped by error' as const, trouble: [reason] })),
      ...rules
        .filter(({ troubles }) => troubles.length > 0)
        .map(({ id, status, troubles }) => ({ id, status, trouble: troubles })),
    ].sort((one, other) => Number(other.status === 'stopped by error') - Number(one.status === 'stopped by error'));
    const bytes = new Map(memory.map((one) => [one.id, one.bytes]));
    const busiest = Object.entries(usage)
      .sort(([, one], [, other]) => other - one)
      .slice(0, most)
      .map(([id, cpuMs]) => ({ id, cpuMs, memory: bytes.get(id) ?? 0 }));
    const [messagesIn = 0, messagesOut = 0, messagesFailed = 0] = this.#totals;
    const { user, system } = process.cpuUsage();
    return {
      version,
      os: platform(),
      arch: arch(),
      upTimeSeconds: Math.floor(process.uptime()),
      time: Date.now(),
      cpuMs: Math.round((user + system) / 1000),
      memoryUsed: process.memoryUsage.rss(),
      memoryTotal: totalmem(),
      rules: countsOf(rules.map(({ status }) => status)),
      messagesIn,
      messagesOut,
      messagesFailed,
      troubled: inTrouble.length,
      trouble: inTrouble.slice(0, most),
      busiest,
      connections: countsOf(links.map(({ status }) => status)),
      losses: losses(),
    };
  }

  /** Adds what the rules have taken and sent since the last look: totals never fall, also when rules end. */
  async #count(): Promise<void> {
    const found = (await this.parts.engine.traffic?.()) ?? [];
    const seen = new Map<string, readonly number[]>();
    for (const { id, startedAt, traffic } of found) {
      if (isTestRun(id)) continue;
      const run = `${id} ${startedAt}`;
      // What was before the first look is not counted.
      const before = this.#seen === undefined ? traffic : (this.#seen.get(run) ?? [0, 0, 0]);
      for (const [i, count] of traffic.entries()) this.#totals[i]! += Math.max(0, count - before[i]!);
      seen.set(run, traffic);
    }
    this.#seen = seen;
  }
}

function countsOf(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
