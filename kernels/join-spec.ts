/**
 * Binary descriptions of merge, port and join nodes as assembly/join/ reads them. Operands must already be those of the
 * batch the node reads (see `relocateOperand`).
 */
import { type JoinStep, NONE, type NodePlan, type Op, type Operand, type Program } from './ir.js';
import { encodeProgram } from './program.js';

const firstColumn = 0x4000;
const firstConst = 0x8000;
const maxColumns = 1200;
const types = { inner: 0, left: 1, right: 2, full: 3, cross: 4 } as const;
const headSize = 48;
const branchSize = 32;
const stepSize = 40;
const keySize = 16;

const isColumn = (operand: Operand): boolean => operand >= firstColumn && operand < firstConst;

/**
 * Describes a merge node.
 *
 *     branches u32 | columns u32 | {first column u32, count u32}[branches]
 */
export function encodeMerge({ branches }: Extract<NodePlan, { kind: 'merge' }>): Uint8Array {
  const columns = 2 + branches.reduce((sum, count) => sum + count, 0);
  checkColumns(columns);
  const words = [branches.length, columns];
  let first = 2;
  for (const count of branches) {
    words.push(first, count);
    first += count;
  }
  return new Uint8Array(new Uint32Array(words).buffer);
}

/**
 * Describes a port.
 *
 *     target u32 | branch u32 | timestamp u16 | columns u16 | operands u16[columns]
 */
export function encodePort(target: number, branch: number, timestamp: Operand, columns: Operand[]): Uint8Array {
  checkColumns(columns.length);
  const bytes = new Uint8Array((12 + 2 * columns.length + 3) & ~3);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, target, true);
  view.setUint32(4, branch, true);
  [timestamp, columns.length, ...columns].forEach((value, i) => {
    view.setUint16(8 + 2 * i, value, true);
  });
  return bytes;
}

function checkColumns(columns: number): void {
  if (columns > maxColumns) throw new RangeError(`a join has at most ${maxColumns} columns, not ${columns}`);
}

/** Grows by aligned blocks; blocks don't move. */
class Words {
  private bytes = new Uint8Array(1024);
  length = 0;

  /** Appends zero bytes and returns where they begin. */
  reserve(size: number): number {
    const at = this.length;
    this.length = (at + size + 15) & ~15;
    if (this.length > this.bytes.length) {
      const grown = new Uint8Array(this.length * 2);
      grown.set(this.bytes);
      this.bytes = grown;
    }
    return at;
  }

  u32(at: number, ...values: number[]): void {
    const view = new DataView(this.bytes.buffer);
    values.forEach((value, i) => {
      view.setUint32(at + 4 * i, value, true);
    });
  }

  /** Appends 16-bit numbers and returns where they begin. */
  list(values: number[]): number {
    const at = this.reserve(2 * values.length);
    const view = new DataView(this.bytes.buffer);
    values.forEach((value, i) => {
      view.setUint16(at + 2 * i, value, true);
    });
    return at;
  }

  append(block: Uint8Array): number {
    const at = this.reserve(block.length);
    this.bytes.set(block, at);
    return at;
  }

  finish(): Uint8Array {
    return this.bytes.slice(0, this.length);
  }
}

type JoinPlan = Extract<NodePlan, { kind: 'join' }>;

/** Where the records of kept rows hold what keys compare: columns of the branch first, computed values behind them. */
class Records {
  /** Computed operands by branch. */
  readonly computed: readonly Operand[][];
  /** Rows kept of the branches that are tables. */
  readonly tables: ReadonlyMap<number, number>;

  constructor(
    private readonly branches: JoinPlan['branches'],
    tables: JoinPlan['tables'] = [],
  ) {
    this.computed = branches.map(() => []);
    this.tables = new Map(tables.map(({ branch, retainRows }) => [branch, retainRows]));
  }

  /** Slot that holds the operand, and whether it is a column; null where it cannot be had. */
  slotOf(branch: number, operand: Operand): { slot: number; isPlain: boolean } | null {
    const columns = this.branches[branch];
    const computed = this.computed[branch];
    if (columns === undefined || computed === undefined)
      throw new RangeError(`a key of a join refers to branch ${branch}`);
    const plain = isColumn(operand) ? columns.indexOf(operand - firstColumn) : -1;
    if (plain >= 0) return { slot: plain, isPlain: true };
    // Rows of tables come past the node's program, and a constant is no key.
    if (this.tables.has(branch) || operand >= firstConst) return null;
    const at = computed.indexOf(operand);
    return { slot: columns.length + (at >= 0 ? at : computed.push(operand) - 1), isPlain: false };
  }
}

