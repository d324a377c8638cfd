/**
 * Who takes the time of the data plane while there is not enough of it. Rules that share operators in the kernel are
 * one group. Once a second it is seen whether the thread had any rest; only when it had none the time of each group is
 * looked at: that of its sources, divided by what the kernel has measured in the nodes; of rules that have ended
 * meanwhile, too. A group that took more than its share in two looks one after the other is throttled: a
 * few batches are measured, and any of them may have been interrupted.
 */
import { performance } from 'node:perf_hooks';
import type { NodeHandle } from '../../../../kernels/api.js';
import { placeOf, type RuleGroup, ruleGroupsOf } from '../running/rule-groups.js';
import type { RunningBranch, RunningRule, RunningSource } from '../running/running.js';

/** Time between two looks, ms. */
const lookMs = 1000;
/** With so much of its time at work the thread has no rest. */
const busyPart = 0.9;
/** A part of all time that is never too much. */
const smallPart = 0.05;
/** Of so many rules a look takes milliseconds: with more of them there is one less often. */
const manyRules = 500;

/** Takes turns for those that take more than their share; see schedule/throttling.ts. */
export interface Throttler {
  /** Others, or one that had its turn, were at work. */
  worked(ms: number): void;
  isThrottled(group: RuleGroup): boolean;
  /** Others wait while it takes this part of all time. */
  throttle(group: RuleGroup, part: number): void;
  /** What each group took of all time; undefined: there is time for all. */
  look(parts: ReadonlyMap<RuleGroup, number> | undefined, enough: number): void;
}

/** Hears of all work. */
export interface Shares {
  /** Work took so many ms, until `now`. */
  worked(ms: number, now: number): void;
  /** A rule is about to end; its nodes are still there. */
  ended(rule: RunningRule): void;
}

export interface ShareOptions {
  readonly rules: ReadonlySet<RunningRule>;
  /** Part of the time that the thread was at work since the last call, from 0 to 1. */
  usedTime(): number;
  /** Whether times in nodes are to be taken often, however few batches there are. */
  sampleOften(isOn: boolean): void;
  /** Called when the first group is to be throttled. */
  load(): Promise<Throttler>;
}

type Place = RunningSource | RunningBranch;

/** µs of work as they were at a look. */
interface Seen {
  readonly at: number;
  readonly sources: ReadonlyMap<Place, number>;
  readonly nodes: Map<NodeHandle, number>;
  /** Rules with each node. */
  readonly users: Map<NodeHandle, number>;
  /** What rules have taken of each place that ended since. */
  readonly ended: Map<Place, number>;
}

export class ShareWatch implements Shares {
  #lookAt = 0;
  #lookedAt: number | undefined;
  /** Work of all groups since then, ms. */
  #workedMs = 0;
  /** Since when the thread had no rest. */
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
    // Whose input was worked on just now is not done with it yet.
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
      // Others have it on.
      if (users > 1) continue;
      us += Math.max(0, rule.host.kernel.busyUs(handle) - (seen.nodes.get(handle) ?? 0));
      // The next node at its place begins at 0.
      seen.nodes.delete(handle);
    }
    const places = new Set(rule.sources.filter((one) => !rule.isTable(one)).map((source) => placeOf(rule, source)));
    for (const place of places) seen.ended.set(place, (seen.ended.get(place) ?? 0) + us / places.size);
  }

  #look(now: number): void {
    this.#lookAt = now + lookMs * Math.max(1, this.options.rules.size / manyRules);
    const seen = this.#seen;
    // As while thousands of rules start: it costs more to find the groups than any of them can have taken.
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
    // None of its batches was measured yet.
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
      // It is throttled at the next look, if it still takes so much.
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

/** Tells which part of its time this thread was at work since it was asked last. */
export function usedTime(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}

/** What each group that was at work took of all time; undefined when that of some is not known. */
function partsOf(groups: readonly RuleGroup[], from: Seen, to: Seen): Map<RuleGroup, number> | undefined {
  const allUs = Math.max(1, (to.at - from.at) * 1000);
  // What has come since then began at 0.
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
