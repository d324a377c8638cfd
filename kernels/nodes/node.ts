/** What the kernel is told of a kind of node: its spec as bytes, with operands linked to the batch that it reads. */
import type { NodePlan, Operand, Program } from '../plan/ir.js';

export type Kind = NodePlan['kind'];

/** The nodes of a kind. */
export type Of<K extends Kind> = Extract<NodePlan, { kind: K }>;

/** What links a plan to the batch that the node reads. */
export interface Linking {
  /** Where column i of the rule stands in the batch; null: there. */
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

/** One kind of node. */
export interface NodeKind<K extends Kind> {
  /** Its spec in the layout that assembly reads. Throws RangeError when the plan does not fit the kernel's limits. */
  spec(plan: Of<K>, link: Linking): Uint8Array;
  /** Equal nodes below the same parent can be one: they keep nothing from batch to batch, or the same for all. */
  isShareable?(plan: Of<K>): boolean;
  /** Rows that fail are its own matter and travel on to nobody. */
  keepsErrors?: true;
}
