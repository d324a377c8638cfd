/**
 * Programs as bytes: what `programNew` (assembly/ops/vm.ts) takes. The block holds offsets from its own start, so it
 * can be copied anywhere, kept and compared.
 */
import {
  operandCol as firstColumn,
  operandConst as firstConst,
  member as memberLayout,
  operation as opLayout,
  program as programLayout,
  registerCount,
  slot as slotLayout,
  Tag,
} from '../gen/layouts.js';
import { ops } from '../gen/ops.js';
import { put } from '../memory/layout.js';
import { type ConstValue, constant, NONE, type Op, type Operand, type Program } from './ir.js';

/** Zero bytes after the text, so that 16-byte reads stay inside the block. */
const padding = 16;

const utf8 = new TextEncoder();

/** Writes the program as a block. Throws RangeError when a number does not fit its field. */
export function encodeProgram(program: Program): Uint8Array {
  const args: Operand[] = [];
  for (const op of program.ops) args.push(...(op.args ?? []));
  const opsAt = programLayout.size;
  const constsAt = align(opsAt + program.ops.length * opLayout.size);
  const argsAt = constsAt + program.consts.length * slotLayout.size;
  const block = new Block(align(argsAt + args.length * 2));

  put(block.view, 0, programLayout, {
    opCount: program.ops.length,
    constCount: program.consts.length,
    ops: opsAt,
    consts: constsAt,
    args: argsAt,
    argCount: args.length,
  });
  let argStart = 0;
  program.ops.forEach((op, i) => {
    checkOp(op, i, program.consts.length);
    writeOp(block, opsAt + i * opLayout.size, op, argStart);
    argStart += op.args?.length ?? 0;
  });
  program.consts.forEach((value, i) => {
    writeValue(block, constsAt + i * slotLayout.size, value);
  });
  args.forEach((operand, i) => {
    block.u16(argsAt + i * 2, operand);
  });
  block.reserve(padding);
  return block.finish();
}

/**
 * The program with column i read as column `columnMap[i]`: a rule numbers its columns itself, a stream's batch has
 * those of all its rules. With null the program itself.
 */
export function relocateColumns(program: Program, columnMap: readonly number[] | null): Program {
  if (columnMap === null) return program;
  const map = (operand: Operand) => relocateOperand(operand, columnMap);
  return {
    consts: program.consts,
    ops: program.ops.map((op) => ({
      ...op,
      ...(op.a === undefined ? {} : { a: map(op.a) }),
      ...(op.b === undefined ? {} : { b: map(op.b) }),
      ...(op.c === undefined ? {} : { c: map(op.c) }),
      ...(op.args === undefined ? {} : { args: op.args.map(map) }),
    })),
  };
}

/** The program with the start of its rule as a constant where `move.ruleStart` asks for it. */
export function startedAt(program: Program, now: number): Program {
  if (!program.ops.some(({ op }) => op === 'move.ruleStart')) return program;
  const start = constant(program.consts.length);
  return {
    consts: [...program.consts, { tag: 'i64', value: BigInt(Math.trunc(now)) }],
    ops: program.ops.map((op) => (op.op === 'move.ruleStart' ? { ...op, a: start } : op)),
  };
}

/** As `relocateColumns` for one operand; registers and constants stay. */
export function relocateOperand(operand: Operand, columnMap: readonly number[]): Operand {
  if (operand < firstColumn || operand >= firstConst) return operand;
  const column = columnMap[operand - firstColumn];
  if (column === undefined)
    throw new RangeError(`column ${operand - firstColumn} of the rule has no place in the batch`);
  return firstColumn + column;
}

function checkOp(op: Op, index: number, constCount: number): void {
  const known = ops[op.op];
  if (known === undefined) throw new RangeError(`op ${index}: unknown operation ${op.op}`);
  if (!(op.dst >= 0 && op.dst < registerCount)) throw new RangeError(`op ${index} (${op.op}): no register ${op.dst}`);
  for (const operand of [op.a, op.b, op.c, ...(op.args ?? [])]) {
    if (operand === undefined || operand === NONE) continue;
    const fits =
      operand < firstColumn ? operand < registerCount : operand < firstConst || operand - firstConst < constCount;
    if (!(operand >= 0 && fits)) throw new RangeError(`op ${index} (${op.op}): no operand ${operand}`);
  }
}

