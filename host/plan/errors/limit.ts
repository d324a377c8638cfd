/** Refusals of what is larger than the kernel takes. */
import { planErrors } from './table.js';

export const limitErrors = planErrors('limit', {
  registers: (registerCount: number) =>
    `the rule needs more than ${registerCount} intermediate results, simplify its expressions`,
  constants: (constCount: number) => `the rule has more than ${constCount} constants in one step`,
  arguments: (count: number, most: number) =>
    `a list, a CASE or a call of a function has ${count} values, but takes ${most} at most`,
  columns: (maxColumns: number) => `the rule reads more than ${maxColumns} columns of a stream`,
  orders: (maxOrders: number) => `row_number numbers rows in more than ${maxOrders} orders`,
  height: (mostHeight: number) => `expressions build on each other over more than ${mostHeight} steps`,
});