/** Describes a join; drawn in assembly/join/spec.ts. */
export function encodeJoin(plan: JoinPlan): Uint8Array {
  checkColumns(plan.columns);
  const words = new Words();
  words.reserve(headSize);
  const branchesAt = words.reserve(plan.branches.length * branchSize);
  const stepsAt = words.reserve(plan.steps.length * stepSize);
  const records = new Records(plan.branches, plan.tables);
  plan.steps.forEach((step, i) => {
    writeStep(words, stepsAt + i * stepSize, step, keysOf(step, plan.program, records));
  });
  plan.branches.forEach((columns, i) => {
    const retained = records.tables.get(i);
    const operands = records.computed[i] as Operand[];
    words.u32(
      branchesAt + i * branchSize,
      ...[columns.length, words.list(columns), operands.length, words.list(operands)],
      ...[retained === undefined ? 0 : 1, retained ?? 0],
    );
  });
  const owned = new Set(plan.branches.flat());
  if (isColumn(plan.branch)) owned.add(plan.branch - firstColumn);
  const others = Array.from({ length: plan.columns }, (_, i) => i).filter((i) => !owned.has(i));
  const othersAt = words.list(others);
  words.u32(0, plan.columns, plan.branch, plan.branches.length, branchesAt);
  words.u32(16, plan.steps.length, stepsAt, others.length, othersAt, plan.first ?? 0);
  return words.finish();
}

/** Keys of a step, four words each: branch and slot of the left row, slot of the right one, whether the left is a column. */
function keysOf(step: JoinStep, rows: Program | null, records: Records): number[] {
  const keys: number[] = [];
  for (const key of leadingKeys(step, rows)) {
    const left = records.slotOf(key.leftBranch, key.left);
    const right = records.slotOf(step.branch, key.right);
    if (left === null || right === null) break;
    keys.push(key.leftBranch, left.slot, right.slot, left.isPlain ? 1 : 0);
  }
  return keys;
}

function writeStep(words: Words, at: number, step: JoinStep, keys: number[]): void {
  const count = keys.length / 4;
  const keysAt = words.reserve(count * keySize);
  words.u32(keysAt, ...keys);
  const program = step.program === null ? null : encodeProgram(step.program);
  const programAt = program === null ? 0 : words.append(program);
  const reads = columnsRead(step);
  const readsAt = words.list(reads);
  words.u32(
    at,
    ...[types[step.type], step.branch, programAt, program?.length ?? 0, step.condition ?? NONE],
    ...[count, keysAt, reads.length, readsAt],
  );
}

/** Columns whose values the condition of a step depends on. */
function columnsRead({ program, condition }: JoinStep): number[] {
  const read = new Set<number>();
  const note = (operand: Operand | undefined | null): void => {
    if (operand !== undefined && operand !== null && isColumn(operand)) read.add(operand - firstColumn);
  };
  for (const { a, b, c, args } of program?.ops ?? []) for (const operand of [a, b, c, ...(args ?? [])]) note(operand);
  note(condition);
  return [...read];
}

/**
 * The keys that a hash table may use: those that are conjuncts of the condition in front of all others. Where such a
 * conjunct is false AND has decided, whatever the others give, errors included; a pair with different keys can be left out.
 */
function leadingKeys(step: JoinStep, rows: Program | null): JoinStep['keys'] {
  if (step.program === null || step.condition === null || step.keys.length === 0) return [];
  const { program } = step;
  const wanted = new Map<string, JoinStep['keys'][number]>();
  for (const key of step.keys) {
    const equality = equalityOf(key.left, key.right, rows);
    if (equality !== null) wanted.set(equality, key);
  }
  const found: JoinStep['keys'] = [];
  for (const conjunct of conjuncts(step.condition, program)) {
    const op = definition(conjunct, program);
    if (op?.op !== 'compare.eq' || op.a === undefined || op.b === undefined) break;
    const key = wanted.get(equalityOf(op.a, op.b, program) ?? '') ?? wanted.get(equalityOf(op.b, op.a, program) ?? '');
    if (key === undefined) break;
    found.push(key);
  }
  return found;
}

function definition(operand: Operand, program: Program): Op | undefined {
  return operand < firstColumn ? program.ops.findLast((op) => op.dst === operand) : undefined;
}

/** Operands that AND joins, in the order of their evaluation. */
function conjuncts(operand: Operand, program: Program): Operand[] {
  const op = definition(operand, program);
  if (op?.op !== 'logic.and' || op.a === undefined || op.b === undefined) return [operand];
  return [...conjuncts(op.a, program), ...conjuncts(op.b, program)];
}

function equalityOf(left: Operand, right: Operand, program: Program | null): string | null {
  const a = written(left, program);
  const b = written(right, program);
  return a === null || b === null ? null : `${a}=${b}`;
}

/** Text that is equal for equal computations; null with calls of the host, which may give another value each time. */
function written(operand: Operand, program: Program | null): string | null {
  if (operand === NONE) return 'none';
  if (operand >= firstConst) return JSON.stringify(program?.consts[operand - firstConst], bigintText);
  if (operand >= firstColumn) return `c${operand - firstColumn}`;
  const op = program === null ? undefined : definition(operand, program);
  if (op === undefined || op.op.startsWith('call.')) return null;
  const operands = [op.a, op.b, op.c, ...(op.args ?? [])].map((value) =>
    value === undefined ? '' : written(value, program),
  );
  return operands.includes(null) ? null : `${op.op}(${op.imm ?? 0};${operands.join(',')})`;
}

const bigintText = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? `${value}n` : value);
