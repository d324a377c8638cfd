/**
 * Joins each row with those of a lookup table that have its keys: of one that is kept, or of one that is asked outside.
 */

import type { NodePlan, WaitingPlan } from '../../../../kernels/plan/ir.js';
import type { Logical, LookupKey } from '../../logical/logical.js';
import type { Batch } from '../../nodes/batch.js';
import type { KeptPlace, NodeKind, Place, PlanOf, Rows } from '../../nodes/node.js';
import { ProgramBuilder } from '../../program/program.js';
import { isNone, windowNeeds } from '../../program/window-needs.js';
import type { Source } from '../../values/source.js';
import type { Value } from '../../values/value.js';
import type { OperatorKind } from '../operator.js';

declare module '../../logical/logical.js' {
  interface LogicalOperators {
    /** Joins each row with those of a lookup table that have the keys; `condition` decides on each pair besides. */
    lookup: {
      input: Logical;
      source: Source;
      type: 'inner' | 'left';
      keys: LookupKey[];
      condition: Value | null;
    };
  }
}

/** Limits until the start of the rule, when the table's own properties are known. */
const usualWaiting: WaitingPlan = { timeoutMs: 10_000, batches: 16, cache: null };

export const lookup: OperatorKind<'lookup'> = {
  values: ({ keys, condition }) => [...keys.map(({ value }) => value), ...(condition === null ? [] : [condition])],
  map: (node, map) => ({
    ...node,
    keys: node.keys.map((key) => ({ ...key, value: map(key.value) })),
    condition: node.condition === null ? null : map(node.condition),
  }),
  /** Columns are what those above need of the rows so far, then what they need of the table. */
  lower(node, at) {
    const { source, type, keys, condition } = node;
    const table = at.tableOf(source);
    const { path, next: index } = at;
    const own = at.columns[source.index] ?? [];
    const above = at.valuesAbove(node);
    const values = condition === null ? above : [...above, condition];
    const { keep, start, end, trigger } = windowNeeds(values, isNone, (value) => at.isHeld(value));
    const needed = [...keep, start, end, trigger].filter((value) => value !== null);
    const carried = needed.filter((value) => path.find(value) !== undefined);
    const builder = new ProgramBuilder(path);
    const plan: Extract<NodePlan, { kind: 'lookup' | 'ask' }> = {
      ...(source.isAsked
        ? { kind: 'ask', lookup: table, isSingle: false, waiting: usualWaiting }
        : { kind: 'lookup', table }),
      input: path.input,
      type,
      keys: keys.map(({ name, value }) => ({ name, operand: builder.operand(value) })),
      columns: carried.map((value) => builder.operand(value)),
      fields: own.map(({ use }) => use),
      program: builder.finishOrNull(),
      condition: null,
      name: 'lookup',
    };
    let after = path.afterNew(index, [...carried, ...own]);
    if (condition !== null) {
      // Nodes below do not see the values that the condition computes: they belong to pairs, not all of which go on.
      const pair = new ProgramBuilder(after);
      const operand = pair.operand(condition);
      plan.condition = { program: pair.finish(), operand };
      after = after.afterNew(index, [...carried, ...own]);
    }
    at.record(plan, null);
    at.addStep({ kind: 'lookup', nodes: [index], table: source.ownName });
    at.path = after;
  },
  explain({ source, type, keys, condition }, { show }) {
    const by = keys.map(({ name, value }) => `${source.ownName}.${name} = ${show(value)}`).join(', ');
    const on = condition === null ? '' : `, condition:${show(condition)}`;
    const kept = source.isKept
      ? `, kept by key ${source.definition.options.key}`
      : ', asked: rows wait for its answers';
    const info = `Join:{ joinType:${type.toUpperCase()}_JOIN, table:${source.name}${kept}, keys:[ ${by} ]${on} }`;
    return [['LookupPlan', info]];
  },
  relations: ({ source }) => [source],
};

type Lookup = PlanOf<'lookup' | 'ask'>;

export const lookupNode: NodeKind<'lookup'> = {
  gives,
  rows,
};

export const askNode: NodeKind<'ask'> = {
  gives,
  rows,
  keeps(node, at) {
    const { key, words } = at.rows();
    const lists = [at.list('values', [...at.valuesOf(node.columns), at.own('#failed')])];
    const called = at.names[at.tableOf(node)] ?? '';
    const states = node.states === undefined ? '' : `the states of ${called}, and `;
    const what = node.lookup === null ? 'rows that delay() holds back' : `${states}rows that wait for answers`;
    return { key: at.together('ask', key), what, rows: words, lists };
  },
};

function gives(node: Lookup, { value, values, listed, tableOf }: Place): Batch {
  const source = tableOf(node);
  const fields = node.fields.map((use) => () => values.column(source, use));
  return listed([...node.columns.map((operand) => () => value(operand)), ...fields]);
}

function rows(node: Lookup, at: KeptPlace): Rows {
  const source = at.tableOf(node);
  const keys = node.keys.map(({ operand }) => at.value(operand));
  const on = node.condition && at.conditionBelow(node.condition.program, node.condition.operand);
  const names = node.keys.map(({ name }) => name);
  const key = at.together('lookup', at.rowsOf(node.input).key, at.source(source), node.type, ...names, keys, on);
  if (node.kind === 'ask' && node.states !== undefined) return { ...at.rowsOf(node.input), key };
  const isDelay = node.kind === 'ask' && node.lookup === null;
  return at.added(node.input, key, isDelay ? 'delay()' : `JOIN ${at.names[source] ?? ''}`);
}
