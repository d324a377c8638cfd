/** Constant folding: a program without columns run on one row. */

import { column, operandCol as firstColumn, operandConst as firstConst } from '../gen/layouts.js';
import type { KernelExports } from '../memory/abi.js';
import type { Arena } from '../memory/arena.js';
import { KernelError } from '../memory/error.js';
import { Instant, type Value, type ValueAccess, ValueError } from '../values/value.js';
import type { ConstValue, Operand, Program } from './ir.js';
import { encodeProgram } from './program.js';

/**
 * Runs the program and returns the operand's value, or why it has none: an error of an operation, or a value that no
 * constant can hold (a datetime, bytes). Throws RangeError when the program reads columns.
 */
export function evaluateProgram(
  kernel: KernelExports,
  arena: Arena,
  access: ValueAccess,
  program: Program,
  result: Operand,
): { value: ConstValue } | { error: string } {
  if (result >= firstConst) {
    const value = program.consts[result - firstConst];
    if (value === undefined) throw new RangeError(`no constant ${result - firstConst}`);
    return { value };
  }
  if (result >= firstColumn || program.ops.some(readsColumn)) throw new RangeError('a constant can not read columns');
  const bytes = encodeProgram(program);
  return arena.lend([bytes], (at) => {
    const made = kernel.programNew(at as number, bytes.length, 0) >>> 0;
    if (made === 0) throw new KernelError('the memory of the kernel is exhausted', false);
    try {
      kernel.evaluate(made, Date.now());
      const register = kernel.registerAt(result) >>> 0;
      const value = access.read(access.view().getUint8(register + column.at.tags), register + column.at.vals);
      return asConstant(value);
    } finally {
      kernel.programFree(made);
    }
  });
}

function readsColumn(op: Program['ops'][number]): boolean {
  return [op.a, op.b, op.c, ...(op.args ?? [])].some(
    (operand) => operand !== undefined && operand >= firstColumn && operand < firstConst,
  );
}

function asConstant(value: Value): { value: ConstValue } | { error: string } {
  try {
    return { value: constantOf(value) };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

/** The constant of a program that is the value. Throws when it is an error or no constant can hold it. */
export function constantOf(value: Value): ConstValue {
  if (value === undefined) return { tag: 'missing' };
  if (value === null) return { tag: 'null' };
  if (typeof value === 'boolean') return { tag: 'bool', value };
  if (typeof value === 'bigint') return { tag: 'i64', value };
  if (typeof value === 'number') return { tag: 'f64', value };
  if (typeof value === 'string') return { tag: 'str', value };
  if (value instanceof ValueError) throw new Error(value.message);
  if (value instanceof Instant || value instanceof Uint8Array) throw new Error('no constant can hold the value');
  if (Array.isArray(value)) return { tag: 'array', items: value.map(constantOf) };
  return {
    tag: 'object',
    members: Object.entries(value).map(([key, item]): [string, ConstValue] => [key, constantOf(item)]),
  };
}
