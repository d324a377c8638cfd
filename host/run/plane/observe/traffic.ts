/** What rules have taken, sent and failed at: a few sums a rule, for whoever watches all of them. */
import type { RuleTraffic } from '../../../model/figures.js';
import type { RunningRule } from '../running/running.js';

/** Rules that are gathered between two turns of the event loop. */
const slice = 500;

/** The traffic of each linked rule since its start. */
export async function trafficOf(
  rules: readonly RunningRule[],
  isBroken: () => boolean,
): Promise<[run: number, traffic: RuleTraffic][]> {
  const found: [number, RuleTraffic][] = [];
  for (const [i, rule] of rules.entries()) {
    if (i > 0 && i % slice === 0) await new Promise((resolve) => setImmediate(resolve));
    if (isBroken()) return [];
    if (!rule.isEnding) found.push([rule.run, ofRule(rule)]);
  }
  return found;
}

function ofRule(rule: RunningRule): RuleTraffic {
  let [taken, sent, failed] = [0, 0, 0];
  for (const [i, source] of rule.sources.entries()) {
    // Branches of a graph that read the same stream have one source.
    if (rule.sources.indexOf(source) !== i) continue;
    const base = rule.sourceBases[i]!;
    taken += source.counters.messages - base.messages;
    failed += source.counters.exceptions - base.exceptions + source.exceptions;
  }
  for (const sink of rule.sinks) {
    sent += sink.messagesOut;
    failed += sink.messagesFailed;
  }
  return [taken, sent, failed];
}
