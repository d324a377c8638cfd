/**
 * What the planner hands to the data plane: a rule as sources, a tree of operators and the programs of their
 * expressions. Plain data (structured-clonable); names of columns and operations are still symbolic. The data plane
 * links it to the streams that run there, then `kernels/` writes it into Wasm memory.
 */
import type { AnalyticFn } from '../gen/layouts.js';
import { operandCol, operandConst, operandNone } from '../gen/layouts.js';
import type { AggregateName, OpName } from '../gen/ops.js';
import type { Operand, OutputPlan } from './output-plan.js';
import type { WindowPlan } from './window-plan.js';

export type { Operand, OutputPlan } from './output-plan.js';
export type { WindowPlan } from './window-plan.js';

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
   * A field of the payload. `read`: of objects, and lists of such, the part of the type that is looked at; all without
   * it.
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

export interface AggregatePlan {
  fn: AggregateName;
  /** Operands over the window's input rows; constants for parameters such as a percentile. */
  args: Operand[];
  /** Of `fold` and `foldJoined`: number of the host's function. */
  call?: number;
  /** `FILTER (WHERE …)` of the aggregate: operand that must be true. */
  filter?: Operand;
}

export interface AnalyticPlan {
  fn: AnalyticName;
  args: Operand[];
  /** Of lag: rows to look back. Of user: number of the host's function. */
  size: number;
  /** Rows with equal printed values have a state of their own. */
  partition: Operand[];
  /** Rows for which it is false leave the state as it is. */
  when?: Operand;
  /** Register of the result. */
  dst: number;
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

/** How long rows wait for answers, how many do, which answers are remembered. */
export interface WaitingPlan {
  /** Longest wait for an answer; then the rows that need it fail. */
  timeoutMs: number;
  /** Batches that may wait before the sources of the rule are to pause. */
  batches: number;
  /**
   * Answers are remembered, `rows` keys at most, for `ttlMs` (0: for ever); those without rows only with `hasMisses`.
   */
  cache: { rows: number; ttlMs: number; hasMisses: boolean } | null;
}

export type NodePlan =
  /**
   * Rows of several sources as one sequence, in the order of their arrival. It has no input of its own; its ports give
   * it rows. Output columns: 0 the number of the branch (I64), 1 the port's timestamp (MISSING without one), then
   * `branches[0]` columns of branch 0, `branches[1]` of branch 1 and so on; those of other branches are MISSING. An
   * eventTime node below it has a watermark that is the least of those of all branches.
   */
  | { kind: 'merge'; input: null; branches: number[]; name: string }
  /**
   * Gives the rows of its input to the merge (or join, see there) node `into` (index of an earlier node) as branch
   * `branch`: `columns` are the values of the branch's columns. Rows that failed above travel on as error rows.
   */
  | {
      kind: 'port';
      input: NodeInput;
      into: number;
      branch: number;
      program: Program | null;
      timestamp?: Operand;
      columns: Operand[];
      name: string;
    }
  /**
   * Joins the rows of each message of the input (an ungrouped window over a merge node). The output has the columns of
   * the input: a column of branch b (`branches[b]` lists their indexes) holds the value of that branch's row, MISSING
   * where an outer join found none; columns of no branch (window start …) are those of any row of the message; the
   * column of the branch number has no meaning any more. The branch `first` (0) and those of the steps in order make
   * the row.
   *
   * A join without rows sends nothing. `tables`: branches whose rows are kept over all messages; they come from a port
   * with the join itself as `into` (the port's timestamp is not used), and each message meets what is there when it
   * ends. Of such rows the newest `retainRows` are kept, 0: all. The columns of a table may lie behind those of the
   * input; `branch` is NONE when all rows of the input are of branch 0.
   */
  | {
      kind: 'join';
      input: NodeInput;
      /** Over the rows of the input: computes what `keys` refer to. */
      program: Program | null;
      /** Column of the input with the branch number. */
      branch: Operand;
      branches: number[][];
      first?: number;
      steps: JoinStep[];
      columns: number;
      tables?: { branch: number; retainRows: number }[];
      name: string;
    }
  /**
   * Keeps the rows for which `condition` is true. `isWhole`: the first row of each message decides on all of its rows;
   * with `meetsEmpty` one that has none is sent. Messages that lose all their rows are not sent; with `keepsEmpty` they
   * are.
   */
  | {
      kind: 'filter';
      input: NodeInput;
      program: Program;
      condition: Operand;
      isWhole?: boolean;
      meetsEmpty?: boolean;
      keepsEmpty?: boolean;
      name: string;
    }
  /**
   * Orders rows by timestamp and releases them once the watermark (newest timestamp less the tolerance) has reached
   * them; older rows are counted, and dropped unless a node `late` below takes them. `columns`: how many columns of the
   * batch to keep (column i of the output is column i of the input). Column `columns` is added: the time of the row,
   * epoch ms as I64, whatever the timestamp column holds. Rows with a missing or unreadable timestamp become error
   * rows. Registers of nodes above don't reach below. `program` computes a timestamp that is no column.
   */
  | {
      kind: 'eventTime';
      input: NodeInput;
      program?: Program | null;
      timestamp: Operand;
      lateToleranceMs: number;
      /**
       * The rows of each input come in order, with watermarks: no row is late, those of all inputs are put in one
       * order.
       */
      isOrdered?: boolean;
      /** Rows further ahead of the clock are error rows; 0 or nothing: there is no bound. */
      maxFutureSkewMs?: number;
      /**
       * Of several streams one without rows for so long holds the watermark back no more; 0 or nothing: it always does.
       */
      idleTimeoutMs?: number;
      columns: number;
      name: string;
    }
  /**
   * Takes what comes too late for the eventTime node that is its input, of one of several branches of a merge above
   * that. Columns as that node's, time included; one more follows: how much earlier that time is than the watermark
   * was, ms as I64.
   */
  | { kind: 'late'; input: NodeInput; branch: number; name: string }
  /**
   * Collects rows. Output columns: with `grouped`, a row for each group: `keep` (values of the group's first row), then
   * `aggs`; otherwise all rows of the window with `keep`, then `aggs` over all of them in each row (of a `message`
   * only). In both, three more columns follow: window start, window end (epoch ms, I64; event time or clock) and the
   * time of the triggering row or tick. `program` is evaluated on arriving rows and computes what keys, keep and aggs
   * refer to.
   *
   * A window is one message (a `row` window: each row). Rows that failed above pass at once as messages of their own;
   * an error in `where`, keys, kept values or arguments fails the message of the window and no other. `grouped` without
   * keys is one group. FILTER (WHERE) of the window is a filter node above it, HAVING one below.
   *
   * `sendEmpty`: windows of time, of counts and of messages without content send a message as well, grouped as one row
   * in which kept values and aggregates are MISSING and `collect` is NULL, otherwise as no rows; wrong with keys or
   * WHERE. After 1,000 empty windows in a row the rest of a gap is skipped. Aggregates take operands as in `aggregates`
   * (gen/ops.ts); one that `takesRow` a further one: the row to give in place of the value.
   */
  | {
      kind: 'window';
      input: NodeInput;
      program: Program | null;
      window: WindowPlan;
      isEventTime: boolean;
      /**
       * Timestamp of a row, epoch ms; needed with event time. Below an eventTime node its added column is read instead.
       */
      timestamp?: Operand;
      /**
       * WHERE of a window that must see all rows: rows for which it is not true count, trigger and open windows but are
       * not part of them; an error in it is an error of the window's message.
       */
      where?: Operand;
      grouped: boolean;
      keys: Operand[];
      keep: Operand[];
      aggs: AggregatePlan[];
      /** Windows without rows send a message too (see the SQL semantics about empty windows). */
      sendEmpty: boolean;
      name: string;
    }
  /**
   * Orders the rows of a message; carries `columns` columns through unchanged, then the values `carried`, registers, as
   * further columns. Rows that are no parts of messages pass as they are, registers too. Linked to a stream
   * (columnMap), the batch keeps the stream's numbering: as many columns are carried as the map reaches.
   */
  | {
      kind: 'sort';
      input: NodeInput;
      program: Program | null;
      keys: { operand: Operand; descending: boolean }[];
      columns: number;
      carried?: Operand[];
      name: string;
    }
  /**
   * Passes all rows on and leaves what functions that look back give in registers for the nodes below. Rows for which
   * one fails are error rows from there on (within a message: the message fails), and those behind it don't see them.
   */
  | {
      kind: 'analytic';
      input: NodeInput;
      program: Program | null;
      functions: AnalyticPlan[];
      /** Partitions are forgotten so long after their last row, by the clock; 0: never. */
      ttlMs: number;
      name: string;
    }
  /**
   * Joins each row of branch `left` of a merge with the newest of `right` that is no later (by column `time`, which
   * event time has added; null: as they come) and at most `toleranceMs` older, among those with equal `keys`; other
   * rows pass. Column i of the output is `columns[i]` of the row, then come the `fields` of its partner, MISSING
   * without one, and in event time the time. A row is kept until nothing came for its key for `ttlMs` by the clock, 0:
   * for ever; of each key the newest.
   */
  | {
      kind: 'asof';
      input: NodeInput;
      program: Program | null;
      branches: { type: 'inner' | 'left'; left: number; right: number };
      time: number | null;
      keys: { left: Operand; right: Operand }[];
      columns: Operand[];
      fields: Operand[];
      bounds: { toleranceMs: number | null; ttlMs: number };
      name: string;
    }
  /**
   * Joins rows of branch `left` of a merge with those of its other branch whose `keys` are equal and whose time (column
   * `time`) less theirs is between `leastMs` and `mostMs`. Column i of the output is `lefts[i]`, then come the
   * `rights`, MISSING where there is no such row, and the time. `condition` decides on each pair besides: an operand
   * over the output with a program of its own.
   */
  | {
      kind: 'interval';
      input: NodeInput;
      program: Program | null;
      type: 'inner' | 'left' | 'right' | 'full';
      left: number;
      time: number;
      keys: { left: Operand; right: Operand }[];
      lefts: Operand[];
      rights: Operand[];
      bounds: { leastMs: number; mostMs: number };
      condition: { program: Program; operand: Operand } | null;
      name: string;
    }
  /**
   * Keeps the newest row of a stream for each value of `key`, for lookups that name the node as their `table`. Nothing
   * stands below it. `row`: the row as an object; `kindName` and `keyName`, texts or null: where the object `sent` has
   * the kind of change (insert, update, upsert, delete; without it the row is set) and the key of what is deleted.
   * Equal ones of a stream are one node.
   */
  | {
      kind: 'keyedTable';
      input: NodeInput;
      program: Program | null;
      key: string;
      row: Operand;
      sent: Operand;
      kindName: Operand;
      keyName: Operand;
      name: string;
    }
  /**
   * Joins each row with the rows of the keyed table `table` (index of an earlier node) whose columns are equal to the
   * keys, operands over the input that `program` computes. Output columns: `columns`, then `fields` of the table's row,
   * MISSING where there is none (`left`). A row that matches several makes several only where rows come in messages;
   * above the rows of a stream the keys must have the table's own. `condition` decides on each pair beside the keys: an
   * operand over the output with a program of its own.
   */
  | {
      kind: 'lookup';
      input: NodeInput;
      table: number;
      type: 'inner' | 'left';
      program: Program | null;
      columns: Operand[];
      fields: ColumnUse[];
      keys: { name: string; operand: Operand }[];
      condition: { program: Program; operand: Operand } | null;
      name: string;
    }
  /**
   * Counts the rows, below a window the messages, that get past the condition, which may depend on that count; none:
   * all do. Registers `count` and `time`: how many did before, and the time (`when`; NONE: the clock) of the newest,
   * epoch ms as I64.
   */
  | {
      kind: 'hits';
      input: NodeInput;
      program: Program | null;
      condition: Operand;
      count: number;
      time: number;
      when: Operand;
      /** Register that takes what the condition gives for each row: all rows pass then. */
      judged: number | null;
      name: string;
    }
  /**
   * As a lookup in a table outside: the host is asked (`HostCalls.onAsk`) for the rows of keys that nobody knows yet,
   * and the rows of the input wait until `Kernel.answer` has them; rows, messages and signals stay in their order.
   * `isSingle`: an answer has one row for a key at most, as it must above rows of a stream. `isEach`: every row asks by
   * itself, with values of any kind.
   */
  | {
      kind: 'ask';
      input: NodeInput;
      /**
       * Index among the lookups of the rule; null: nobody is asked, rows wait until the time (epoch ms) that is the
       * only key.
       */
      lookup: number | null;
      type: 'inner' | 'left';
      program: Program | null;
      columns: Operand[];
      fields: ColumnUse[];
      keys: { name: string; operand: Operand }[];
      condition: { program: Program; operand: Operand } | null;
      isSingle: boolean;
      isEach?: true;
      waiting: WaitingPlan;
      name: string;
    }
  /**
   * Rows wait until time has come to `end`, as rows say by `now`, and the clock between them; then their output has
   * `columns` and the parts of `begin` to `end` that no row before was given: a list of objects with start_key and
   * end_key as texts, or no list, which is sent as null. All times are integers; nobody is given what lies more than
   * `expireMs` before `now`. Rows of a stream only.
   */
  | {
      kind: 'dedup';
      input: NodeInput;
      program: Program | null;
      columns: Operand[];
      begin: Operand;
      end: Operand;
      now: Operand;
      expireMs: number;
      name: string;
    }
  /** Passes the first `count` rows of each message. */
  | { kind: 'limit'; input: NodeInput; count: number; name: string }
  /**
   * Makes rows of what stands in one row. Output columns: `columns`, the same for each of these rows, then the element.
   * A row whose list is none, or has no elements, stays one row with an error as element.
   */
  | {
      kind: 'expand';
      input: NodeInput;
      program: Program | null;
      list: Operand;
      /** `elements` of a list, a row for each; `members`: the element is the object itself, which must have members. */
      of: 'elements' | 'members';
      /** Rows that are made of one row at most. */
      most: number;
      columns: Operand[];
      name: string;
    }
  /** Computes the output columns and writes them as bytes for one sink (or several with equal wishes). */
  | { kind: 'encode'; input: NodeInput; program: Program | null; output: OutputPlan; actions: number[]; name: string };

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
  /** Of graphs: operators that give it rows. Without: the one before it in the list, the last one for actions. */
  after?: string[];
}

/** A rule, ready for the data plane. */
export interface RulePlan {
  sources: { stream: string; columns: ColumnUse[] }[];
  /** What is asked: tables for rows; with `call`, the number of a function, that for its results. */
  lookups?: { table: string; call?: number }[];
  nodes: NodePlan[];
  /** Operators as the user sees them in topology and status: names by the interface, e.g. `op_2_filter`. */
  topology: { sources: string[]; edges: Record<string, string[]> };
  /** Where the figures of the topology's operators come from, in the order of the topology. */
  operators: OperatorPlan[];
  /** Output columns of the rule in the order of the SELECT, for /rules/{id}/schema. */
  outputFields: string[];
  /** Functions of users that the programs call, by number, with the name that each was called by. */
  brought?: [number: number, name: string][];
  /** What the user should know of the statement although it runs, a sentence each. */
  warnings?: string[];
}

/** Shows what a node of a rule gives on while the rule is traced. */
export interface Tap {
  /** Index of the node. */
  of: number;
  plan: NodePlan;
  /** Source whose columns the plan numbers; see `sourceOfColumns` (kinds.ts). */
  source: number | null;
}
