/** Joins as assembly/join/ reads them: their branches, their steps, and the keys that a hash table may use. */
import {
  operandCol as firstColumn,
  operandConst as firstConst,
  JoinType,
  joinBranch,
  joinKey,
  joinSpec,
  joinStep,
} from '../gen/layouts.js';
import { put } from '../memory/layout.js';
import { NONE, type NodeInput, type NodePlan, type Op, type Operand, type Program } from '../plan/ir.js';
import { encodeProgram } from '../plan/program.js';
import { checkColumns } from './columns.js';
import type { NodeKind } from './node.js';

declare module '../plan/ir.js' {
  interface NodePlans {
    /**
     * Joins the rows of each message of the input (an ungrouped window over a merge node). The output has the columns
     * of the input: a column of branch b (`branches[b]` lists their indexes) holds the value of that branch's row,
     * MISSING where an outer join found none; columns of no branch (window start …) are those of any row of the
     * message; the column of the branch number has no meaning any more. The branch `first` (0) and those of the steps
     * in order make the row.
     *
     * A join without rows sends nothing. `tables`: branches whose rows are kept over all messages; they come from a
     * port with the join itself as `into` (the port's timestamp is not used), and each message meets what is there when
     * it ends. Of such rows the newest `retainRows` are kept, 0: all. The columns of a table may lie behind those of
     * the input; `branch` is NONE when all rows of the input are of branch 0.
     */
    join: {
      input: NodeInput;
      /** Program over the rows of the input that computes the operands of `keys`. */
      program: Program | null;
      /** Column of the input with the branch number. */
      branch: Operand;
      branches: number[][];
      first?: number;
      steps: JoinStep[];
      columns: number;
      tables?: { branch: number; retainRows: number }[];
    };
  }
}

/** One step of a join: the rows so far (of all branches before) with those of one more branch. */
export interface JoinStep {
  type: 'inner' | 'left' | 'right' | 'full' | 'cross';
  /** Branch on the right side. */
  branch: number;
  /**
   * Evaluated over candidate pairs, batches with the columns of the output; `condition` must be true for a pair to
   * match. Null (and no program): every pair matches.
   */
  program: Program | null;
  condition: Operand | null;
  /**
   * Equalities which the condition implies (`left = right`, operands over single input rows that the node's own program
   * computes), for a hash table in place of nested loops: `left` over rows of the branch `leftBranch`, `right` over
   * those of `branch`. Only a hint: results, errors included, are those of nested loops.
   */
  keys: { leftBranch: number; left: Operand; right: Operand }[];
}

const isColumn = (operand: Operand): boolean => operand >= firstColumn && operand < firstConst;

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

  /** The bytes so far as a view, good until more are reserved. */
  view(): DataView {
    return new DataView(this.bytes.buffer);
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

/** Places of key operands in the records of kept rows: columns of the branch first, then computed values. */
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

export const join: NodeKind<'join'> = {
  traits: { passesColumns: false, passesRows: false, keepsRows: true, worksOnMany: true },
  spec: (plan, { started }) => encodeJoin({ ...plan, steps: plan.steps.map(started) }),
};

function encodeJoin(plan: JoinPlan): Uint8Array {
  checkColumns(plan.columns);
  const words = new Words();
  words.reserve(joinSpec.size);
  const branchesAt = words.reserve(plan.branches.length * joinBranch.size);
  const stepsAt = words.reserve(plan.steps.length * joinStep.size);
  const records = new Records(plan.branches, plan.tables);
  plan.steps.forEach((step, i) => {
    writeStep(words, stepsAt + i * joinStep.size, step, keysOf(step, plan.program, records));
  });
  plan.branches.forEach((columns, i) => {
    const retained = records.tables.get(i);
    const operands = records.computed[i] as Operand[];
    const columnsAt = words.list(columns);
    const computedAt = words.list(operands);
    put(words.view(), branchesAt + i * joinBranch.size, joinBranch, {
      columns: columns.length,
      columnsAt,
      computed: operands.length,
      computedAt,
      isTable: retained === undefined ? 0 : 1,
      retain: retained ?? 0,
    });
  });
  const owned = new Set(plan.branches.flat());
  if (isColumn(plan.branch)) owned.add(plan.branch - firstColumn);
  const others = Array.from({ length: plan.columns }, (_, i) => i).filter((i) => !owned.has(i));
  const othersAt = words.list(others);
  put(words.view(), 0, joinSpec, {
    columns: plan.columns,
    branch: plan.branch,
    branches: plan.branches.length,
    branchesAt,
    steps: plan.steps.length,
    stepsAt,
    others: others.length,
    othersAt,
    first: plan.first ?? 0,
  });
  return words.finish();
}

interface Key {
  leftBranch: number;
  left: number;
  right: number;
  isPlain: number;
}

/** Keys of a step as far as a hash table may use them. */
function keysOf(step: JoinStep, rows: Program | null, records: Records): Key[] {
  const keys: Key[] = [];
  for (const key of leadingKeys(step, rows)) {
    const left = records.slotOf(key.leftBranch, key.left);
    const right = records.slotOf(step.branch, key.right);
    if (left === null || right === null) break;
    keys.push({ leftBranch: key.leftBranch, left: left.slot, right: right.slot, isPlain: left.isPlain ? 1 : 0 });
  }
  return keys;
}

function writeStep(words: Words, at: number, step: JoinStep, keys: Key[]): void {
  const keysAt = words.reserve(keys.length * joinKey.size);
  keys.forEach((key, i) => {
    put(words.view(), keysAt + i * joinKey.size, joinKey, key);
  });
  const program = step.program === null ? null : encodeProgram(step.program);
  const programAt = program === null ? 0 : words.append(program);
  const reads = columnsRead(step.program, step.condition);
  const readsAt = words.list(reads);
  put(words.view(), at, joinStep, {
    type: JoinType[step.type],
    branch: step.branch,
    program: programAt,
    programLen: program?.length ?? 0,
    condition: step.condition ?? NONE,
    keys: keys.length,
    keysAt,
    isKeyed: isKeyed(step, keys.length) ? 1 : 0,
    reads: reads.length,
    readsAt,
  });
}

/** Columns whose values a condition depends on. */
export function columnsRead(program: Program | null, condition: Operand | null): number[] {
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
 * conjunct is false AND has decided, whatever the others give, errors included; a pair with different keys can be left
 * out.
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

/** True when the first `keys` keys are the whole condition, so that pairs with equal keys match. */
function isKeyed({ program, condition }: JoinStep, keys: number): boolean {
  return keys > 0 && program !== null && condition !== null && conjuncts(condition, program).length === keys;
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
