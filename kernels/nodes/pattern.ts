/** Nodes of patterns. What writes their specs is read where they run (specs/pattern.ts). */
import type { LookKind, PatternOp, PatternRows, PatternSkip } from '../gen/layouts.js';
import type { AggregateName } from '../gen/ops.js';
import type { NodeInput, NodePlan, Operand, Program } from '../plan/ir.js';
import type { NodeKind } from './node.js';

declare module '../plan/ir.js' {
  interface NodePlans {
    /**
     * Finds matches of a pattern in the rows of each key. `columns` is kept of each row. Programs of `rowConditions`,
     * `aheadConditions`, `conditions`, `aggregates` and `measures` have a batch of their own, whose column i is
     * `looks[i]`. The output has `outputs`.
     */
    pattern: {
      input: NodeInput;
      program: Program | null;
      isEventTime: boolean;
      /** Times of rows in event time; below an eventTime node its added column is read instead. */
      timestamp?: Operand;
      keys: Operand[];
      columns: Operand[];
      steps: PatternStepPlan[];
      variables: string[];
      looks: LookPlan[];
      aggregates: MatchAggregatePlan[];
      rowConditions: RowConditionsPlan;
      /** Those that look at rows behind. */
      aheadConditions: RowConditionsPlan;
      conditions: { variable: number; program: Program | null; operand: Operand }[];
      /** Outputs from the index `from` on are measures; the last one is the time. */
      measures: { program: Program | null; outputs: Operand[]; from: number };
      rows: keyof typeof PatternRows;
      skip: { to: keyof typeof PatternSkip; variables: readonly number[] };
      /** Variables with which a match may begin; null: it may be empty. */
      first: readonly number[] | null;
      /** Longest time from the first row of a match to its last, ms, 0 any; and that of NOT at the end. */
      withinMs: number;
      absentMs: number;
      /** Ways by which rows come, each of which may end. */
      inputs: number;
      /** Partial matches of a key at most; whether the oldest goes then, or the rule ends. */
      mostPartial: number;
      dropsOldest: boolean;
      /** How long a key is kept after its last row, ms; 0 is for ever. */
      ttlMs: number;
    };
  }
}

/** Conditions of variables on rows alone. */
export interface RowConditionsPlan {
  program: Program | null;
  of: { variable: number; operand: Operand }[];
}

export interface PatternStepPlan {
  op: keyof typeof PatternOp;
  a?: number;
  b?: number;
}

/** A column of the programs of a pattern. */
export interface LookPlan {
  kind: keyof typeof LookKind;
  /** Index among the columns that are kept; of an aggregate among these. */
  column?: number;
  variables?: readonly number[];
  offset?: number;
  shift?: number;
  isFirst?: boolean;
  isFinal?: boolean;
}

/**
 * An aggregate over rows of a match; its arguments are of a batch whose column i is `looks[i]`, as the row of the match
 * has it that is taken in.
 */
export interface MatchAggregatePlan {
  fn: AggregateName;
  program: Program | null;
  args: Operand[];
  filter: Operand | null;
  call: number;
  /** What it is of no rows. */
  empty: 'null' | 'zero' | 'list';
}

type Encode = (plan: Extract<NodePlan, { kind: 'pattern' }>) => Uint8Array;

let encode: Encode | undefined;

/** Sets what writes specs. */
export function setPatternSpec(found: Encode): void {
  encode = found;
}

export const pattern: NodeKind<'pattern'> = {
  traits: { passesColumns: false, passesRows: false, keepsRows: true, worksOnMany: true, keepsPartitions: true },
  spec: (plan, { operand, started }) =>
    encode!({
      ...plan,
      ...(plan.timestamp === undefined ? {} : { timestamp: operand(plan.timestamp) }),
      keys: plan.keys.map(operand),
      columns: plan.columns.map(operand),
      rowConditions: started(plan.rowConditions),
      aheadConditions: started(plan.aheadConditions),
      conditions: plan.conditions.map(started),
      aggregates: plan.aggregates.map(started),
      measures: started(plan.measures),
    }),
};
