/**
 * Who takes the time of the data plane while there is not enough of it. Rules that share operators in the kernel are
 * one party. Once a second it is seen whether the thread had any rest; only when it had none the time of each party is
 * looked at: that of its sources, divided by what the kernel has measured in the nodes; of rules that have ended
 * meanwhile, too. A party that took more than its share in two looks one after the other is put behind the others: a
 * few batches are measured, and any of them may have been interrupted.
 */
import { performance } from 'node:perf_hooks';
import type { NodeHandle } from '../../../../kernels/api.js';
import { type Party, partiesOf, placeOf } from '../running/parties.js';
import type { RunningLane, RunningRule, RunningSource } from '../running/running.js';

/** Time between two looks, ms. */
const lookMs = 1000;
/** With so much of its time at work the thread has no rest. */
const busyPart = 0.9;
/** A part of all time that is never too much. */
const smallPart = 0.05;
/** Of so many rules a look takes milliseconds: with more of them there is one less often. */
const manyRules = 500;

/** Takes turns for those that take more than their share; see schedule/behind.ts. */
export interface PutsBehind {
  /** Others, or one that had its turn, were at work. */
  worked(ms: number): void;
  isBehind(party: Party): boolean;
  /** Others wait while it takes this part of all time. */
  put(party: Party, part: number): void;
  /** What each party took of all time; undefined: there is time for all. */
  look(parts: ReadonlyMap<Party, number> | undefined, enough: number): void;
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
  /** Called when the first party is to be put behind. */
  load(): Promise<PutsBehind>;
}

type Place = RunningSource | RunningLane;

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
  /** Work of all parties since then, ms. */
  #workedMs = 0;
  /** Since when the thread had no rest. */
  #seen: Seen | undefined;
  #loading = false;
  /** Rules that took too much at the last look. */
  #suspects: ReadonlySet<RunningRule> = new Set();
  behind: PutsBehind | undefined;

  constructor(private readonly options: ShareOptions) {}

  worked(ms: number, now: number): void {
    this.behind?.worked(ms);
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
    // As while thousands of rules start: it costs more to find the parties than any of them can have taken.
    const isIdle = this.behind === undefined && this.#workedMs < smallPart * (now - (this.#lookedAt ?? now));
    this.#lookedAt = now;
    this.#workedMs = 0;
    if (this.options.usedTime() < busyPart || isIdle) {
      if (seen !== undefined) this.options.sampleOften(false);
      this.#seen = undefined;
      this.behind?.look(undefined, 1);
      return;
    }
    const parties = partiesOf(this.options.rules);
    const next = this.#see(now, parties);
    if (seen === undefined) {
      this.options.sampleOften(true);
      this.#seen = next;
      return;
    }
    const parts = partsOf(parties, seen, next);
    // None of its batches was measured yet.
    if (parts === undefined) return;
    this.#seen = next;
    this.#judge(parts);
  }

  #judge(parts: ReadonlyMap<Party, number>): void {
    const fair = 1 / parts.size;
    const enough = Math.max(smallPart, Math.min(2 * fair, (1 + fair) / 2));
    this.behind?.look(parts, enough);
    let most: Party | undefined;
    let part = enough;
    const before = this.#suspects;
    const suspects = new Set<RunningRule>();
    for (const [party, its] of parts) {
      if (its <= enough || this.behind?.isBehind(party) === true) continue;
      for (const rule of party.rules) suspects.add(rule);
      const isFirst = this.behind !== undefined && !party.rules.some((rule) => before.has(rule));
      if (its <= part || isFirst) continue;
      most = party;
      part = its;
    }
    this.#suspects = suspects;
    if (most === undefined || parts.size === 1) return;
    if (this.behind !== undefined) this.behind.put(most, part);
    else if (!this.#loading) {
      // It is put behind at the next look, if it still takes so much.
      this.#loading = true;
      void this.options.load().then((behind) => {
        this.behind = behind;
      });
    }
  }

  #see(at: number, parties: readonly Party[]): Seen {
    const sources = new Map<Place, number>();
    const nodes = new Map<NodeHandle, number>();
    const users = new Map<NodeHandle, number>();
    for (const { rules, places, nodes: own } of parties) {
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

/** What each party that was at work took of all time; undefined when that of some is not known. */
function partsOf(parties: readonly Party[], from: Seen, to: Seen): Map<Party, number> | undefined {
  const allUs = Math.max(1, (to.at - from.at) * 1000);
  // What has come since then began at 0.
  const grown = <T>(key: T, before: ReadonlyMap<T, number>, after: ReadonlyMap<T, number>) =>
    Math.max(0, (after.get(key) ?? 0) - (before.get(key) ?? 0));
  const busy = new Map<Party, number>();
  const ofSource = new Map<Place, { sum: number; parties: Party[] }>();
  for (const party of parties) {
    let us = 0;
    for (const node of party.nodes) us += grown(node, from.nodes, to.nodes);
    const own = us / party.places.size;
    busy.set(party, own);
    for (const source of party.places) {
      const known = ofSource.get(source);
      if (known === undefined) ofSource.set(source, { sum: own, parties: [party] });
      else {
        known.sum += own;
        known.parties.push(party);
      }
    }
  }
  const parts = new Map<Party, number>();
  for (const [source, { sum, parties: its }] of ofSource) {
    const us = grown(source, from.sources, to.sources);
    if (us === 0) continue;
    const ended = from.ended.get(source);
    const all = sum + (ended ?? 0);
    const isAlone = its.length === 1 && ended === undefined;
    const isKnown = isAlone || all > 0;
    if (!isKnown && us > allUs * smallPart) return undefined;
    for (const party of its) {
      const own = isAlone ? us : isKnown ? (us * busy.get(party)!) / all : 0;
      parts.set(party, (parts.get(party) ?? 0) + own / allUs);
    }
  }
  return parts;
}