function writeOp(block: Block, at: number, op: Op, argStart: number): void {
  put(block.view, at, opLayout, {
    code: ops[op.op].code,
    dst: op.dst,
    a: op.a ?? NONE,
    b: op.b ?? NONE,
    c: op.c ?? NONE,
    argCount: op.args?.length ?? 0,
    imm: op.imm ?? 0,
    args: argStart,
  });
}

/** Writes payload and tag; the caller's slot may be the head of a member. */
function writeValue(block: Block, at: number, value: ConstValue): void {
  block.u32(at + slotLayout.at.tag, Tag[value.tag]);
  switch (value.tag) {
    case 'missing':
    case 'null':
      return;
    case 'bool':
      block.u32(at, value.value ? 1 : 0);
      return;
    case 'i64':
      block.i64(at, value.value);
      return;
    case 'f64':
      block.f64(at, value.value);
      return;
    case 'str':
      block.span(at, value.value);
      return;
    case 'array': {
      const from = block.reserve(value.items.length * slotLayout.size);
      block.u32(at, from);
      block.u32(at + 4, value.items.length);
      value.items.forEach((item, i) => {
        writeValue(block, from + i * slotLayout.size, item);
      });
      return;
    }
    case 'object': {
      const members = sortedMembers(value.members);
      const from = block.reserve(members.length * memberLayout.size);
      block.u32(at, from);
      block.u32(at + 4, members.length);
      members.forEach(([key, item], i) => {
        const member = from + i * memberLayout.size;
        writeValue(block, member, item);
        block.key(member, key);
      });
      return;
    }
    default:
      value satisfies never;
  }
}

/** Ascending by UTF-8 bytes; of equal keys the last counts. */
function sortedMembers(members: [string, ConstValue][]): [string, ConstValue][] {
  const last = new Map(members);
  return [...last].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

const align = (n: number): number => (n + 15) & ~15;

/** A growing byte block; what is reserved is zero. */
class Block {
  private bytes: Uint8Array<ArrayBuffer>;
  /** The bytes so far, good until more are reserved. */
  view: DataView;
  private end: number;

  constructor(size: number) {
    this.bytes = new Uint8Array(Math.max(256, size * 2));
    this.view = new DataView(this.bytes.buffer);
    this.end = size;
  }

  /** Appends `size` zero bytes, 16-byte aligned, and returns their offset. */
  reserve(size: number): number {
    const at = align(this.end);
    this.end = at + size;
    if (this.end > this.bytes.length) {
      const grown = new Uint8Array(this.end * 2);
      grown.set(this.bytes);
      this.bytes = grown;
      this.view = new DataView(grown.buffer);
    }
    return at;
  }

  u16(at: number, value: number): void {
    if (!(value >= 0 && value <= 0xffff)) throw new RangeError(`${value} does not fit 16 bits`);
    this.view.setUint16(at, value, true);
  }

  u32(at: number, value: number): void {
    this.view.setUint32(at, value, true);
  }

  i64(at: number, value: bigint): void {
    this.view.setBigInt64(at, value, true);
  }

  f64(at: number, value: number): void {
    this.view.setFloat64(at, value, true);
  }

  /** Appends the text and writes offset and length at `at`. */
  span(at: number, text: string): void {
    const [off, len] = this.text(text);
    this.u32(at, off);
    this.u32(at + 4, len);
  }

  /** Appends the key of the member at `at` and links it. */
  key(at: number, text: string): void {
    const [off, len] = this.text(text);
    this.u32(at + memberLayout.at.keyLen, len);
    this.u32(at + memberLayout.at.keyOff, off);
  }

  private text(text: string): [off: number, len: number] {
    const bytes = utf8.encode(text);
    const off = this.reserve(bytes.length);
    this.bytes.set(bytes, off);
    return [off, bytes.length];
  }

  finish(): Uint8Array {
    return this.bytes.slice(0, align(this.end));
  }
}
