/**
 * The end of rules that go on in another data plane; loaded with the first of them. Rows of those that hold many are
 * brought to disk while they run, and at their end those that came since.
 */

import { reasonOf } from '../../../base/errors.js';
import { topicUse } from '../../../connectors/topic-use.js';
import { hasMovingState } from '../../../model/kept.js';
import type { MovingRun, RowsAhead } from '../../link/moving.js';
import { stateBytesOf } from '../memory/memory.js';
import type { PlaneHost, RunningRule } from '../running/running.js';
import { RuleCheckpoints } from '../state/checkpoint/rule-checkpoints.js';
import type { RuleRun } from './rule-run.js';

interface Ending {
  readonly host: PlaneHost;
  /** Shows that the thread lives. */
  readonly beat: () => void;
  /** Cuts the states of all of them. */
  readonly cut: (rules: ReadonlySet<RuleRun>) => void;
  readonly end: (rule: RuleRun) => Promise<void>;
}

/** Bytes of state from which rows are brought to disk before the end. */
const muchBytes = 4 << 20;
/** Checkpoints for the move of rules that have none of their own. */
const ahead = new WeakMap<RuleRun, Promise<RuleCheckpoints>>();

/** Brings the rows of rules with much state to disk while they go on; resolves with where they are. */
export async function readyToMove(
  rules: ReadonlyMap<number, RuleRun>,
  runs: readonly MovingRun[],
  host: PlaneHost,
  beat: () => void,
): Promise<RowsAhead[]> {
  const all = runs.map(async ({ run, saveTo }): Promise<RowsAhead[]> => {
    const rule = rules.get(run);
    if (rule === undefined || rule.isEnding || stateBytesOf(rule) < muchBytes) return [];
    const checkpoints = await checkpointsToMove(rule, saveTo, host, beat);
    if (checkpoints === undefined || checkpoints.common !== undefined || rule.isEnding) return [];
    const { order, cutter } = checkpoints;
    await checkpoints.clearing;
    if (order.qos > 0) await checkpoints.lighten();
    const rows = order.qos > 0 ? checkpoints.rows : await cutter.precopy(rule);
    return rows === undefined ? [] : [{ run, folder: order.folder, rows }];
  });
  const ends = await Promise.allSettled(all);
  for (const end of ends)
    if (end.status === 'rejected') host.log.warn(`state is not saved ahead: ${reasonOf(end.reason)}`);
  return ends.flatMap((end) => (end.status === 'fulfilled' ? end.value : []));
}

/** Those of the rule, or those that it gets for the move. */
async function checkpointsToMove(
  rule: RuleRun,
  folder: string | undefined,
  host: PlaneHost,
  beat: () => void,
): Promise<RuleCheckpoints | undefined> {
  const { checkpoints: own, moving } = rule;
  if (own !== undefined && own.order.isForMove !== true) return own;
  const kept = own?.order.kept ?? moving;
  if (folder === undefined || kept === undefined || !hasMovingState(kept, rule.nodes)) return undefined;
  const known = ahead.get(rule);
  if (known !== undefined) return known;
  const order = { folder, qos: 0, intervalMs: 0, kept };
  // What the rule has come with may still be on its way from the folder.
  const made = (own?.clearing ?? Promise.resolve()).then(() => RuleCheckpoints.anew(order, host, beat, rule.log));
  ahead.set(rule, made);
  made.catch(() => ahead.delete(rule));
  return made;
}

/** Ends rules at one instant: no work of others comes between the cut of their states and their ends. */
export async function endTogether(
  rules: readonly (RuleRun | undefined)[],
  runs: readonly MovingRun[],
  { host, beat, cut, end }: Ending,
): Promise<void> {
  await Promise.all(rules.map((rule, i) => saveAtEnd(rule, runs[i]?.saveTo, host, beat)));
  const left = new Set(rules.filter((rule) => rule !== undefined));
  cut(left);
  await Promise.all(writersFirst(left).map((rule) => end(rule)));
}

/** A rule without checkpoints saves its state to the folder when it ends. */
async function saveAtEnd(
  rule: RuleRun | undefined,
  folder: string | undefined,
  host: PlaneHost,
  beat: () => void,
): Promise<void> {
  const checkpoints = rule && (await checkpointsToMove(rule, folder, host, beat));
  if (rule === undefined || checkpoints === undefined || checkpoints === rule.checkpoints || rule.isEnding) return;
  rule.checkpoints = checkpoints;
  checkpoints.begin(rule);
}

/** The rules in an order in which those that write to topics end before those that read them, who then have all. */
function writersFirst<R extends RunningRule>(rules: ReadonlySet<R>): R[] {
  const rank = ({ sources, sinks }: RunningRule) => {
    const { reads, writes } = topicUse({
      sources: sources.map(({ spec }) => spec),
      sinks: sinks.map(({ spec }) => spec),
    });
    return reads.length === 0 ? 0 : writes.length > 0 ? 1 : 2;
  };
  return [...rules].sort((a, b) => rank(a) - rank(b));
}
