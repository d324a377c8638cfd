/** The SELECT list as an output row: names, wildcards with EXCEPT and REPLACE, duplicates. */
import type { Expr, Select } from '../sql/ast.js';
import { outputNames, ownName } from '../sql/names.js';
import type { Binder, Clause } from './bind.js';
import { notSupported, refuse } from './errors.js';
import type { OutputEntry, OutputRow } from './logical.js';
import type { Scope } from './scope.js';

type Star = Extract<Expr, { kind: 'star' }>;

/** Binds the items of the list. Throws a `plan` error for two outputs of one name. */
export function bindSelectList(select: Select, scope: Scope, binder: Binder, clause: Clause): OutputRow {
  const names = outputNames(select.items);
  const row: OutputRow = { entries: [], star: null };
  /** Names that stand in the list themselves; they win over columns that a wildcard brings. */
  const named = new Set<string>();
  const wild = new Map<string, OutputEntry>();
  for (const [i, item] of select.items.entries()) {
    const { expr, alias } = item;
    if (expr.kind === 'star') {
      if (item.invisible) throw refuse('* cannot be INVISIBLE', expr.span);
      if (alias !== null) throw refuse('* cannot have an alias', expr.span);
      addStar(expr, row, wild, named, scope, binder, clause);
      continue;
    }
    const value =
      alias === null
        ? binder.bind(expr, clause)
        : scope.resolve(alias, clause.place, expr.span, (own) => binder.bind(own.expr, clause));
    if (item.invisible) continue;
    const name = names[i] ?? '';
    const entry: OutputEntry = {
      name,
      value,
      isPlain: alias === null && expr.kind === 'column' && value.kind === 'column',
      isUnnamed: alias === null && ownName(expr) === null,
    };
    add(entry, row, named, expr);
  }
  if (wild.size > 0) {
    const own = new Set(row.entries.map(({ name }) => name));
    row.entries = [...[...wild.values()].filter(({ name }) => !own.has(name)), ...row.entries];
  }
  if (row.star !== null) {
    // The wildcard brings the column already.
    const { star } = row;
    row.entries = row.entries.filter(({ name, isPlain }) => !isPlain || star.except.includes(name));
    star.except = star.except.filter((name) => !row.entries.some((entry) => entry.name === name));
  }
  return row;
}

function add(entry: OutputEntry, row: OutputRow, named: Set<string>, expr: Expr): void {
  if (named.has(entry.name)) {
    throw refuse(`two output columns are named ${entry.name}, give one of them another alias`, expr.span);
  }
  named.add(entry.name);
  row.entries.push(entry);
}

function addStar(
  expr: Star,
  row: OutputRow,
  wild: Map<string, OutputEntry>,
  named: Set<string>,
  scope: Scope,
  binder: Binder,
  clause: Clause,
): void {
  const [first, second] = scope.sources;
  const source = expr.qualifier === null ? first : scope.sourceNamed(expr.qualifier);
  if (source === undefined) throw refuse(`unknown stream ${expr.qualifier}`, expr.span);
  if (expr.qualifier === null && second !== undefined) {
    addAllStars(expr, row, wild, named, scope, binder, clause);
    return;
  }
  const replaced = addReplaced(expr, row, named, binder, clause);
  const except = expr.except.filter((name) => !replaced.has(name));
  const { declared } = source;
  if (declared !== null) {
    for (const name of declared) {
      if (except.includes(name) || replaced.has(name)) continue;
      wild.set(name, { name, value: source.column(name), isPlain: true, isUnnamed: false });
    }
  } else if (row.star === null) {
    row.star = { source, row: source.row(), except };
  } else {
    row.star.except = row.star.except.filter((name) => except.includes(name));
  }
}

/** `*` of a join: the columns of all streams, of equal names the one that a joined row has first. */
function addAllStars(
  expr: Star,
  row: OutputRow,
  wild: Map<string, OutputEntry>,
  named: Set<string>,
  scope: Scope,
  binder: Binder,
  clause: Clause,
): void {
  if (scope.sources.some(({ declared }) => declared === null)) {
    throw notSupported('* in a join of streams without declared columns', expr.span);
  }
  const replaced = addReplaced(expr, row, named, binder, clause);
  for (const [name, value] of scope.allColumns()) {
    if (expr.except.includes(name) || replaced.has(name)) continue;
    wild.set(name, { name, value, isPlain: value.kind === 'column', isUnnamed: false });
  }
}

/** Adds what REPLACE computes and returns its names. */
function addReplaced(expr: Star, row: OutputRow, named: Set<string>, binder: Binder, clause: Clause): Set<string> {
  const replaced = new Set<string>();
  for (const { expr: inner, alias } of expr.replace) {
    const name = alias ?? ownName(inner);
    if (name === null || name === '*') throw refuse('an expression in REPLACE needs a name (AS column)', inner.span);
    replaced.add(name);
    const value = binder.bind(inner, clause);
    add({ name, value, isPlain: false, isUnnamed: false }, row, named, inner);
  }
  return replaced;
}
