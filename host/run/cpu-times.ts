/**
 * CPU time of rules, from the time the kernel has measured in each node and stream: what several rules share is divided
 * among those that used it at the time.
 */
import type { RuleRun } from './rule-run.js';

interface User {
  readonly run: number;
  /** What the node or stream had measured when the rule came, µs. */
  readonly base: number;
}

interface Measured {
  readonly us: number;
  /** In the order in which they came. */
  readonly users: User[];
}

export class CpuTimes {
  /** µs of each node and stream when it was looked at last. */
  #seen = new Map<number, number>();
  /** µs of each run. */
  #totals = new Map<number, number>();

  /** Returns the time of each run since its start, µs; the rules come in the order of their starts. */
  take(rules: Iterable<RuleRun>): [run: number, us: number][] {
    const measured = new Map<number, Measured>();
    const totals = new Map<number, number>();
    const use = (handle: number, run: number, base: number, read: () => number) => {
      const known = measured.get(handle);
      if (known === undefined) measured.set(handle, { us: read(), users: [{ run, base }] });
      else known.users.push({ run, base });
    };
    for (const rule of rules) {
      if (rule.isEnding) continue;
      const { run, sources, sourceBases, nodes } = rule;
      totals.set(run, this.#totals.get(run) ?? 0);
      for (const { handle, base } of nodes) {
        use(handle, run, base?.busyUs ?? 0, () => rule.host.kernel.counters(handle).busyUs);
      }
      sources.forEach((source, i) => {
        use(source.stream, run, sourceBases[i]?.busyUs ?? 0, () => source.counters.busyUs);
      });
    }
    for (const [handle, { us, users }] of measured) {
      const seen = this.#seen.get(handle) ?? 0;
      // A place in memory that is used again counts from zero.
      divide(users, seen <= us ? seen : 0, us, (run, share) => totals.set(run, (totals.get(run) ?? 0) + share));
    }
    this.#seen = new Map([...measured].map(([handle, { us }]) => [handle, us]));
    this.#totals = totals;
    return [...totals];
  }
}

/** Divides the time from `from` to `to` among the users, each of which has a part of what came after it joined. */
function divide(users: readonly User[], from: number, to: number, give: (run: number, us: number) => void): void {
  let share = 0;
  let end = to;
  for (let i = users.length - 1; i >= 0; i--) {
    const { run, base } = users[i] as User;
    const begin = i === 0 ? from : Math.min(end, Math.max(from, base));
    share += (end - begin) / (i + 1);
    end = begin;
    give(run, share);
  }
}
