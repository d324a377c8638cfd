/**
 * Joins with lookup tables: what a row is looked up by, and what its matches must be like besides. The table itself is
 * one node of the kernel for all rules, under the stream of the table's rows.
 */

import type { NodePlan, Operand } from '../../../kernels/plan/ir.js';
import type { Join, TableRef } from '../../sql/ast.js';
import type { Binder, Clause } from '../bind/bind.js';
import { joinErrors } from '../errors/join.js';
import type { Logical, LookupKey } from '../logical/logical.js';
import { Path, ProgramBuilder } from '../program/program.js';
import { conjuncts } from '../values/joined-row.js';
import type { Relation, Source } from '../values/source.js';
import { type ColumnValue, childrenOf, sourcesIn, type Value, type Values } from '../values/value.js';

export type Lookup = Omit<Extract<Logical, { kind: 'lookup' }>, 'input'>;

/** Checks FROM and the joins with lookup tables; throws `plan` errors. */
export function checkLookups(from: TableRef, joins: readonly Join[], sources: readonly Relation[]): void {
  if (sources[0]?.isLookup === true) {
    throw joinErrors.fromLookup(from.name, from.span);
  }
  joins.forEach(({ kind, on, table }, i) => {
    if (sources[i + 1]?.isLookup !== true) return;
    if (kind !== 'INNER' && kind !== 'LEFT') {
      throw joinErrors.lookupType(table.name, table.span);
    }
    if (on === null) throw needsEquality(table);
    const later = joins.slice(i + 1).find((join, j) => isOuter(join) && sources[i + j + 2]?.isLookup !== true);
    if (later !== undefined) {
      throw joinErrors.lookupBefore(later.kind, table.name, later.table.span);
    }
  });
}

function isOuter({ kind }: Join): boolean {
  return kind === 'RIGHT' || kind === 'FULL';
}

function needsEquality({ name, span }: TableRef): Error {
  return joinErrors.lookupKey(name, span);
}

/**
 * Binds the join with a lookup table: equalities of its columns with what the row has are keys. Of the rest a LEFT JOIN
 * leaves out what looks at no column of the table, as eKuiper does; `ignored` is told.
 */
export function bindLookup(
  { kind, on, table }: Join,
  source: Source,
  binder: Binder,
  clause: Clause,
  values: Values,
  ignored: (text: string) => void,
): Lookup {
  if (on === null) throw needsEquality(table);
  const keys: LookupKey[] = [];
  const rest: Value[] = [];
  for (const term of conjuncts(binder.bind(on, clause))) {
    const key = keyOf(term, source, values);
    if (key !== undefined && !keys.some(({ name }) => name === key.name)) keys.push(key);
    else if (kind === 'LEFT' && !sourcesIn(term).includes(source.index)) {
      ignored(
        `the LEFT JOIN with the lookup table ${source.ownName} leaves out what ON says of other columns than its own`,
      );
    } else rest.push(term);
  }
  if (keys.length === 0) throw needsEquality(table);
  const [first, ...more] = rest;
  const condition = first === undefined ? null : more.reduce((all, one) => values.op('logic.and', [all, one]), first);
  return { kind: 'lookup', source, type: kind === 'LEFT' ? 'left' : 'inner', keys, condition };
}

/** Key of a lookup: a column of the table, and the value of the row that it must equal; undefined for other terms. */
function keyOf(term: Value, source: Source, values: Values): LookupKey | undefined {
  if (term.kind !== 'op' || term.op !== 'compare.eq') return undefined;
  const [a, b] = term.operands;
  if (a == null || b == null) return undefined;
  for (const [column, other] of [
    [a, b],
    [b, a],
  ] as const) {
    if (column.kind !== 'column' || column.source !== source.index || column.use.kind !== 'field') continue;
    const value = beforeLookup(other, source, values);
    if (!sourcesIn(value).includes(source.index)) return { name: column.use.name, value };
  }
  return undefined;
}

/** A name that several have means a column of those before the table, in what the table is looked up by. */
function beforeLookup(value: Value, source: Source, values: Values): Value {
  return values.rewrite(value, (one) => {
    if (one.kind !== 'op' || one.op !== 'logic.present') return one;
    const args = one.args.filter((arg) => !sourcesIn(arg).includes(source.index));
    const [first, second] = args;
    if (first === undefined) return one;
    return second === undefined ? first : values.op('logic.present', [], args);
  });
}

/** True when a row matches one row of the table at most: tables that are asked may have several for a key. */
export function isByKey({ source, keys }: Pick<Lookup, 'source' | 'keys'>): boolean {
  if (source.isAsked) return false;
  const { key } = source.definition.options;
  return keys.some(({ name }) => name === key);
}

/** The node that keeps the rows of a table, and the columns that it reads of the table's stream. */
export interface TablePlan {
  columns: ColumnValue[];
  node: Extract<NodePlan, { kind: 'keyedTable' }>;
}

/**
 * Plans the node of a table: the same for all that read it, which makes it one node. Memory topics say with each
 * message where it has the kind of change.
 */
export function planTable(source: Source): TablePlan {
  const { values } = source;
  const row = source.row();
  const sent = values.column(source.index, { kind: 'row' });
  const kindName = source.meta(kindNameKey);
  const keyName = source.meta(keyNameKey);
  const columns = columnsIn([row, sent, kindName, keyName]);
  const builder = new ProgramBuilder(Path.ofSource(source.index, columns));
  const operand = (value: Value): Operand => builder.operand(value);
  const operands = { row: operand(row), sent: operand(sent), kindName: operand(kindName), keyName: operand(keyName) };
  const { key } = source.definition.options;
  const program = builder.finishOrNull();
  const input = { source: source.index };
  return { columns, node: { kind: 'keyedTable', input, program, key: key ?? '', ...operands, name: 'table' } };
}

/** Metadata of messages of memory topics: names of the members with the kind of change and with the key. */
const kindNameKey = 'rowkindField';
const keyNameKey = 'keyField';

function columnsIn(roots: readonly Value[]): ColumnValue[] {
  const found = new Set<ColumnValue>();
  const visit = (value: Value): void => {
    if (value.kind === 'column') found.add(value);
    for (const child of childrenOf(value)) visit(child);
  };
  roots.forEach(visit);
  return [...found];
}
