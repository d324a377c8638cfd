/**
 * Rules whose start is under way. Of those that feed each other readers begin before writers, or rows would go to
 * nobody.
 */

import type { SinkPart } from '../../../connectors/define.js';
import { askedPart, connectorFor } from '../../../connectors/loaded.js';
import { feeds, type TopicUse, topicUse } from '../../../connectors/topic-use.js';
import type { RenewedParts, RuleStart } from '../../link/protocol.js';
import { isSameOtherwise } from '../../link/same-spec.js';
import type { RunningRule } from '../running/running.js';

export interface StartingRule {
  readonly start: RuleStart;
  /** The rule was stopped during its start. */
  isStopped: boolean;
  /** New properties of its parts that came during its start. */
  readonly renewals: RenewedParts[];
}

const pollMs = 5;
/** Nobody waits longer for rules that share its stream, ms: one may be stuck in its start. */
const longestMs = 30_000;

export class StartOrder {
  readonly #starting = new Map<number, StartingRule>();
  readonly #uses = new WeakMap<RuleStart, TopicUse>();
  /** The server starts all its rules, and has not sent some of them yet. */
  isMoreComing = false;

  constructor(private readonly running: ReadonlySet<RunningRule>) {}

  begin(start: RuleStart): StartingRule {
    const entry = { start, isStopped: false, renewals: [] };
    this.#starting.set(start.run, entry);
    return entry;
  }

  end(run: number): void {
    this.#starting.delete(run);
  }

  get(run: number): StartingRule | undefined {
    return this.#starting.get(run);
  }

  /** Resolves when all that start and read what the rule writes are there, but for those that it reads from itself. */
  async readersOf(entry: StartingRule): Promise<void> {
    if (this.#useOf(entry.start).writes.length === 0) return;
    for (;;) {
      const isAwaited = this.#awaited(entry);
      if (isAwaited === undefined) return;
      while (isAwaited() && !entry.isStopped) await new Promise((resolve) => setTimeout(resolve, pollMs));
      if (entry.isStopped) return;
    }
  }

  /**
   * Resolves when all rules that start and read the shared stream are there, so that none of them misses what comes
   * first.
   */
  async sharersOf(stream: string): Promise<void> {
    const end = performance.now() + longestMs;
    while (this.#hasSharers(stream) && performance.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
  }

  #hasSharers(stream: string): boolean {
    if (this.isMoreComing) return true;
    for (const { start, isStopped } of this.#starting.values()) {
      if (!isStopped && start.sources.some(({ name, isShared }) => isShared && name === stream)) return true;
    }
    return false;
  }

  /** Something that is to be waited for, with the question whether it still is. */
  #awaited({ start }: StartingRule): (() => boolean) | undefined {
    if (this.isMoreComing) return () => this.isMoreComing;
    const use = this.#useOf(start);
    for (const other of this.#starting.values()) {
      const isReader = other.start !== start && feeds(use, this.#useOf(other.start));
      if (!isReader || this.#leadsTo(other, start)) continue;
      return () => this.#starting.has(other.start.run);
    }
    for (const rule of this.running) {
      for (const source of rule.sources) {
        const isOpening = () => !source.isTried && !source.isEnded && !rule.isEnding;
        if (isOpening() && feeds(use, topicUse({ sources: [source.spec], sinks: [] }))) return isOpening;
      }
    }
    return undefined;
  }

  /** Whether output of the rule reaches the other one, directly or by further rules. */
  #leadsTo(from: StartingRule, to: RuleStart): boolean {
    const seen = new Set([from]);
    for (const { start } of seen) {
      const use = this.#useOf(start);
      if (feeds(use, this.#useOf(to))) return true;
      if (use.writes.length === 0) continue;
      for (const other of this.#starting.values()) if (feeds(use, this.#useOf(other.start))) seen.add(other);
    }
    return false;
  }

  #useOf(start: RuleStart): TopicUse {
    let use = this.#uses.get(start);
    if (use === undefined) {
      use = topicUse(start);
      this.#uses.set(start, use);
    }
    return use;
  }
}

/** The rule with the properties that its parts got during its start; their code is to be loaded before. */
export function asRenewed({ start, renewals }: StartingRule): RuleStart {
  return renewals.reduce(withParts, start);
}

function withParts(start: RuleStart, { sources, lookups, sinks }: RenewedParts): RuleStart {
  return {
    ...start,
    sources: start.sources.map((spec) => {
      const next = sources.find(({ name }) => name === spec.name);
      if (next === undefined || !isSameOtherwise(spec, next)) return spec;
      return mayBecome(connectorFor('source', spec.type).source, spec, next) ? next : spec;
    }),
    ...(start.lookups !== undefined && {
      lookups: start.lookups.map((spec) => {
        const next = lookups.find(({ name }) => name === spec.name);
        if (next === undefined || spec.call !== undefined || !isSameOtherwise(spec, next)) return spec;
        return mayBecome(askedPart(spec.type), spec, next) ? next : spec;
      }),
    }),
    sinks: start.sinks.map((spec, i) => {
      const next = sinks[i];
      if (next?.type !== spec.type || !mayBecome(connectorFor('sink', spec.type).sink, spec, next)) return spec;
      const { props, secrets } = next;
      return { ...spec, props, ...(secrets === undefined ? {} : { secrets }) };
    }),
  };
}

type WithProps = Pick<RuleStart['sinks'][number], 'props'>;

/** Whether the part takes the new properties, as it would while it is at work. */
function mayBecome(part: Pick<SinkPart, 'renewed'> | undefined, { props }: WithProps, next: WithProps): boolean {
  return part?.renewed(props, next.props) !== undefined;
}
