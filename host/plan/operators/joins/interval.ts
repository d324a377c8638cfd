/** Joins rows of two streams whose times are no further apart than an interval. */

import { col, type NodePlan } from '../../../../kernels/plan/ir.js';
import type { JoinKey } from '../../logical/join-keys.js';
import type { Logical } from '../../logical/logical.js';
import type { NodeKind } from '../../nodes/node.js';
import { ProgramBuilder } from '../../program/program.js';
import type { Relation } from '../../values/source.js';
import type { Value } from '../../values/value.js';
import type { OperatorKind } from '../operator.js';
import { branchOf, type Kept, keptBy, keysOf, keyValues, mapKeys } from './timed-join.js';

declare module '../../logical/logical.js' {
  interface LogicalOperators {
    /**
     * Joins rows of `left` with those of `source` whose time is `leastMs` to `mostMs` later (negative: earlier), among
     * those with equal keys; `condition` decides on each pair besides. What comes out has a time of its own, the end of
     * a window.
     */
    interval: {
      input: Logical;
      left: Relation;
      source: Relation;
      type: 'inner' | 'left' | 'right' | 'full';
      keys: JoinKey[];
      leastMs: number;
      mostMs: number;
      condition: Value | null;
    };
  }
}

export const interval: OperatorKind<'interval'> = {
  values: (node) => (node.condition === null ? keyValues(node) : [...keyValues(node), node.condition]),
  map: (node, map) => ({
    ...node,
    keys: mapKeys(node, map),
    condition: node.condition === null ? null : map(node.condition),
  }),
  /** Columns are what is needed of rows of the left, then of those of the right, then the time. */
  lower(node, at) {
    const kept = keptBy(node, at);
    const { path, next: index } = at;
    const isRight = ({ value }: Kept): boolean => at.ownerOf(value) === node.source.index;
    const builder = new ProgramBuilder(path);
    const keys = keysOf(node, builder);
    const rights = kept.filter(isRight);
    const lefts = kept.filter((one) => !isRight(one));
    const columns = [...lefts, ...rights].map(({ value }) => value);
    const plan: Extract<NodePlan, { kind: 'interval' }> = {
      kind: 'interval',
      input: path.input,
      program: builder.finishOrNull(),
      type: node.type,
      left: branchOf(node, node.left.index),
      time: path.columns,
      keys,
      lefts: lefts.map(({ operand }) => operand),
      rights: rights.map(({ operand }) => operand),
      bounds: { leastMs: node.leastMs, mostMs: node.mostMs },
      condition: null,
      name: 'join',
    };
    let after = path.afterNew(index, columns);
    if (node.condition !== null) {
      // Nodes below do not see the values that the condition computes: they belong to pairs, not all of which go on.
      const pair = new ProgramBuilder(after);
      const operand = pair.operand(node.condition);
      plan.condition = { program: pair.finish(), operand };
      after = after.afterNew(index, columns);
    }
    for (const part of ['end', 'trigger'] as const) after.keep(at.values.window(part), col(columns.length));
    at.record(plan, 'join');
    at.path = after;
  },
  explain({ source, left, type, keys, leastMs, mostMs, condition }, { show }) {
    const by = keys.map((key) => `${show(key.left)} = ${show(key.right)}`).join(', ');
    const on = condition === null ? '' : `, condition:${show(condition)}`;
    const span = `${source.ownName} ${leastMs} ms to ${mostMs} ms after ${left.ownName}`;
    return [['JoinPlan', `Joins:[ { joinType:INTERVAL_${type.toUpperCase()}_JOIN, ${span}, keys:[ ${by} ]${on} } ]`]];
  },
  /** Rows for which one of the other side may come yet; of a side that needs none they go at once. */
  keeps({ left, source, leastMs, mostMs }) {
    const spans = [
      { ownName: left.ownName, ms: mostMs },
      { ownName: source.ownName, ms: -leastMs },
    ].filter(({ ms }) => ms > 0);
    if (spans.length === 0) return 'rows of the newest time: does not grow';
    const kept = spans.map(({ ownName, ms }) => `the rows of ${ownName} of the last ${ms} ms`);
    return `${kept.join(' and ')}: grows with their number`;
  },
  growth({ keys, source }) {
    if (keys.length > 0) return [];
    return [
      `the join by time with ${source.ownName} has no equality: each row meets all within the interval, so that its ` +
        'work grows with the square of their number',
    ];
  },
};

export const intervalNode: NodeKind<'interval'> = {
  gives: ({ lefts, rights }, { value, own, listed }) =>
    listed([...[...lefts, ...rights].map((operand) => () => value(operand)), () => own('#time')]),
  rows({ input, type, left, keys, bounds, condition }, at) {
    const pairs = keys.flatMap((key) => at.valuesOf([key.left, key.right]));
    const on = condition === null ? null : at.conditionBelow(condition.program, condition.operand);
    const { leastMs, mostMs } = bounds;
    const key = at.together('interval', at.rowsOf(input).key, type, left, pairs, leastMs, mostMs, on);
    return at.added(input, key, 'JOIN');
  },
  keeps({ lefts, rights }, at) {
    const { key, words } = at.rows();
    const lists = [at.list('values', at.valuesOf(lefts)), at.list('values', at.valuesOf(rights))];
    return { key: at.together('interval', key), what: 'the rows of the JOIN', rows: words, lists };
  },
};
