/** Finds the columns that a rule needs of each stream: nothing else is decoded for it. */

import type { ColumnUse } from '../../../kernels/plan/ir.js';
import { limitErrors } from '../errors/limit.js';
import type { Logical } from '../logical/logical.js';
import { valuesOf } from '../operators/index.js';
import { type ColumnValue, childrenOf, type Value } from '../values/value.js';
import { narrowedUses } from './prune-members.js';

/** Columns of one rule; a stream has room for 16,384 of all its rules. */
const maxColumns = 4096;

export interface Needed {
  readonly columns: ColumnValue[][];
  /** Uses of these columns, with the part of their types that the rule reads. */
  readonly uses: ColumnUse[][];
}

/**
 * Returns the columns of each source in the order of first use.
 * @param operators of the whole plan
 * @param more values that the sinks add
 */
export function neededColumns(operators: readonly Logical[], more: readonly Value[], sources: number): Needed {
  const columns: ColumnValue[][] = Array.from({ length: sources }, () => []);
  const seen = new Set<Value>();
  const visit = (value: Value): void => {
    if (seen.has(value)) return;
    seen.add(value);
    if (value.kind === 'column') columns[value.source]?.push(value);
    for (const child of childrenOf(value)) visit(child);
  };
  for (const node of operators) if (node.kind !== 'project') for (const value of valuesOf(node)) visit(value);
  for (const value of more) visit(value);
  for (const needed of columns) {
    if (needed.length > maxColumns) throw limitErrors.columns(maxColumns);
  }
  return { columns, uses: narrowedUses(columns, operators, more) };
}
