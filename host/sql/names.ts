/**
 * Names of the output columns, as the language gives them.
 */
import type { Expr, SelectItem } from './ast.js';

/** Prefix of the names of unnamed expressions; their number follows, counted from 0 within the statement. */
const UNNAMED_PREFIX = 'kuiper_field_';

/** Returns the name an expression brings along: that of a column or a function; null for any other expression. */
export function ownName(expr: Expr, functionName: (name: string) => string = lowerCase): string | null {
  switch (expr.kind) {
    case 'column':
      return expr.name;
    case 'call':
      return functionName(expr.name);
    case 'star':
      return '*';
    default:
      return null;
  }
}

/**
 * Returns the output name of an expression without alias.
 * `unnamedIndex` counts the unnamed expressions before it; `functionName` maps a function as written to its registered
 * spelling (built-in functions are lower case).
 */
export function outputName(expr: Expr, unnamedIndex: number, functionName?: (name: string) => string): string {
  return ownName(expr, functionName) ?? `${UNNAMED_PREFIX}${unnamedIndex}`;
}

/** Returns the output names of a whole list; a star is named `*`. Duplicates are kept for the planner to refuse. */
export function outputNames(items: readonly SelectItem[], functionName?: (name: string) => string): string[] {
  let unnamed = 0;
  return items.map(({ expr, alias }) => {
    if (alias !== null) return alias;
    return ownName(expr, functionName) ?? outputName(expr, unnamed++, functionName);
  });
}

function lowerCase(name: string): string {
  return name.toLowerCase();
}
