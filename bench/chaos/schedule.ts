/** When what goes wrong in a run: the same for the same seed. */
import { random } from '../workloads/workload.js';

export const faultKinds = ['engine', 'broker', 'sink', 'slow', 'full', 'crash'] as const;
export type FaultKind = (typeof faultKinds)[number];

/** A fault: its time, its kind and its duration. */
export interface Fault {
  /** Time after the first message, ms. */
  readonly atMs: number;
  readonly kind: FaultKind;
  /** `kill`: it ends at once; `end`: it gets time for that; `stop`: it stands still and goes on. */
  readonly how: 'kill' | 'end' | 'stop' | 'slow' | 'full';
  /** Duration of the fault, ms. */
  readonly holdMs: number;
  /** For a crash: whether the broker of the results comes first, where there are two. */
  readonly isOuter?: boolean;
}

export interface ScheduleOptions {
  readonly seed: number;
  readonly durationMs: number;
  readonly kills: number;
  readonly faults: readonly FaultKind[];
}

/** Kills of the engine for each fault of another kind. */
const killsForOne = 3;

/** All faults in order of time, each within the time of the messages. */
export function scheduleOf({ seed, durationMs, kills, faults }: ScheduleOptions): Fault[] {
  const next = random(seed ^ 0x5eed);
  const all: Fault[] = [];
  const add = (kind: FaultKind, count: number, form: () => Omit<Fault, 'atMs' | 'kind'>) => {
    // Even over the time, each anywhere in its part of it.
    for (let i = 0; i < count; i++) {
      const atMs = Math.round(durationMs * (0.02 + (0.96 * (i + next())) / count));
      all.push({ atMs, kind, ...form() });
    }
  };
  const between = (low: number, high: number) => Math.round(low + next() * (high - low));
  const others = Math.max(1, Math.ceil(kills / killsForOne));
  for (const kind of faultKinds) {
    if (!faults.includes(kind)) continue;
    if (kind === 'engine') {
      add(kind, kills, () => ({ how: 'kill', holdMs: between(0, 200) }));
      add(kind, Math.floor(kills / killsForOne), () => ({ how: 'stop', holdMs: between(50, 1000) }));
    } else if (kind === 'broker' || kind === 'sink') {
      add(kind, others, () => ({ how: next() < 0.5 ? 'end' : 'stop', holdMs: between(100, 1500) }));
    } else if (kind === 'crash') {
      add(kind, others, () => ({ how: 'kill', holdMs: between(50, 1500), isOuter: next() < 0.5 }));
    } else {
      add(kind, others, () => ({ how: kind, holdMs: between(300, 1500) }));
    }
  }
  return all.sort((a, b) => a.atMs - b.atMs);
}
