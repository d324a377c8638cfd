/** Names of what REPLACE puts in the place of columns. */

import type { Expr } from '../../sql/ast.js';
import { ownName } from '../../sql/names.js';
import { selectErrors } from '../errors/select.js';

/** The column that an expression in REPLACE stands for. */
export function replacedName({ expr, alias }: { expr: Expr; alias: string | null }): string {
  const name = alias ?? ownName(expr);
  if (name === null || name === '*') throw selectErrors.replaceWithoutName(expr.span);
  return name;
}
