/**
 * Moves conditions that look at nothing but the stream below its join with tables: rows that are not wanted are dropped
 * before they are looked up. Only without a window, where a message is the row, and where joined rows always have it. Later
 * conditions of an AND stay above one that cannot move, which may be what keeps errors from them.
 */
import { streamsOf } from '../join.js';
import { type Logical, mapOperators, type Root, soleInputsOf } from '../logical.js';
import { sourcesIn } from '../value.js';

type Join = Extract<Logical, { kind: 'join' }>;

/** The plan with conditions on rows of a stream below its joins with tables; each condition must be a filter of its own. */
export function filterBeforeJoin(roots: readonly Root[]): Root[] {
  const sole = soleInputsOf(roots);
  return mapOperators(roots, (node, before) => {
    if (node.kind !== 'filter' || node.clause !== 'where' || node.isWhole === true || node.labels !== undefined)
      return node;
    const { input: join, condition } = node;
    if (join.kind !== 'join' || before.kind !== 'filter' || !sole.has(before.input)) return node;
    const { input: window } = join;
    if (window.kind !== 'window' || window.window.kind !== 'row' || condition.isAfterWindow) return node;
    const stream = streamInAllRows(join);
    if (stream === undefined || sourcesIn(condition).some((source) => source !== stream)) return node;
    return { ...join, input: { ...window, input: { ...node, input: window.input } } };
  });
}

/** The only stream of a join, if no joined row is without a row of it. */
function streamInAllRows({ sources, steps }: Join): number | undefined {
  const [stream, other] = streamsOf(sources);
  if (stream === undefined || other !== undefined) return undefined;
  const own = steps.findIndex(({ source }) => source === stream.index);
  const isKept = steps.every(({ type }, i) => {
    if (i < own || type === 'inner' || type === 'cross') return true;
    return type === (i === own ? 'right' : 'left');
  });
  return isKept ? stream.index : undefined;
}
