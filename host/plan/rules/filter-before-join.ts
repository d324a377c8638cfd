/**
 * Moves conditions that look at nothing but the stream below its join with tables: rows that are not wanted are dropped
 * before they are looked up. Only without a window, where a message is the row, and where joined rows always have it.
 * Later conditions of an AND stay above one that cannot move, which may be what keeps errors from them.
 */
import { isInAllRows, streamsOf } from '../joins/join.js';
import { mapOperators, type Root, soleInputsOf } from '../logical/logical.js';
import { sourcesIn } from '../values/value.js';

/**
 * The plan with conditions on rows of a stream below its joins with tables; each condition must be a filter of its own.
 */
export function filterBeforeJoin(roots: readonly Root[]): Root[] {
  const sole = soleInputsOf(roots);
  return mapOperators(roots, (node, before) => {
    if (node.kind !== 'filter' || node.clause !== 'where' || node.isWhole === true || node.labels !== undefined)
      return node;
    const { input: join, condition } = node;
    if (join.kind !== 'join' || before.kind !== 'filter' || !sole.has(before.input)) return node;
    const { input: window } = join;
    if (window.kind !== 'window' || window.window.kind !== 'row' || condition.isAfterWindow) return node;
    const [stream, other] = streamsOf(join.sources);
    if (stream === undefined || other !== undefined || !isInAllRows(join, stream.index)) return node;
    if (sourcesIn(condition).some((source) => source !== stream.index)) return node;
    return { ...join, input: { ...window, input: { ...node, input: window.input } } };
  });
}
