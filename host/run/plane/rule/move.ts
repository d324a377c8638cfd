/** The end of rules that go on in another data plane; loaded with the first of them. */
import { topicUse } from '../../../connectors/topic-use.js';
import { hasMovingState } from '../../../model/kept.js';
import type { MovingRun } from '../../link/protocol.js';
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

/** Ends rules at one instant: no work of others comes between the cut of their states and their ends. */
export async function endTogether(
  rules: readonly (RuleRun | undefined)[],
  runs: readonly MovingRun[],
  { host, beat, cut, end }: Ending,
): Promise<void> {
  await Promise.all(rules.map((rule, i) => saveAtEnd(rule, runs[i]?.saveTo, host, beat)));
  const left = new Set(rules.filter((rule) => rule !== undefined));
  cut(left);
  await Promise.all(writersFirst(left).map(end));
}

/** A rule without checkpoints saves its state to the folder when it ends. */
async function saveAtEnd(
  rule: RuleRun | undefined,
  folder: string | undefined,
  host: PlaneHost,
  beat: () => void,
): Promise<void> {
  const before = rule?.checkpoints?.order;
  if (folder === undefined || rule === undefined || (before !== undefined && before.isForMove !== true)) return;
  const kept = before?.kept ?? rule.moving;
  if (kept === undefined || !hasMovingState(kept, rule.nodes)) return;
  const order = { folder, qos: 0, intervalMs: 0, kept };
  const checkpoints = await RuleCheckpoints.anew(order, host, beat, rule.log);
  if (rule.isEnding) return;
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
