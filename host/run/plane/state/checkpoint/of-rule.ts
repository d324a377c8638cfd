/** Parts of a rule that are saved, and questions that checkpoints ask of it. */

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

/** Positions of the sources that rewind, by stream. */
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

/** Input from other rules that the rule has not taken, by stream; of tables, too. */
export function pendingOf(rule: RunningRule): [stream: string, bytes: Uint8Array][] {
  return [...new Set(rule.sources)].flatMap((source): [string, Uint8Array][] => {
    const bytes = isFed(rule, source) ? source.places?.pendingOf(rule) : undefined;
    return bytes === undefined ? [] : [[source.name, bytes]];
  });
}

/** Whether the rule keeps state from rows of the source; lookup tables are no rule's. */
export function isFed(rule: RunningRule, source: RunningSource): boolean {
  return !rule.isTable(source) || rule.tables.some((table) => table.source === source);
}

/** Positions of the sinks that can be cut back, by number of the action. */
export function endsOf({ sinks }: RunningRule): Record<string, unknown> {
  const ends = sinks.map((sink, i) => [i, sink.position()] as const);
  return Object.fromEntries(ends.filter(([, end]) => end !== undefined));
}

/**
 * Whether input waits that is in no state, though it lies before the positions of the sources: the kernel has no room
 * for it, or it waits for its turn; or output waits that lies behind the positions of the sinks.
 */
export function isStarved({ sources, sinks, lag }: RunningRule): boolean {
  if (lag?.isStarved === true || sinks.some((sink) => sink.whenMade() !== undefined)) return true;
  return sources.some((source) => source.starvedSince !== 0 || source.isReadAhead);
}

/** Resolves when the state has the input that waits for its turn; undefined when none does. */
export function whenTaken({ sources, sinks, lag }: RunningRule): Promise<unknown> | undefined {
  const slowed = sources.filter(({ isReadAhead }) => isReadAhead).map((source) => source.whenTaken());
  const late = sinks.flatMap((sink) => sink.whenMade() ?? []);
  const waits: Promise<unknown>[] = [...slowed, ...late, ...[lag?.whenAtPlace() ?? []].flat()];
  return waits.length === 0 ? undefined : Promise.all(waits);
}

/** Number of times that a checkpoint is put off for work in pieces; then the work is done at once. */
const mostWaits = 50;

/** Work in pieces of a rule, which can't be saved while it is under way. */
export class UnderWay {
  #waits = 0;

  /** Whether one of the rules has work in pieces that a checkpoint can wait for. */
  isWaitedFor(rules: readonly RunningRule[]): boolean {
    const isLeft = rules.some(({ host, run }) => isAtWork(host.kernel, run));
    this.#waits = this.#waits < mostWaits && isLeft ? this.#waits + 1 : 0;
    return this.#waits > 0;
  }
}

/** Text that changes with all input and output. */
export function seenOf({ sources, sinks }: RunningRule): string {
  return [...sources.map(({ lastInputAt }) => lastInputAt), ...sinks.map(({ messagesIn }) => messagesIn)].join(' ');
}

/** Time for which a full sink counts as just busy, ms. */
const stuckMs = 1000;

/** Whether output waits for a sink that is not connected, or takes nothing more. */
export function hasStuckSink({ sinks }: RunningRule): boolean {
  return sinks.some(
    ({ connection, isFull, fullSince, unsafeMessages }) =>
      unsafeMessages > 0 && (connection.status !== 1 || (isFull && Date.now() - fullSince >= stuckMs)),
  );
}
