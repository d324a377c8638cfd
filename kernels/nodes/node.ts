/**
 * Record of a kind of node: its plan, its treatment of columns and rows, and its spec as bytes, with operands linked to
 * the batch that it reads.
 */
import type { NodePlan, Operand, Program } from '../plan/ir.js';

export type Kind = NodePlan['kind'];

/** The nodes of a kind. */
export type Of<K extends Kind> = Extract<NodePlan, { kind: K }>;

/** Links of a plan to the batch that the node reads, and to the nodes around it. */
export interface Linking {
  /** Index in the batch of each column of the rule; null: the same index. */
  readonly columnMap: readonly number[] | null;
  /** Branches of the merge node above, 1 without one. */
  readonly branches: number;
  /** The node that a port gives its rows to, or the table of a lookup; 0 without one. */
  readonly target: number;
  /** Number of the time zone (zones.ts), 0 UTC: windows of days end at its midnight. */
  readonly zone: number;
  /** The operand in the batch. */
  operand(value: Operand): Operand;
  /** A part with a program of its own, constants of the start filled in. */
  started<P extends { program: Program | null }>(part: P): P;
}

/** Treatment of columns and rows by a kind of node. */
interface Traits<Plan> {
  /** Column i of the output is column i of the input. Otherwise the node makes columns of its own. */
  readonly passesColumns: boolean;
  /** Rows that are no part of a message go on one by one. */
  readonly passesRows: boolean;
  /** Rows stay in the node after their message has been processed: its output belongs to no message. */
  readonly keepsRows: boolean | ((plan: Plan) => boolean);
  /** One batch may take long, as many rows are processed at once. */
  readonly worksOnMany: boolean;
  /** The node keeps state for each partition, or for each key of an as-of join. */
  readonly keepsPartitions?: boolean | ((plan: Plan) => boolean);
}

/** One kind of node. */
export interface NodeKind<K extends Kind> {
  readonly traits: Traits<Of<K>>;
  /** Its spec in the layout that assembly reads. Throws RangeError when the plan does not fit the kernel's limits. */
  spec(plan: Of<K>, link: Linking): Uint8Array;
  /** Equal nodes below the same parent can be one: they keep nothing from batch to batch, or the same for all. */
  isShareable?(plan: Of<K>): boolean;
  /** Rows that fail end in the node: they are not passed on as error rows. */
  keepsErrors?: true;
}
