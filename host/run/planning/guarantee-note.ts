/** Guarantee for the rows of a rule among the others, as EXPLAIN tells it. */
import type { NodePlan } from '../../../kernels/plan/ir.js';
import { connectorOf } from '../../connectors/index.js';
import { feeds, topicUse } from '../../connectors/topic-use.js';
import type { RuleDefinition } from '../../model/engine.js';
import type { SinkSpec, SourceSpec } from '../link/protocol.js';
import { MissingPart } from '../props/resolve.js';
import { guaranteeOf, type Writer } from './guarantee.js';

/** Streams, without tables, sinks and nodes of a rule. */
export interface RuleParts {
  readonly sources: readonly SourceSpec[];
  readonly sinks: readonly SinkSpec[];
  readonly nodes: readonly NodePlan[];
  /** An input log knows what brokers send again: not in a cluster, whose rules move. */
  readonly hasLogs?: boolean;
}

/** A line of EXPLAIN; none while parts of the rule are missing. `partsOf` throws for rules that can't run. */
export function guaranteeNote(
  rule: RuleDefinition,
  all: Iterable<RuleDefinition>,
  partsOf: (rule: RuleDefinition) => RuleParts,
): string[] {
  try {
    const { sources, sinks, nodes, hasLogs } = partsOf(rule);
    const { qos } = rule.options;
    const writersOf = writersAmong(all, partsOf, { rule: rule.id, qos, sources, sinks });
    // The parts of a divided rule send their rows in no common order.
    const inOrder = rule.options.parallelism > 1 && hasLogs !== false ? [] : nodes;
    const { guarantee, because, provided } = guaranteeOf(qos, sources, sinks, inOrder, writersOf, hasLogs);
    const note = { op: 'Note', of: 'rule', guarantee };
    const holdsOthers = qos === 0 ? [] : sources.flatMap((source) => holdingOf(source) ?? []);
    const reasons = {
      ...(because.length > 0 ? { because } : {}),
      ...(provided.length > 0 ? { provided } : {}),
      ...(holdsOthers.length > 0 ? { holdsOthers } : {}),
    };
    return [JSON.stringify({ ...note, ...reasons })];
  } catch (error) {
    if (error instanceof MissingPart) return [];
    throw error;
  }
}

/**
 * Why rules that share the stream wait for one with checkpoints that takes too much time; see
 * plane/schedule/throttling.ts.
 */
function holdingOf({ name, type, props, isShared }: SourceSpec): string | undefined {
  const source = connectorOf(type)?.source;
  if (!isShared || source === undefined) return undefined;
  if (source.form(props).acknowledges === true || source.rewinds(props) === 'position') return undefined;
  return `stream ${name}: what would wait for this rule alone when it takes too much time could not be read again`;
}

/** Finds who writes to the topic of a stream: `own`, as it is given, and all others. */
function writersAmong(
  all: Iterable<RuleDefinition>,
  partsOf: (rule: RuleDefinition) => RuleParts,
  own: Writer,
): (source: SourceSpec) => Writer[] {
  let writers: Writer[] | undefined;
  const found = (rule: RuleDefinition): Writer[] => {
    const mayWrite = rule.actions.some(({ type }) => connectorOf(type)?.topics !== undefined);
    if (!mayWrite || rule.id === own.rule || rule.test !== undefined) return [];
    try {
      return [{ rule: rule.id, qos: rule.options.qos, ...partsOf(rule) }];
    } catch {
      // A rule that can't run writes nothing.
      return [];
    }
  };
  return (source) => {
    writers ??= [own, ...[...all].flatMap(found)];
    const read = topicUse({ sources: [source], sinks: [] });
    return writers.filter((writer) => feeds(topicUse(writer), read));
  };
}
