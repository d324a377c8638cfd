/** The output row. What it computes is part of the encode nodes, one for each form that sinks ask for. */
import type { Logical, OutputRow } from '../logical/logical.js';
import { showValue } from '../values/show.js';
import type { OperatorKind } from './operator.js';

declare module '../logical/logical.js' {
  interface LogicalOperators {
    project: { input: Logical; row: OutputRow };
  }
}

export const project: OperatorKind<'project'> = {
  isStateless: true,
  values: ({ row }) => [...row.entries.map(({ value }) => value), ...(row.star === null ? [] : [row.star.row])],
  map: (node, map) => {
    const entries = node.row.entries.map((entry) => ({ ...entry, value: map(entry.value) }));
    return { ...node, row: { ...node.row, entries } };
  },
  lower: () => undefined,
  explain({ row: { entries, star, set } }, { show }) {
    const fields = entries.map(({ name, value }) =>
      showValue(value) === name ? show(value) : `${show(value)} AS ${name}`,
    );
    if (star !== null) fields.unshift(star.except.length > 0 ? `* EXCEPT(${star.except.join(', ')})` : '*');
    if (set !== undefined) fields.push(show(set.value));
    return [['ProjectPlan', `Fields:[ ${fields.join(', ')} ]`]];
  },
};
