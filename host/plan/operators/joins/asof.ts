/** Joins each row of one stream with the newest of another that is no later. */

import { col, type NodePlan } from '../../../../kernels/plan/ir.js';
import type { JoinKey } from '../../logical/join-keys.js';
import { hasWatermark, type Logical } from '../../logical/logical.js';
import type { NodeKind } from '../../nodes/node.js';
import { ProgramBuilder } from '../../program/program.js';
import type { Relation } from '../../values/source.js';
import type { OperatorKind } from '../operator.js';
import { branchOf, type Kept, keptBy, keysOf, keyValues, mapKeys } from './timed-join.js';

declare module '../../logical/logical.js' {
  interface LogicalOperators {
    /**
     * Joins each row of one stream with the newest of another that is no later, by the order in which they come, among
     * those with equal keys; rows of further streams pass. `toleranceMs`: how much older it may be, null without a
     * bound.
     */
    asof: {
      input: Logical;
      left: Relation;
      source: Relation;
      type: 'inner' | 'left';
      keys: JoinKey[];
      toleranceMs: number | null;
    };
  }
}

export const asof: OperatorKind<'asof'> = {
  values: keyValues,
  map: (node, map) => ({ ...node, keys: mapKeys(node, map) }),
  /** Columns are those of the merge, then what is needed of rows, then of their partners, in event time their time. */
  lower(node, at) {
    const kept = keptBy(node, at);
    const { path } = at;
    const isField = ({ value }: Kept): boolean => at.ownerOf(value) === node.source.index;
    const builder = new ProgramBuilder(path);
    const keys = keysOf(node, builder);
    const fields = kept.filter(isField);
    const own = kept.filter((one) => !isField(one));
    const plan: NodePlan = {
      kind: 'asof',
      input: path.input,
      program: builder.finishOrNull(),
      branches: { type: node.type, left: branchOf(node, node.left.index), right: branchOf(node, node.source.index) },
      time: hasWatermark(node) ? path.columns : null,
      keys,
      // Number of the branch and time stamp stay where the merge has them.
      columns: [col(0), col(1), ...own.map(({ operand }) => operand)],
      fields: fields.map(({ operand }) => operand),
      bounds: { toleranceMs: node.toleranceMs, ttlMs: node.keys.length === 0 ? 0 : at.options.stateTtlMs },
      name: 'join',
    };
    at.pushNew(plan, 'join', [null, null, ...[...own, ...fields].map(({ value }) => value)]);
  },
  explain({ source, type, keys, toleranceMs }, { show }) {
    const by = keys.map(({ left, right }) => `${show(left)} = ${show(right)}`).join(', ');
    const bound = toleranceMs === null ? '' : `, at most ${toleranceMs} ms older`;
    const joinType = type === 'left' ? 'ASOF_LEFT_JOIN' : 'ASOF_JOIN';
    return [
      ['JoinPlan', `Joins:[ { joinType:${joinType}, newest row of ${source.ownName}${bound}, keys:[ ${by} ] } ]`],
    ];
  },
  keeps({ keys, source }) {
    const of = keys.length === 0 ? 'does not grow' : 'grows with the number of keys, not of rows';
    return `the newest row of ${source.ownName}${keys.length === 0 ? '' : ' for each key'}: ${of}`;
  },
  waits: (node) => (hasWatermark(node) ? 'for the watermark to pass their time' : undefined),
};

export const asofNode: NodeKind<'asof'> = {
  gives: ({ columns, fields }, { value, own, listed }) =>
    listed([...[...columns, ...fields].map((operand) => () => value(operand)), () => own('#time')]),
  rows({ input, branches, keys, bounds }, at) {
    const pairs = keys.flatMap(({ left, right }) => at.valuesOf([left, right]));
    const { type, left, right } = branches;
    const key = at.together('asof', at.rowsOf(input).key, type, left, right, pairs, bounds.toleranceMs);
    return at.added(input, key, 'ASOF JOIN');
  },
  keeps({ keys, columns, fields }, at) {
    const { key, words } = at.rows();
    // Rows that wait for the watermark are those of the left.
    const lefts = keys.map(({ left }) => left);
    const lists = [at.list('values', at.valuesOf([...columns, ...lefts])), at.list('values', at.valuesOf(fields))];
    return { key: at.together('asof', key), what: 'the newest rows of the ASOF JOIN', rows: words, lists };
  },
};
