/** `lead(value, offset, default, ignoreNull)`: a value of the window, counted from its first row. */

import type { Expr } from '../../sql/ast.js';
import { functionErrors } from '../errors/function.js';

type Call = Extract<Expr, { kind: 'call' }>;

/** Rewrites lead() as an element of the list of the window's values, or its default where there is none. */
export function leadOf({ args, filter, over, span }: Call): Expr {
  const [value, offset, otherwise, ignoreNull] = args;
  if (value === undefined || value.kind === 'star') throw functionErrors.leadNoValue(span);
  if (over !== null) throw functionErrors.overLead(span);
  if (offset !== undefined && offset.kind !== 'integer') {
    throw functionErrors.leadOffset(offset.span);
  }
  if (ignoreNull !== undefined && ignoreNull.kind !== 'boolean') {
    throw functionErrors.leadNulls(ignoreNull.span);
  }
  const at: Expr = offset ?? { kind: 'integer', value: 1n, span };
  const isThere: Expr = { kind: 'isNull', operand: value, negated: true, span };
  const passesNulls = ignoreNull?.kind !== 'boolean' || ignoreNull.value;
  const both: Expr = filter === null ? isThere : { kind: 'binary', op: 'AND', left: filter, right: isThere, span };
  const call = (name: string, arg: Expr, only: Expr | null): Expr => ({
    kind: 'call',
    name,
    args: [arg],
    filter: only,
    over: null,
    span,
  });
  const list = call('collect', value, passesNulls ? both : filter);
  const hasRow: Expr = { kind: 'binary', op: '>', left: call('cardinality', list, null), right: at, span };
  const then: Expr = { kind: 'index', object: list, index: at, span };
  const whens = [{ when: hasRow, then }];
  return { kind: 'case', operand: null, whens, otherwise: otherwise ?? { kind: 'null', span }, span };
}
