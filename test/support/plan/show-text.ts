/** Programs and operands as plans print them: r registers, c columns, constants by their value. */

import { showConst } from '../../../host/plan/values/show.js';
import {
  operandCol as firstColumn,
  operandConst as firstConst,
  NONE,
  type Op,
  type Operand,
  type Program,
} from '../../../kernels/plan/ir.js';

/** Prints operands of nodes that have the program. */
export type Show = (operand: Operand) => string;

export function showOps(program: Program | null | undefined): string[] {
  const show = shower(program ?? null);
  return (program?.ops ?? []).map((op) => showOp(op, show));
}

function showOp({ op, dst, a, b, c, args, imm }: Op, show: Show): string {
  const operands = [a, b, c].filter((operand) => operand !== undefined).map(show);
  const all = [...operands, ...(args ?? []).map(show)];
  return `${show(dst)} = ${op} ${all.join(' ')}${imm === undefined ? '' : ` #${imm}`}`;
}

export function shower(program: Program | null | undefined): Show {
  return (operand) => {
    if (operand === NONE) return '_';
    if (operand < firstColumn) return `r${operand}`;
    if (operand < firstConst) return `c${operand - firstColumn}`;
    const value = program?.consts[operand - firstConst];
    return value === undefined ? `k${operand - firstConst}` : showConst(value);
  };
}

/** `c0=…`, `c1=…`: columns with what they hold. */
export function numbered(columns: readonly string[]): string {
  return columns.map((text, i) => `c${i}=${text}`).join(' ');
}

/** ` by a=b c=d`, or nothing without keys. */
export function showKeys(keys: readonly { left: Operand; right: Operand }[], show: Show): string {
  return keys.length === 0 ? '' : ` by${keys.map(({ left, right }) => ` ${show(left)}=${show(right)}`).join('')}`;
}

/** A condition with a program of its own. */
export function showCondition(condition: { program: Program; operand: Operand } | null): string[] {
  if (condition === null) return [];
  return [...showOps(condition.program), `where ${shower(condition.program)(condition.operand)}`];
}
