/** Refuses expressions that fail in every row because of their types; see `types.ts`. */

import type { OpName } from '../../../kernels/gen/ops.js';
import { nearest } from '../../base/text/nearest.js';
import type { FunctionDefinition } from '../../functions/define.js';
import type { Expr } from '../../sql/ast.js';
import { expressionErrors } from '../errors/expression.js';
import { functionErrors } from '../errors/function.js';
import { membersOf, wrongArgument, wrongCondition, wrongSide } from '../values/types.js';
import type { Value } from '../values/value.js';
import { literalOf } from './literal.js';

/** A part of a statement with what it is bound to. */
type Part = readonly [expr: Expr, value: Value];

/** The sides of an operator; one with a single side has no `right`. */
export function checkSides(op: OpName, symbol: string, left: Part, right?: Part): void {
  const wrong = wrongSide(op, left[1], right?.[1]);
  if (wrong === undefined) return;
  const { side, reason } = wrong;
  const place = side === 'left' ? left : right;
  const which = right === undefined ? `the operand of ${symbol}` : `the ${side} side of ${symbol}`;
  throw expressionErrors.wrongSide(which, reason, place?.[0].span);
}

/** An argument of a function, by its place among them. */
export function checkArgument({ args }: FunctionDefinition, name: string, place: number, [expr, value]: Part): void {
  const spec = args[Math.min(place, args.length - 1)];
  const reason = spec === undefined ? undefined : wrongArgument(value, spec);
  if (reason === undefined) return;
  throw functionErrors.wrongArgument(name.toLowerCase(), place, spec?.name, reason, expr.span);
}

/** A condition of a clause. */
export function checkCondition(clause: string, [expr, value]: Part): void {
  const reason = wrongCondition(value);
  if (reason !== undefined) throw expressionErrors.wrongCondition(clause, reason, expr.span);
}

/** A LIKE pattern must be a text. */
export function checkPattern(pattern: Expr): void {
  const literal = literalOf(pattern);
  if (literal === undefined) return;
  if (typeof literal !== 'string') throw expressionErrors.likePattern(pattern.span);
}

/** Remark on a member that a declaration does not have: it is null, as in the recorded engine. */
export function remarkOfMember(object: Value, name: string, expr: Expr): string | undefined {
  const members = membersOf(object);
  if (members === undefined || members.includes(name)) return undefined;
  const meant = nearest(name, members);
  const whose = expr.kind === 'column' ? expr.name : 'the object';
  const what = `the declaration of ${whose} has no member ${name}, which is null in every row`;
  return meant === undefined ? what : `${what}, did you mean ${meant}?`;
}
