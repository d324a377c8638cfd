/** The SELECT list as an output row: names, wildcards with EXCEPT and REPLACE, duplicates. */

import { declaredName } from '../../functions/registry.js';
import type { Expr, Select, SelectItem } from '../../sql/ast.js';
import { outputNames, ownName } from '../../sql/names.js';
import { expressionErrors } from '../errors/expression.js';
import { selectErrors } from '../errors/select.js';
import type { OutputEntry, OutputRow } from '../logical/logical.js';
import { isColumn, mergedObject } from '../values/joined-row.js';
import type { Relation } from '../values/source.js';
import type { Value, Values } from '../values/value.js';
import { sourcesIn } from '../values/value.js';
import type { Binder, Clause } from './bind.js';
import { replacedName } from './replaced.js';
import type { Scope } from './scope.js';

type Star = Extract<Expr, { kind: 'star' }>;
type ChangedColumns = Extract<Expr, { kind: 'call' }>;

/** Output of a SELECT list: rows with these columns, several for one row where it has a function of several rows. */
export interface SelectList {
  row: OutputRow;
  expand: { list: Value; of: 'elements' | 'members' } | null;
}

/** Binds the items of the list. Throws a `plan` error for two outputs of one name. */
export function bindSelectList(
  select: Pick<Select, 'items'>,
  scope: Scope,
  binder: Binder,
  clause: Clause,
): SelectList {
  const names = outputNames(select.items, declaredName);
  const row: OutputRow = { entries: [], star: null };
  let expand: SelectList['expand'] = null;
  /** Names that stand in the list themselves; they win over columns that a wildcard brings. */
  const named = new Set<string>();
  const wild = wildcardsOf(select, scope);
  for (const [i, item] of select.items.entries()) {
    const { expr, alias } = item;
    if (isChangedColumns(expr)) {
      if (alias !== null) throw selectErrors.changedColsNamed(expr.span);
      addChanged(expr, row, wild, named, scope, binder, clause);
      continue;
    }
    if (expr.kind === 'star') {
      if (item.invisible) throw selectErrors.starInvisible(expr.span);
      if (alias !== null) throw selectErrors.starAlias(expr.span);
      addStar(expr, row, wild, named, scope, binder, clause);
      continue;
    }
    const rows = binder.rowsOf(expr, clause);
    if (rows !== null) {
      if (expand !== null) throw selectErrors.severalRowMakers(expr.span);
      if (item.invisible) throw selectErrors.rowMakerInvisible(names[i], expr.span);
      expand = rows;
      row.set = setOf(rows, names[i] ?? '', scope.values);
      continue;
    }
    const entry = entryOf(item, names[i] ?? '', scope, binder, clause);
    if (entry !== null) add(entry, row, named, expr);
  }
  addBrought(row, wild);
  row.star = starOf(wild, scope);
  if (row.star !== null) leaveToStar(row, row.star);
  return { row, expand };
}

/** The wildcards of a list before their columns are added. */
function wildcardsOf({ items }: Pick<Select, 'items'>, scope: Scope): Wildcards {
  const stars = items.flatMap(({ expr }) => (expr.kind === 'star' ? [expr] : []));
  return {
    columns: new Map(),
    isOfObjects: stars.some((star) => starSources(star, scope).some(({ declared }) => declared === null)),
    changedColumns: new Map(),
    changed: [],
    objects: new Map(),
  };
}

/** The column that a function of several rows fills. */
function setOf({ of }: NonNullable<SelectList['expand']>, name: string, values: Values): OutputRow['set'] {
  const value = values.op('nested.spread', [values.item(), values.text(name)]);
  return { value, name: of === 'elements' ? name : null };
}

