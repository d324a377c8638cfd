/** Prints MATCH_RECOGNIZE, and its pattern for EXPLAIN. */
import type { Expr, PatternClause, PatternPart } from '../ast.js';
import type { Printers } from '../late-match.js';

const rowsWords: Readonly<Record<PatternClause['rows'], string>> = {
  one: 'ONE ROW PER MATCH',
  showEmpty: 'ALL ROWS PER MATCH',
  omitEmpty: 'ALL ROWS PER MATCH OMIT EMPTY MATCHES',
  withUnmatched: 'ALL ROWS PER MATCH WITH UNMATCHED ROWS',
};

export function printMatch(clause: PatternClause, { name: printName, list: printList, order }: Printers): string {
  const { partitionBy, orderBy, measures, rows, skip, pattern, withinMs, subsets, defines } = clause;
  const printExpr = (expr: Expr) => printList([expr]);
  const parts: string[] = [];
  if (partitionBy.length > 0) parts.push(`PARTITION BY ${printList(partitionBy)}`);
  if (orderBy.length > 0) parts.push(`ORDER BY ${order(orderBy)}`);
  const named = measures.map(({ expr, name }) => `${printExpr(expr)} AS ${printName(name)}`);
  if (named.length > 0) parts.push(`MEASURES ${named.join(', ')}`);
  const to = { pastLast: 'PAST LAST ROW', next: 'TO NEXT ROW', first: 'TO FIRST ', last: 'TO LAST ' }[skip.to];
  parts.push(rowsWords[rows], `AFTER MATCH SKIP ${to}${skip.variable === null ? '' : printName(skip.variable)}`);
  parts.push(`PATTERN (${printPart(pattern, printName)})`);
  if (withinMs !== null) parts.push(`WITHIN ${printLength(withinMs)}`);
  const sets = subsets.map(
    ({ name, of }) => `${printName(name)} = (${of.map((one) => printName(one.name)).join(', ')})`,
  );
  if (sets.length > 0) parts.push(`SUBSET ${sets.join(', ')}`);
  const conditions = defines.map(({ name, condition }) => `${printName(name)} AS ${printExpr(condition)}`);
  if (conditions.length > 0) parts.push(`DEFINE ${conditions.join(', ')}`);
  return `MATCH_RECOGNIZE (${parts.join(' ')})`;
}

function printLength(ms: number): string {
  return `INTERVAL '${ms}' MILLISECOND`;
}

/** Prints a part of PATTERN; EXPLAIN shows it as well. */
export function printPart(part: PatternPart, printName: Printers['name']): string {
  const print = (one: PatternPart) => printPart(one, printName);
  switch (part.kind) {
    case 'variable':
      return printName(part.name);
    case 'sequence':
      if (part.parts.length === 0) return '()';
      return part.parts.map((one) => (one.kind === 'choice' ? `(${print(one)})` : print(one))).join(' ');
    case 'choice':
      return part.options.map((one) => (one.kind === 'choice' ? `(${print(one)})` : print(one))).join(' | ');
    case 'excluded':
      return `{- ${print(part.of)} -}`;
    case 'permute':
      return `PERMUTE(${part.of.map(print).join(', ')})`;
    case 'absent':
      return `NOT ${printName(part.name)} WITHIN ${printLength(part.withinMs)}`;
    case 'repeat': {
      const { of, least, most, isReluctant } = part;
      const isOne = of.kind === 'variable' || of.kind === 'excluded' || of.kind === 'permute';
      const bounds = most === null ? (least === 0 ? '*' : least === 1 ? '+' : `{${least},}`) : `{${least},${most}}`;
      const times = least === 0 && most === 1 ? '?' : bounds;
      return `${isOne ? print(of) : `(${print(of)})`}${times}${isReluctant ? '?' : ''}`;
    }
  }
}
