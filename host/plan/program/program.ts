/** Turns values into programs: registers, operands and constants along one path from a source to a sink. */

import { callMaxArgs, opsMaxArgs } from '../../../kernels/gen/layouts.js';
import type { ConstValue, NodeInput, Op, Operand, Program } from '../../../kernels/plan/ir.js';
import { col, constant, NONE, reg } from '../../../kernels/plan/ir.js';
import { limitErrors } from '../errors/limit.js';
import { constKey, type Value } from '../values/value.js';

const registerCount = 512;
const constCount = 0x7fff;

/**
 * The batch that flows at one place of the plan: where values stand in it. Registers that one node filled are still
 * there for the nodes below it, until a node makes a new batch.
 */
export class Path {
  private constructor(
    readonly input: NodeInput,
    private readonly operands: Map<Value, Operand>,
    private nextRegister: number,
    /** Values in the columns of the batch; null: a value that no expression of the rule reads. */
    readonly columnValues: readonly (Value | null)[],
  ) {}

  /** Number of columns of the batch. */
  get columns(): number {
    return this.columnValues.length;
  }

  /** The batch of a source: its columns in order. */
  static ofSource(source: number, columns: readonly Value[]): Path {
    return new Path({ source }, columnMap(columns), 0, columns);
  }

  /** Behind a merge of what comes from several places: registers that those have filled stay untouched. */
  static ofMerge(node: number, columns: readonly (Value | null)[], branches: readonly Path[]): Path {
    const register = Math.max(0, ...branches.map(({ nextRegister }) => nextRegister));
    return new Path({ node }, columnMap(columns), register, columns);
  }

  /** Behind a node that passes the same batch on; the path before it is not used any more. */
  after(node: number): Path {
    return new Path({ node }, this.operands, this.nextRegister, this.columnValues);
  }

  /** Copy of the path for one of several nodes that read it side by side: they do not see each other's registers. */
  branch(): Path {
    return new Path(this.input, new Map(this.operands), this.nextRegister, this.columnValues);
  }

  /** Behind a node that makes a new batch with these columns (null: a column of the node's own). */
  afterNew(node: number, columns: readonly (Value | null)[]): Path {
    return new Path({ node }, columnMap(columns), this.nextRegister, columns);
  }

  /** Path at the same place that has only these operands, by the values that the operators above read. */
  withOnly(operands: ReadonlyMap<Value, Operand>): Path {
    const columns = this.columnValues.map((): Value | null => null);
    for (const [value, operand] of operands) {
      const i = operand - col(0);
      if (columns[i] === null) columns[i] = value;
    }
    return new Path(this.input, new Map(operands), this.nextRegister, columns);
  }

  find(value: Value): Operand | undefined {
    return this.operands.get(value);
  }

  keep(value: Value, operand: Operand): void {
    this.operands.set(value, operand);
  }

  takeRegister(): number {
    if (this.nextRegister >= registerCount) {
      throw limitErrors.registers(registerCount);
    }
    return this.nextRegister++;
  }
}

function columnMap(columns: readonly (Value | null)[]): Map<Value, Operand> {
  const map = new Map<Value, Operand>();
  columns.forEach((value, i) => {
    if (value !== null && !map.has(value)) map.set(value, col(i));
  });
  return map;
}

/** Collects the operations of one node. */
export class ProgramBuilder {
  private readonly ops: Op[] = [];
  private readonly consts: ConstValue[] = [];
  private readonly constIndex = new Map<string, number>();

  constructor(private readonly path: Path) {}

  /** Where the value stands after the program ran; adds the operations that compute it, if it is not there already. */
  operand(value: Value): Operand {
    if (value.kind === 'const') return this.constant(value.value);
    const found = this.path.find(value);
    if (found !== undefined) return found;
    if (value.kind !== 'op') throw new Error(`${value.kind} ${value.id} is not a column of the batch`);
    const [a, b, c] = value.operands.map((operand) => (operand === null ? NONE : this.operand(operand)));
    const most = value.op === 'call.host' ? callMaxArgs : opsMaxArgs;
    if (value.args.length > most) throw limitErrors.arguments(value.args.length, most);
    const args = value.args.map((arg) => this.operand(arg));
    const dst = this.path.takeRegister();
    const op: Op = { op: value.op, dst: reg(dst) };
    if (a !== undefined) op.a = a;
    if (b !== undefined) op.b = b;
    if (c !== undefined) op.c = c;
    if (args.length > 0) op.args = args;
    if (value.imm !== 0) op.imm = value.imm;
    this.ops.push(op);
    this.path.keep(value, reg(dst));
    return reg(dst);
  }

  finish(): Program {
    return { ops: this.ops, consts: this.consts };
  }

  /** The program, or null when there is nothing to compute and no constant. */
  finishOrNull(): Program | null {
    return this.ops.length === 0 && this.consts.length === 0 ? null : this.finish();
  }

  private constant(value: ConstValue): Operand {
    const key = constKey(value);
    let index = this.constIndex.get(key);
    if (index === undefined) {
      index = this.consts.length;
      if (index >= constCount) throw limitErrors.constants(constCount);
      this.consts.push(value);
      this.constIndex.set(key, index);
    }
    return constant(index);
  }
}
