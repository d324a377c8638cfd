/**
 * Finds rules that take too much time of the data plane while there is not enough. Rules that share operators in the
 * kernel are one group. Once a second the watch looks whether the thread had any rest. When it had none, each group is
 * judged by the work of its sources, divided by the times that the kernel measured in the nodes. A group is throttled
 * when it took more than its share in two looks in a row, since few batches are measured and any may have been
 * interrupted.
 */
import { performance } from 'node:perf_hooks';
import type { NodeHandle } from '../../../../kernels/api.js';
import { placeOf, type RuleGroup, ruleGroupsOf } from '../running/rule-groups.js';
import type { RunningBranch, RunningRule, RunningSource } from '../running/running.js';

/** Time between two looks, ms. */
const lookMs = 1000;
/** Busy part of its time from which the thread counts as without rest. */
const busyPart = 0.9;
/** Part of all time that a group may always take. */
const smallPart = 0.05;
/** Number of rules beyond which looks are less frequent, since each takes milliseconds. */
const manyRules = 500;

/** Gives turns to groups that take more than their share; see schedule/throttling.ts. */
export interface Throttler {
  /** Notes work of any rule, throttled or not, ms. */
  worked(ms: number): void;
  isThrottled(group: RuleGroup): boolean;
  /** Throttles the group, which takes this part of all time. */
  throttle(group: RuleGroup, part: number): void;
  /** Gets the part of all time that each group took; undefined when there is time for all. */
  look(parts: ReadonlyMap<RuleGroup, number> | undefined, enough: number): void;
}

/** The interface through which the data plane tells of all work. */
export interface Shares {
  /** Notes work that took `ms` and ended at `now`. */
  worked(ms: number, now: number): void;
  /** To be called when a rule is about to end, while its nodes are still there. */
  ended(rule: RunningRule): void;
}

export interface ShareOptions {
  readonly rules: ReadonlySet<RunningRule>;
  /** Part of the time since the last call that the thread was at work, from 0 to 1. */
  usedTime(): number;
  /** Turns frequent measuring in nodes on or off, however few batches there are. */
  sampleOften(isOn: boolean): void;
  /** Loads the throttler, when the first group is to be throttled. */
  load(): Promise<Throttler>;
}

type Place = RunningSource | RunningBranch;

/** Work up to a look, µs, by source and by node. */
interface Seen {
  readonly at: number;
  readonly sources: ReadonlyMap<Place, number>;
  readonly nodes: Map<NodeHandle, number>;
  /** Number of rules that use each node. */
  readonly users: Map<NodeHandle, number>;
  /** Time of rules that ended since the look, µs, by source or branch. */
  readonly ended: Map<Place, number>;
}

export class ShareWatch implements Shares {
  #lookAt = 0;
  #lookedAt: number | undefined;
  /** Work of all groups since the last look, ms. */
  #workedMs = 0;
  /** Measurements that the next look compares with; undefined while the thread has rest. */
  #seen: Seen | undefined;
  #loading = false;
  /** Rules that took too much at the last look. */
  #suspects: ReadonlySet<RunningRule> = new Set();
  throttler: Throttler | undefined;

  constructor(private readonly options: ShareOptions) {}

