/**
 * CPU time of rules. The kernel has measured the time in each node, the data plane that of all work for a source; what
 * is left of the latter (framing, decoding, handing out) is divided among the rules that read the source. Work that
 * rules share is divided among those that used it at the time.
 */
import type { RuleRun } from './rule-run.js';
import type { SourceRun } from './source-run.js';

interface User {
  readonly run: number;
  /** What the node had measured when the rule came, µs. */
  readonly base: number;
}

/** Times of rules that ended are told so long, ms. */
const endedMs = 30_000;
/** With so many rules the end of each is worth a look at all; beyond, its part since the last look is an average. */
const fewRules = 100;

export class CpuTimes {
  /** µs of each node when it was looked at last, and how many rules had it. */
  #nodes = new Map<number, { us: number; sharers: number }>();
  /** µs of work for each source when it was looked at last. */
  #work = new WeakMap<SourceRun, number>();
  /** µs of each run. */
  #totals = new Map<number, number>();
  /** Runs that ended of late, oldest first. */
  readonly #ended = new Map<number, { us: number; at: number }>();

  /** Returns the time of each run since its start, µs; the rules come in the order of their starts. */
  take(rules: Iterable<RuleRun>): [run: number, us: number][] {
    const totals = this.#settle([...rules].filter(({ isEnding }) => !isEnding));
    this.#forget();
    return [...totals, ...[...this.#ended].map(([run, { us }]): [number, number] => [run, us])];
  }

  /** Adds what came since the last look. */
  #settle(running: readonly RuleRun[]): Map<number, number> {
    const own = this.#nodeTimes(running);
    const totals = new Map<number, number>();
    for (const { run } of running) totals.set(run, (this.#totals.get(run) ?? 0) + (own.get(run) ?? 0));
    for (const source of new Set(running.flatMap(({ sources }) => sources))) {
      let left = source.workUs - (this.#work.get(source) ?? 0);
      this.#work.set(source, source.workUs);
      for (const { run, sources } of source.users) left -= (own.get(run) ?? 0) / sources.length;
      const share = Math.max(0, left) / source.users.size;
      for (const { run } of source.users) totals.set(run, (totals.get(run) ?? 0) + share);
    }
    this.#totals = totals;
    return totals;
  }

  /** Keeps the time of a rule that ends; its nodes are still there. */
  end(rule: RuleRun, rules: ReadonlySet<RuleRun>): void {
    if (rules.size <= fewRules) this.#settle([...rules].filter((other) => other === rule || !other.isEnding));
    let own = 0;
    for (const { handle, base } of rule.nodes) {
      const us = rule.host.kernel.counters(handle).busyUs;
      const seen = this.#nodes.get(handle) ?? { us: base?.busyUs ?? 0, sharers: 1 };
      const share = Math.max(0, us - seen.us) / seen.sharers;
      own += share;
      if (seen.sharers > 1) this.#nodes.set(handle, { us: seen.us + share, sharers: seen.sharers - 1 });
      else this.#nodes.delete(handle);
    }
    let left = 0;
    for (const source of rule.sources) {
      const seen = this.#work.get(source) ?? 0;
      const share = (source.workUs - seen) / Math.max(1, source.users.size);
      this.#work.set(source, seen + share);
      left += share;
    }
    const us = (this.#totals.get(rule.run) ?? 0) + Math.max(own, left);
    this.#totals.delete(rule.run);
    this.#ended.set(rule.run, { us, at: Date.now() });
    this.#forget();
  }

  /** Time of the runs in their nodes since the last look. */
  #nodeTimes(running: readonly RuleRun[]): Map<number, number> {
    const users = new Map<number, User[]>();
    const busy = new Map<number, number>();
    for (const { run, nodes, host } of running) {
      for (const { handle, base } of nodes) {
        const user = { run, base: base?.busyUs ?? 0 };
        const others = users.get(handle);
        if (others !== undefined) others.push(user);
        else {
          users.set(handle, [user]);
          busy.set(handle, host.kernel.counters(handle).busyUs);
        }
      }
    }
    const own = new Map<number, number>();
    const seen = this.#nodes;
    this.#nodes = new Map();
    for (const [handle, us] of busy) {
      const sharers = users.get(handle) ?? [];
      const before = seen.get(handle)?.us ?? 0;
      // A place in memory that is used again counts from zero.
      divide(sharers, before <= us ? before : 0, us, (run, share) => own.set(run, (own.get(run) ?? 0) + share));
      this.#nodes.set(handle, { us, sharers: sharers.length });
    }
    return own;
  }

  #forget(): void {
    const limit = Date.now() - endedMs;
    for (const [run, { at }] of this.#ended) {
      if (at >= limit) return;
      this.#ended.delete(run);
    }
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
