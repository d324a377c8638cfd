/** Computes analytic functions: it passes all rows, results are in registers. */

import type { AnalyticPlan } from '../../../kernels/nodes/analytic.js';
import { type Operand, reg } from '../../../kernels/plan/ir.js';
import type { Logical } from '../logical/logical.js';
import type { NodeKind } from '../nodes/node.js';
import { ProgramBuilder } from '../program/program.js';
import type { AnalyticValue, Value } from '../values/value.js';
import type { OperatorKind } from './operator.js';

declare module '../logical/logical.js' {
  interface LogicalOperators {
    /** Computes analytic functions for all operators above. */
    analytic: { input: Logical; values: AnalyticValue[] };
  }
}

/** Functions that keep all values of a partition. */
const keepsAll: ReadonlySet<string> = new Set(['incCollect', 'accCollect', 'accDistinctCollect', 'accMapAgg']);

export const analytic: OperatorKind<'analytic'> = {
  values: ({ values }) => values,
  map: (node, map) => ({ ...node, values: node.values.map(map).filter((value) => value.kind === 'analytic') }),
  lower({ values }, at) {
    for (const value of values) at.held.add(value);
    const { path } = at;
    const builder = new ProgramBuilder(path);
    const operand = (value: Value): Operand => builder.operand(value);
    const functions = values.map(({ fn, args, size, partition, when }): AnalyticPlan => {
      const plan = { fn, args: args.map(operand), size, partition: partition.map(operand), dst: 0 };
      return when === null ? plan : { ...plan, when: operand(when) };
    });
    values.forEach((value, i) => {
      const dst = path.takeRegister();
      functions[i]!.dst = dst;
      path.keep(value, reg(dst));
    });
    // State without partitions is kept as long as the rule runs.
    const ttlMs = values.some(({ partition }) => partition.length > 0) ? at.options.stateTtlMs : 0;
    const program = builder.finishOrNull();
    at.push({ kind: 'analytic', input: path.input, program, functions, ttlMs, name: 'analytic' }, 'analytic');
  },
  explain: ({ values }, { all }) => [['AnalyticFuncsPlan', `Funcs:[ ${all(values)} ]`]],
  keeps: ({ values }) =>
    values.some(({ fn }) => keepsAll.has(fn))
      ? 'all values of inc_collect of each partition: grows with the number of rows'
      : 'a value of each function and partition: grows with the number of partitions, not of rows',
};

export const analyticNode: NodeKind<'analytic'> = {
  gives({ functions }, { input, value, valuesOf, values }) {
    for (const { fn, args, size, partition, when, dst } of functions) {
      const condition = when === undefined ? null : value(when);
      const over = valuesOf(partition);
      input.set(dst, values.analytic(fn, valuesOf(args), size, over, condition));
    }
    return input;
  },
  keeps({ functions, input }, at) {
    const { key, words } = at.rowsOf(input);
    // Nothing else writes the registers of the node.
    const values = functions.map(({ dst }) => at.value(dst));
    const lists = [at.list('functions', values)];
    return { key: at.together('analytic', key), what: at.texts(values), rows: words, lists };
  },
};