/** The column of an expression of the list; null for an invisible one, which is bound for its errors. */
function entryOf(item: SelectItem, name: string, scope: Scope, binder: Binder, clause: Clause): OutputEntry | null {
  const { expr, alias } = item;
  const value =
    alias === null
      ? binder.bind(expr, clause)
      : scope.resolve(alias, clause.place, expr.span, (own) => binder.bind(own.expr, clause));
  if (item.invisible) return null;
  const isNamed = expr.kind === 'column' && !isPick(expr, scope);
  return {
    name,
    value,
    isPlain: alias === null && isNamed && isColumn(value),
    isBrought: false,
    isUnnamed: alias === null && !isNamed,
  };
}

/** Puts the columns that wildcards and changed_cols bring before those of the list, which win over them. */
function addBrought(row: OutputRow, wild: Wildcards): void {
  if (wild.columns.size > 0) {
    const own = new Set(row.entries.map(({ name }) => name));
    const entries = row.entries.map((entry) =>
      entry.isPlain && wild.columns.has(entry.name) ? { ...entry, isBrought: true } : entry,
    );
    row.entries = [...[...wild.columns.values()].filter(({ name }) => !own.has(name)), ...entries];
  }
  const all = new Set(row.entries.map(({ name }) => name));
  row.entries = [...[...wild.changedColumns.values()].filter(({ name }) => !all.has(name)), ...row.entries];
}

/** Removes the columns that the object of the wildcards has already. */
function leaveToStar(row: OutputRow, star: NonNullable<OutputRow['star']>): void {
  const brought = star.sources.map(({ index }) => index);
  const isBrought = ({ name, value, isPlain }: OutputEntry): boolean =>
    isPlain && sourcesIn(value).every((source) => brought.includes(source)) && !star.except.includes(name);
  row.entries = row.entries.filter((entry) => !isBrought(entry));
  // A column that rows may not have leaves no place for that of the wildcard either.
  star.except = star.except.filter((name) => !row.entries.some((entry) => entry.name === name && !entry.isBrought));
}

/** True for a call of changed_cols. */
function isChangedColumns(expr: Expr): expr is ChangedColumns {
  return expr.kind === 'call' && expr.name.toLowerCase() === 'changed_cols';
}

/**
 * Adds a column for each value of changed_cols, which rows have where it changed; members of all columns without a
 * schema.
 */
function addChanged(
  expr: ChangedColumns,
  row: OutputRow,
  wild: Wildcards,
  named: Set<string>,
  scope: Scope,
  binder: Binder,
  clause: Clause,
): void {
  const { prefix, ignoreNull, values } = binder.bindChanged(expr, clause);
  // Unlike in the list itself, what brings no name of its own has none but the prefix.
  const { node } = scope;
  const lookingBack = (fn: 'changedItem' | 'changedColumns', args: Value[]) =>
    scope.values.analytic(fn, args, 0, [], null, [], false, node);
  for (const value of values) {
    if (value.kind === 'star') {
      const sources = starSources(value, scope);
      const changed = (one: Value) => lookingBack('changedItem', [ignoreNull, one]);
      const isDeclared = sources.every(({ declared }) => declared !== null);
      if (!isDeclared || value.replace.length > 0) {
        const members = binder.bindArgument(value, clause);
        wild.changed.push(lookingBack('changedColumns', [ignoreNull, members, scope.values.text(prefix)]));
        continue;
      }
      for (const [name, column] of scope.allColumns(sources)) {
        if (value.except.includes(name)) continue;
        wild.changedColumns.set(prefix + name, changedEntry(prefix + name, changed(column)));
      }
      continue;
    }
    const entry = lookingBack('changedItem', [ignoreNull, binder.bind(value, clause)]);
    add(changedEntry(prefix + (ownName(value) ?? ''), entry), row, named, expr);
  }
}

function changedEntry(name: string, value: Value): OutputEntry {
  return { name, value, isPlain: true, isBrought: true, isUnnamed: false };
}

