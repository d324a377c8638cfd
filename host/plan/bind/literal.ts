/** Literals, where the planner has to know them by their values. */
import type { LiteralArg } from '../../functions/define.js';
import type { Expr } from '../../sql/ast.js';

/** The value of a literal; undefined for any other expression. */
export function literalOf(expr: Expr): LiteralArg {
  switch (expr.kind) {
    case 'null':
      return null;
    case 'boolean':
    case 'integer':
    case 'number':
    case 'string':
      return expr.value;
    case 'unary': {
      const value = expr.op === '-' ? literalOf(expr.operand) : undefined;
      return typeof value === 'bigint' || typeof value === 'number' ? -value : undefined;
    }
    default:
      return undefined;
  }
}
