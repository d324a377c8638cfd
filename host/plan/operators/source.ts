/** The rows of a stream as they come. */

import type { ColumnType, ColumnUse } from '../../../kernels/plan/ir.js';
import { Path } from '../program/program.js';
import { showValue } from '../values/show.js';
import type { Source } from '../values/source.js';
import type { OperatorKind } from './operator.js';

declare module '../logical/logical.js' {
  interface LogicalOperators {
    source: { source: Source };
  }
}

export const source: OperatorKind<'source'> = {
  isStateless: true,
  values: () => [],
  map: (node) => node,
  lower({ source: { index } }, at) {
    at.path = Path.ofSource(index, at.columns[index] ?? []);
  },
  explain({ source: { index, name } }, { read }) {
    const names = (read.columns[index] ?? [])
      .flatMap((value, i) => partsOf(showValue(value), read.uses[index]?.[i]))
      .sort();
    return [['DataSourcePlan', `StreamName: ${name}, StreamFields:[ ${names.join(', ')} ]`]];
  },
  relations: ({ source: own }) => [own],
};

/** Decoded parts of a column: its name, or the members of the object that are read. */
function partsOf(name: string, use: ColumnUse | undefined): string[] {
  const parts = (path: string, type: ColumnType): string[] => {
    if (type.type === 'array') return parts(`${path}[]`, type.element);
    if (type.type !== 'struct') return [path];
    return type.fields.flatMap((field) => parts(`${path}->${field.name}`, field.type));
  };
  return use?.kind === 'field' && use.read !== undefined ? parts(name, use.read) : [name];
}
