/**
 * What the planner hands to the data plane: a rule as sources, a tree of operators and the programs of their
 * expressions. Plain data (structured-clonable); names of columns and operations are still symbolic. The data plane
 * links it to the streams that run there, then `kernels/` writes it into Wasm memory.
 */
import type { AnalyticFn } from '../gen/layouts.js';
import { operandCol, operandConst, operandNone } from '../gen/layouts.js';
import type { OpName } from '../gen/ops.js';
import type { Operand } from './output-plan.js';

export type { WindowPlan } from './gen/windows.js';
export type { Operand, OutputPlan } from './output-plan.js';

/** Functions that look back at the rows before. */
export type AnalyticName = keyof typeof AnalyticFn;

/** Type of a declared column as the decoder needs it; `any`: whatever the payload holds, numbers as doubles. */
export type ColumnType =
  | { type: 'any' | 'bigint' | 'float' | 'string' | 'datetime' | 'boolean' | 'bytea' }
  | { type: 'array'; element: ColumnType }
  | { type: 'struct'; fields: { name: string; type: ColumnType }[] };

/** A column that a rule needs from a stream. */
export type ColumnUse =
  /**
   * A field of the payload. `read`: the part of the type that is used, for objects and lists of objects; absent: all.
   */
  | { kind: 'field'; name: string; type: ColumnType; read?: ColumnType }
  /** The whole payload as one object (`SELECT *` on a schemaless stream). */
  | { kind: 'row' }
  /** The raw payload as BYTES (format binary, column `self`). */
  | { kind: 'self' }
  /** Metadata of the message: topic, qos, messageId, …; a connector's keys. */
  | { kind: 'meta'; key: string }
  /** All metadata as one object (`meta(*)`). */
  | { kind: 'metaAll' }
  /** Arrival time, epoch milliseconds as I64. */
  | { kind: 'arrival' };

/** The operands that are columns begin at `operandCol`, the constants at `operandConst`. */
export { operandCol, operandConst };
export const reg = (i: number): Operand => i;
export const col = (i: number): Operand => operandCol + i;
export const constant = (i: number): Operand => operandConst + i;
export const NONE: Operand = operandNone;

export type ConstValue =
  | { tag: 'null' }
  /** No value at all, as of an absent column; `nested.merge` takes it to remove a member. */
  | { tag: 'missing' }
  | { tag: 'bool'; value: boolean }
  | { tag: 'i64'; value: bigint }
  | { tag: 'f64'; value: number }
  | { tag: 'str'; value: string }
  | { tag: 'array'; items: ConstValue[] }
  | { tag: 'object'; members: [string, ConstValue][] };

/** One operation over the selected rows of a batch: `dst := op(a, b, c, …args)`. */
export interface Op {
  op: OpName;
  /**
   * Temporary register that takes the result, 0 … 511. Along the path from a source to a sink the numbers only rise
   * (never restart, not even below a window): nodes are shared and a parent's registers must survive its children.
   */
  dst: number;
  a?: Operand;
  b?: Operand;
  c?: Operand;
  /** Operands of operations with any number of arguments. */
  args?: Operand[];
  /** Meaning by operation: a flag, a count, the number of a host function. */
  imm?: number;
}

export interface Program {
  ops: Op[];
  consts: ConstValue[];
}

/** Which batch an operator reads: source i of the rule, or the output of an earlier node. */
export type NodeInput = { source: number } | { node: number };

/** Limits for rows that wait for answers, and the cache of answers. */
export interface WaitingPlan {
  /** Longest wait for an answer; then the rows that need it fail. */
  timeoutMs: number;
  /** Batches that may wait before the sources of the rule are to pause. */
  batches: number;
  /**
   * Cache of answers: at most `rows` keys, each for `ttlMs` (0: for ever); answers without rows only with `hasMisses`.
   * Null: no cache.
   */
  cache: { rows: number; ttlMs: number; hasMisses: boolean } | null;
}

/**
 * Plans of the nodes of each kind, without kind and name. Each file of `kernels/nodes/` declares its own here, beside
 * the bytes that it makes of them.
 */
// biome-ignore lint/suspicious/noEmptyInterface: its members stand in the files of the kinds
export interface NodePlans {}

/** A node of a rule; `name` is its name in the figures of the rule. */
export type NodePlan = {
  [K in keyof NodePlans]: { kind: K; name: string } & NodePlans[K];
}[keyof NodePlans];

/** An operator of the topology and the parts of the plan that do its work. */
export interface OperatorPlan {
  name: string;
  part: 'source' | 'decoder' | 'operator' | 'transform' | 'encode' | 'sink';
  /** Index of the source that it belongs to (parts source and decoder). */
  source?: number;
  /** Index of the action that it belongs to (parts transform, encode and sink). */
  action?: number;
  /** Nodes from first to last: rows come in at the first and go out of the last. Empty for sources and decoders. */
  nodes: number[];
  /** Nodes side by side below them, through which the rows of a switch go out. */
  outputs?: number[];
  /**
   * Operators whose rows it reads, in graphs. Absent: the operator before it in the list; for actions, the last one.
   */
  after?: string[];
}

/** A rule, ready for the data plane. */
export interface RulePlan {
  sources: { stream: string; columns: ColumnUse[] }[];
  /** Lookup tables that are asked for rows; with `call`, a function that is asked for results, by its number. */
  lookups?: { table: string; call?: number }[];
  nodes: NodePlan[];
  /** Operators as the user sees them in topology and status: names by the interface, e.g. `op_2_filter`. */
  topology: { sources: string[]; edges: Record<string, string[]> };
  /** Operators whose parts give the figures of the topology, in the order of the topology. */
  operators: OperatorPlan[];
  /** Output columns of the rule in the order of the SELECT, for /rules/{id}/schema. */
  outputFields: string[];
  /** Functions of users that the programs call: the number of each, and its name in the call. */
  brought?: [number: number, name: string][];
  /** Warnings about a statement that runs nevertheless, one sentence each. */
  warnings?: string[];
  /** Those of the warnings that say what grows with the square of the input: advice, not a mistake. */
  growth?: string[];
}

/** A node that shows the output rows of another node while the rule is traced. */
export interface Tap {
  /** Index of the node. */
  of: number;
  plan: NodePlan;
  /** Source whose columns the plan numbers; see `sourceOfColumns` (kernels/traits.ts). */
  source: number | null;
}
