/** What of a rule is saved, and what a checkpoint asks of it. */

import type { NodeHandle } from '../../../../../kernels/api.js';
import { isAtWork } from '../../../../../kernels/state/deferred.js';
import type { RunningRule, RunningSource } from '../../running/running.js';

/**
 * The nodes of the rule in the order of their making. Lookup tables are no rule's; joins with tables that are read from
 * files are left out: the table is read again at each start.
 */
export function nodesOf(rule: RunningRule): NodeHandle[] {
  const readAgain = new Set(rule.tables.filter(({ source }) => source.endsSoon).map(({ join }) => join));
  return rule.nodes.flatMap(({ kind, handle }) => (kind === 'keyedTable' || readAgain.has(handle) ? [] : [handle]));
}

/** Positions of the sources that can go back. */
export function positionsOf(rule: RunningRule): Record<string, unknown> {
  const positions: Record<string, unknown> = {};
  for (const source of new Set(rule.sources)) {
    const position = rule.isTable(source) ? undefined : positionIn(rule, source);
    if (position !== undefined) positions[source.name] = position;
  }
  return positions;
}

function positionIn(rule: RunningRule, source: RunningSource): unknown {
  return source.places === undefined ? source.position() : source.places.positionOf(rule);
}

/** What other rules had sent and the rule has not taken, by stream; of tables, too. */
export function pendingOf(rule: RunningRule): [stream: string, bytes: Uint8Array][] {
  return [...new Set(rule.sources)].flatMap((source): [string, Uint8Array][] => {
    const bytes = isFed(rule, source) ? source.places?.pendingOf(rule) : undefined;
    return bytes === undefined ? [] : [[source.name, bytes]];
  });
}

/** The rule keeps what it makes of the rows of the source; lookup tables are no rule's. */
export function isFed(rule: RunningRule, source: RunningSource): boolean {
  return !rule.isTable(source) || rule.tables.some((table) => table.source === source);
}

/** How far the sinks are that can be cut back. */
export function endsOf({ sinks }: RunningRule): Record<string, unknown> {
  const ends = sinks.map((sink, i) => [i, sink.position()] as const);
  return Object.fromEntries(ends.filter(([, end]) => end !== undefined));
}

/**
 * Input that the kernel has no room for, or that waits for its turn, is in no state, though sources have it behind
 * them.
 */
export function isStarved({ sources, lag }: RunningRule): boolean {
  return lag?.isStarved === true || sources.some((source) => source.starvedSince !== 0 || source.isReadAhead);
}

/** Resolves when no input waits for its turn that the state is to have; undefined when none does. */
export function whenTaken({ sources, lag }: RunningRule): Promise<unknown> | undefined {
  const slowed = sources.filter(({ isReadAhead }) => isReadAhead).map((source) => source.whenTaken());
  const waits: Promise<unknown>[] = [...slowed, ...[lag?.whenAtPlace() ?? []].flat()];
  return waits.length === 0 ? undefined : Promise.all(waits);
}

/** So often a checkpoint is put off for work that is under way; then that is done at once. */
const mostWaits = 50;

/** Work of a rule that its operators do piece by piece: what is in the middle of it can't be saved. */
export class UnderWay {
  #waits = 0;

  /** True when one of the rules has some, and a checkpoint can wait for it. */
  isWaitedFor(rules: readonly RunningRule[]): boolean {
    const isLeft = rules.some(({ host, run }) => isAtWork(host.kernel, run));
    this.#waits = this.#waits < mostWaits && isLeft ? this.#waits + 1 : 0;
    return this.#waits > 0;
  }
}

/** Changes with all that comes in and goes out. */
export function seenOf({ sources, sinks }: RunningRule): string {
  return [...sources.map(({ lastInputAt }) => lastInputAt), ...sinks.map(({ messagesIn }) => messagesIn)].join(' ');
}

/** A sink that is full for so long is not just busy, ms. */
const stuckMs = 1000;

/** Output waits for a sink that is away, or takes nothing more. */
export function hasStuckSink({ sinks }: RunningRule): boolean {
  return sinks.some(
    ({ connection, isFull, fullSince, unsafeMessages }) =>
      unsafeMessages > 0 && (connection.status !== 1 || (isFull && Date.now() - fullSince >= stuckMs)),
  );
}