/** True for `o.x` where `o` is a column: a member of its value. */
function isPick({ qualifier }: Extract<Expr, { kind: 'column' }>, scope: Scope): boolean {
  return qualifier !== null && scope.sourceNamed(qualifier) === undefined;
}

function add(entry: OutputEntry, row: OutputRow, named: Set<string>, expr: Expr): void {
  if (named.has(entry.name)) {
    throw selectErrors.sameColumnName(entry.name, expr.span);
  }
  named.add(entry.name);
  row.entries.push(entry);
}

/** Columns that the wildcards of a list have brought so far. */
interface Wildcards {
  /** Declared columns by name. */
  columns: Map<string, OutputEntry>;
  /** Some stream of a wildcard has no schema: rows go out as objects. */
  isOfObjects: boolean;
  /** Declared columns where they changed, by name. */
  changedColumns: Map<string, OutputEntry>;
  /** Objects of columns that changed. */
  changed: Value[];
  /** Names that are not to go out, by the stream whose members are brought as an object. */
  objects: Map<Relation, string[]>;
}

function addStar(
  expr: Star,
  row: OutputRow,
  wild: Wildcards,
  named: Set<string>,
  scope: Scope,
  binder: Binder,
  clause: Clause,
): void {
  const sources = starSources(expr, scope);
  const replaced = addReplaced(expr, row, named, binder, clause);
  const except = expr.except.filter((name) => !replaced.has(name));
  if (wild.isOfObjects) {
    for (const source of sources) {
      const before = wild.objects.get(source);
      wild.objects.set(source, before === undefined ? except : before.filter((name) => except.includes(name)));
    }
    return;
  }
  for (const [name, value] of scope.allColumns(sources)) {
    if (except.includes(name) || replaced.has(name)) continue;
    wild.columns.set(name, { name, value, isPlain: true, isBrought: true, isUnnamed: false });
  }
}

/** Streams that a wildcard means, in the order in which a joined row is searched for a name. */
function starSources({ qualifier, span }: Star, scope: Scope): readonly Relation[] {
  if (qualifier === null) return scope.order;
  const source = scope.sourceNamed(qualifier);
  if (source === undefined) throw expressionErrors.unknownStream(qualifier, span);
  return [source];
}

/** The object that the wildcards make, null without one. */
function starOf(wild: Wildcards, scope: Scope): OutputRow['star'] {
  const star = starOfAll(wild, scope);
  if (wild.changed.length === 0) return star;
  const all = star === null ? wild.changed : [star.row, ...wild.changed];
  return { sources: [], except: [], ...star, row: mergedObject(scope.values, all) };
}

function starOfAll({ objects }: Wildcards, { order, values }: Scope): OutputRow['star'] {
  const sources = order.filter((source) => objects.has(source));
  const [first, second] = sources;
  if (first === undefined) return null;
  const excepts = sources.map((source) => objects.get(source) ?? []);
  const [except = []] = excepts;
  if (second === undefined || excepts.every((names) => names.join() === except.join())) {
    const row = mergedObject(
      values,
      sources.map((source) => source.row()),
    );
    return { sources, row, except: [...except] };
  }
  const missing = values.constant({ tag: 'missing' });
  const rows = sources.map((source, i) => {
    const removed = (excepts[i] ?? []).flatMap((name) => [values.text(name), missing]);
    return removed.length === 0 ? source.row() : values.op('nested.merge', [source.row()], removed);
  });
  return { sources, row: mergedObject(values, rows), except: [] };
}

/** Adds what REPLACE computes and returns its names. */
function addReplaced(expr: Star, row: OutputRow, named: Set<string>, binder: Binder, clause: Clause): Set<string> {
  const replaced = new Set<string>();
  for (const item of expr.replace) {
    const { expr: inner } = item;
    const name = replacedName(item);
    replaced.add(name);
    const value = binder.bind(inner, clause);
    add({ name, value, isPlain: false, isBrought: false, isUnnamed: false }, row, named, inner);
  }
  return replaced;
}
