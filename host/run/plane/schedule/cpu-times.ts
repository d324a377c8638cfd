/**
 * CPU time of rules. The kernel has measured the time in each node (a sample of it), the data plane that of all work
 * for a source (all of it); what is left of the latter (framing, decoding, handing out) is divided among the rules that
 * read the source. Work that rules share is divided among those that used it at the time. Together rules never have
 * more time than was spent.
 */
import { placeOf } from '../running/rule-groups.js';
import type { RunningBranch, RunningNode, RunningRule, RunningSource } from '../running/running.js';

/** Place where work begins: a source, or the merge of several sources, below which timers work for one rule. */
type Root = RunningSource | RunningBranch | RunningNode;

/** Work for a root, µs: feeding input, and timers. */
interface Work {
  readonly fed: number;
  readonly ticked: number;
}

interface User {
  readonly run: number;
  /** Time that the node had measured when the rule came, µs. */
  readonly base: number;
}

/** Time for which the times of ended rules are still reported, ms. */
const endedMs = 30_000;
/** Most rules with which the end of one measures all; beyond, the last part of its time is an average. */
const fewRules = 100;

export class CpuTimes {
  /** Time of each node at the last look, µs, and the number of rules that had it. */
  #nodes = new Map<number, { us: number; sharers: number }>();
  /** Work of each root at the last look. */
  #work = new WeakMap<Root, Work>();
  /** Time of all timers at the last look, µs. */
  #timerUs = 0;
  /** Time of each run so far, µs. */
  #totals = new Map<number, number>();
  /** Runs that ended lately, oldest first. */
  readonly #ended = new Map<number, { us: number; at: number }>();

  /**
   * Returns the time of each run since its start, µs; the rules come in the order of their starts. `timerUs` is what
   * all timers took so far.
   */
  take(rules: Iterable<RunningRule>, timerUs: number): [run: number, us: number][] {
    const totals = this.#settle(
      [...rules].filter(({ isEnding }) => !isEnding),
      timerUs,
    );
    this.#forget();
    return [...totals, ...[...this.#ended].map(([run, { us }]): [number, number] => [run, us])];
  }

  /** Adds the time since the last look to the runs. */
  #settle(running: readonly RunningRule[], timerUs: number): Map<number, number> {
    const own = this.#nodeTimes(running);
    const totals = new Map<number, number>();
    for (const { run } of running) totals.set(run, (this.#totals.get(run) ?? 0) + (own.get(run) ?? 0));
    for (const [users, workUs] of this.#workTimes(running, timerUs)) {
      const parts = [...users].map((rule) => ({ run: rule.run, us: (own.get(rule.run) ?? 0) / rootsOf(rule).length }));
      const inNodes = parts.reduce((sum, { us }) => sum + us, 0);
      const left = workUs - inNodes;
      for (const { run, us } of parts) {
        // Sampled times may come out too long.
        const share = left >= 0 ? left / parts.length : (left * us) / inNodes;
        totals.set(run, (totals.get(run) ?? 0) + share);
      }
    }
    this.#totals = totals;
    return totals;
  }

  /**
   * Time of all work for the users of each root since the last look, µs. Time of timers outside of nodes goes with the
   * timers in nodes.
   */
  #workTimes(running: readonly RunningRule[], timerUs: number): [users: ReadonlySet<RunningRule>, us: number][] {
    const owners = new Map(running.flatMap((rule) => rootsOf(rule).map((root) => [root, rule])));
    const news = [...owners].map(([root, rule]) => {
      const seen = this.#work.get(root) ?? { fed: 0, ticked: 0 };
      const { fed, ticked } = workOf(root, rule);
      this.#work.set(root, { fed, ticked });
      return { users: usersOf(root, rule), fed: fed - seen.fed, ticked: ticked - seen.ticked };
    });
    const ticked = news.reduce((sum, one) => sum + one.ticked, 0);
    const factor = ticked > 0 ? Math.max(1, (timerUs - this.#timerUs) / ticked) : 0;
    this.#timerUs = timerUs;
    return news.map((one) => [one.users, one.fed + one.ticked * factor]);
  }

  /** Keeps the time of a rule that ends; its nodes are still there. */
  end(rule: RunningRule, rules: ReadonlySet<RunningRule>, timerUs: number): void {
    if (rules.size <= fewRules) {
      const running = [...rules].filter((other) => other === rule || !other.isEnding);
      this.#settle(running, timerUs);
    }
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
    for (const root of rootsOf(rule)) {
      const seen = this.#work.get(root) ?? { fed: 0, ticked: 0 };
      const now = workOf(root, rule);
      const parts = Math.max(1, usersOf(root, rule).size);
      const fed = (now.fed - seen.fed) / parts;
      const ticked = (now.ticked - seen.ticked) / parts;
      this.#work.set(root, { fed: seen.fed + fed, ticked: seen.ticked + ticked });
      left += fed + ticked;
    }
    const us = (this.#totals.get(rule.run) ?? 0) + Math.max(own, left);
    this.#totals.delete(rule.run);
    this.#ended.set(rule.run, { us, at: Date.now() });
    this.#forget();
  }

  /** Time of the runs in their nodes since the last look, µs. */
  #nodeTimes(running: readonly RunningRule[]): Map<number, number> {
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
      // A node handle that is used again counts from zero.
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

/** A stream that is joined with itself may be one source. */
function rootsOf(rule: RunningRule): Root[] {
  const { sources, nodes } = rule;
  return [...new Set(sources.map((source) => placeOf(rule, source))), ...nodes.filter(({ kind }) => kind === 'merge')];
}

function workOf(root: Root, { host }: RunningRule): Work {
  if ('handle' in root) return { fed: 0, ticked: host.kernel.counters(root.handle).tickUs };
  return { fed: root.workUs, ticked: root.counters.tickUs };
}

function usersOf(root: Root, rule: RunningRule): ReadonlySet<RunningRule> {
  if ('handle' in root) return new Set([rule]);
  return 'readers' in root ? root.readers : root.users;
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