  worked(ms: number, now: number): void {
    this.throttler?.worked(ms);
    this.#workedMs += ms;
    if (now < this.#lookAt) return;
    this.#lookAt = Number.POSITIVE_INFINITY;
    // The rule whose input was just worked on is not done yet.
    setImmediate(() => this.#look(now));
  }

  ended(rule: RunningRule): void {
    const seen = this.#seen;
    if (seen === undefined) return;
    let us = 0;
    for (const { kind, handle } of rule.nodes) {
      if (kind === 'keyedTable') continue;
      const users = seen.users.get(handle) ?? 1;
      seen.users.set(handle, users - 1);
      // Other rules go on using the node.
      if (users > 1) continue;
      us += Math.max(0, rule.host.kernel.busyUs(handle) - (seen.nodes.get(handle) ?? 0));
      // The next node with this handle begins at 0.
      seen.nodes.delete(handle);
    }
    const places = new Set(rule.sources.filter((one) => !rule.isTable(one)).map((source) => placeOf(rule, source)));
    for (const place of places) seen.ended.set(place, (seen.ended.get(place) ?? 0) + us / places.size);
  }

  #look(now: number): void {
    this.#lookAt = now + lookMs * Math.max(1, this.options.rules.size / manyRules);
    const seen = this.#seen;
    // While thousands of rules start, finding the groups would cost more than any of them can have taken.
    const isIdle = this.throttler === undefined && this.#workedMs < smallPart * (now - (this.#lookedAt ?? now));
    this.#lookedAt = now;
    this.#workedMs = 0;
    if (this.options.usedTime() < busyPart || isIdle) {
      if (seen !== undefined) this.options.sampleOften(false);
      this.#seen = undefined;
      this.throttler?.look(undefined, 1);
      return;
    }
    const groups = ruleGroupsOf(this.options.rules);
    const next = this.#see(now, groups);
    if (seen === undefined) {
      this.options.sampleOften(true);
      this.#seen = next;
      return;
    }
    const parts = partsOf(groups, seen, next);
    // Some busy group has no measured batch yet.
    if (parts === undefined) return;
    this.#seen = next;
    this.#judge(parts);
  }

  #judge(parts: ReadonlyMap<RuleGroup, number>): void {
    const fair = 1 / parts.size;
    const enough = Math.max(smallPart, Math.min(2 * fair, (1 + fair) / 2));
    this.throttler?.look(parts, enough);
    let most: RuleGroup | undefined;
    let part = enough;
    const before = this.#suspects;
    const suspects = new Set<RunningRule>();
    for (const [group, its] of parts) {
      if (its <= enough || this.throttler?.isThrottled(group) === true) continue;
      for (const rule of group.rules) suspects.add(rule);
      const isFirst = this.throttler !== undefined && !group.rules.some((rule) => before.has(rule));
      if (its <= part || isFirst) continue;
      most = group;
      part = its;
    }
    this.#suspects = suspects;
    if (most === undefined || parts.size === 1) return;
    if (this.throttler !== undefined) this.throttler.throttle(most, part);
    else if (!this.#loading) {
      // The group is throttled at a later look, if it still takes too much.
      this.#loading = true;
      void this.options.load().then((throttler) => {
        this.throttler = throttler;
      });
    }
  }

  #see(at: number, groups: readonly RuleGroup[]): Seen {
    const sources = new Map<Place, number>();
    const nodes = new Map<NodeHandle, number>();
    const users = new Map<NodeHandle, number>();
    for (const { rules, places, nodes: own } of groups) {
      for (const rule of rules) for (const { handle } of rule.nodes) users.set(handle, (users.get(handle) ?? 0) + 1);
      for (const place of places) if (!sources.has(place)) sources.set(place, place.workUs + place.counters.tickUs);
      const { kernel } = rules[0]!.host;
      for (const node of own) nodes.set(node, kernel.busyUs(node));
    }
    return { at, sources, nodes, users, ended: new Map() };
  }
}

/** Returns a function that tells the part of its time that this thread was at work since the last call. */
export function usedTime(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}

/** Part of all time that each group took; undefined when the part of some group is not known. */
function partsOf(groups: readonly RuleGroup[], from: Seen, to: Seen): Map<RuleGroup, number> | undefined {
  const allUs = Math.max(1, (to.at - from.at) * 1000);
  // A source or node that has come since then began at 0.
  const grown = <T>(key: T, before: ReadonlyMap<T, number>, after: ReadonlyMap<T, number>) =>
    Math.max(0, (after.get(key) ?? 0) - (before.get(key) ?? 0));
  const busy = new Map<RuleGroup, number>();
  const ofSource = new Map<Place, { sum: number; groups: RuleGroup[] }>();
  for (const group of groups) {
    let us = 0;
    for (const node of group.nodes) us += grown(node, from.nodes, to.nodes);
    const own = us / group.places.size;
    busy.set(group, own);
    for (const source of group.places) {
      const known = ofSource.get(source);
      if (known === undefined) ofSource.set(source, { sum: own, groups: [group] });
      else {
        known.sum += own;
        known.groups.push(group);
      }
    }
  }
  const parts = new Map<RuleGroup, number>();
  for (const [source, { sum, groups: its }] of ofSource) {
    const us = grown(source, from.sources, to.sources);
    if (us === 0) continue;
    const ended = from.ended.get(source);
    const all = sum + (ended ?? 0);
    const isAlone = its.length === 1 && ended === undefined;
    const isKnown = isAlone || all > 0;
    if (!isKnown && us > allUs * smallPart) return undefined;
    for (const group of its) {
      const own = isAlone ? us : isKnown ? (us * busy.get(group)!) / all : 0;
      parts.set(group, (parts.get(group) ?? 0) + own / allUs);
    }
  }
  return parts;
}
