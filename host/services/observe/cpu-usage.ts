/** CPU time of the rules in the last half minute. */
import type { Engine, RuleCpuTime } from '../../model/engine.js';
import { isTestRun } from '../rules/test-names.js';

/** Time that the figures cover. */
const windowMs = 30_000;
/** Samples are kept no closer than this. */
const sampleGapMs = 1000;

interface Sample {
  readonly at: number;
  readonly times: ReadonlyMap<string, RuleCpuTime>;
}

export class CpuUsageService {
  readonly #engine: Pick<Engine, 'cpuTimes'>;
  /** Samples of the window, oldest first; the first may be older than the window. */
  #samples: Sample[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(engine: Pick<Engine, 'cpuTimes'>) {
    this.#engine = engine;
  }

  /** Begins periodic samples, so that the first question has an exact answer. */
  start(intervalMs: number): void {
    this.#timer = setInterval(() => void this.#sample(), Math.max(sampleGapMs, intervalMs)).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Rule ids with the ms of the last 30 s. Without samples of the time before, a rule's average counts. */
  async usage(): Promise<Record<string, number>> {
    const now = await this.#sample();
    const before = this.#samples[0] ?? now;
    const rules = [...now.times].filter(([id]) => !isTestRun(id));
    const entries = rules.map(([id, time]): [string, number] => {
      const old = before.times.get(id);
      const isSameRun = old !== undefined && old.startedAt === time.startedAt;
      return [id, Math.round(recentUs(time, isSameRun ? old : undefined, now.at, before.at) / 1000)];
    });
    return Object.fromEntries(entries);
  }

  async #sample(): Promise<Sample> {
    const times = await this.#engine.cpuTimes();
    const sample = { at: Date.now(), times: new Map(times.map((time) => [time.id, time])) };
    const last = this.#samples.at(-1);
    if (last === undefined || sample.at - last.at >= sampleGapMs) this.#samples.push(sample);
    const oldest = this.#samples.findLastIndex(({ at }) => sample.at - at >= windowMs);
    if (oldest > 0) this.#samples.splice(0, oldest);
    return sample;
  }
}

function recentUs(time: RuleCpuTime, old: RuleCpuTime | undefined, now: number, before: number): number {
  const age = now - time.startedAt;
  // A rule younger than the window has used all of its time within the window.
  if (age <= windowMs) return time.cpuUs;
  const measuredMs = now - before;
  if (old === undefined || measuredMs <= 0) return (time.cpuUs * windowMs) / age;
  const used = time.cpuUs - old.cpuUs;
  // The samples cover more or less than the window: the part of it, or the average for what is missing.
  if (measuredMs >= windowMs) return (used * windowMs) / measuredMs;
  return used + (old.cpuUs * (windowMs - measuredMs)) / Math.max(1, age - measuredMs);
}
