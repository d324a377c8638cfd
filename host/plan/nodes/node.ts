/**
 * Planner's record for each kind of kernel node: its output rows, and the state that it keeps from one run to the next.
 * The record of a kind stands in the file of the operator that makes the node.
 */
import type { NodeInput, NodePlan, Operand, Program } from '../../../kernels/plan/ir.js';
import type { KeptList, KeptOperator } from '../../model/kept.js';
import type { Value, Values } from '../values/value.js';
import type { Batch } from './batch.js';

export type Kind = NodePlan['kind'];

/** The nodes of a kind. */
export type PlanOf<K extends Kind> = Extract<NodePlan, { kind: K }>;

/** One kind of node. */
export interface NodeKind<K extends Kind> {
  /** Output batch of the node; absent: the output is the input. */
  gives?(node: PlanOf<K>, at: Place): Batch;
  /** History of the node's output rows; absent: the history of its input rows. */
  rows?(node: PlanOf<K>, at: KeptPlace): Rows;
  /** State that the node keeps from one run to the next; null: none. */
  keeps?(node: PlanOf<K>, at: KeptPlace): Found | null;
}

/** Access to the values of a node's operands, input and ports. Its functions need no `this`. */
export interface Place {
  /** Index of the node. */
  readonly index: number;
  readonly values: Values;
  /** Input batch of the node. */
  readonly input: Batch;
  /** The value of an operand of the node. */
  value(operand: Operand): Value;
  valuesOf(operands: readonly Operand[]): Value[];
  /** Value of a column that a node adds for the nodes below it; no expression names it. */
  own(name: string): Value;
  /** The ports that give the node rows: branches of a merge, tables of a join. */
  ports(): readonly Port[];
  /** Value of a column that a port gives the node. */
  portColumn(branch: number, index: number): Value;
  /** A batch with lazily made columns; `above`: the batch whose registers are still valid in it. */
  derived(column: (index: number) => Value, above?: Batch): Batch;
  /** A batch with these columns, which are made lazily. */
  listed(columns: readonly (() => Value)[]): Batch;
  /** Number of the source or lookup table in which the node looks up rows. */
  tableOf(node: PlanOf<'lookup' | 'ask'>): number;
  /** Number of columns of an event-time node above; 0: there is none. */
  widthAbove(input: NodeInput): number;
}

/** A port and its index among the nodes. */
export type Port = PlanOf<'port'> & { readonly at: number };

/** History of the rows at a place of the plan: what they have gone through, as a key and in words of the statement. */
export interface Rows {
  readonly key: bigint;
  readonly words: readonly string[];
  /** The rows are parts of messages. */
  readonly isOfMessages: boolean;
}

/** State that a node keeps, before equal members get distinct keys. */
export type Found = Omit<KeptOperator, 'identity' | 'holder'> & { readonly key: bigint; readonly holder?: string };

/** Parts of a meaning; lists count with their length. */
export type Part = string | number | boolean | bigint | null | Value | readonly Value[];

/** Meanings of the values of a node, and histories of rows. */
export interface KeptPlace extends Place {
  /** Names of the sources by number, followed by the names of lookup tables that are asked. */
  readonly names: readonly string[];
  /** History of the node's output rows. */
  rows(): Rows;
  /** History of the rows of an input. */
  rowsOf(input: NodeInput): Rows;
  /** History of an input's rows with one step more; empty words add no text for the step. */
  added(input: NodeInput, key: bigint, words: string, isOfMessages?: boolean): Rows;
  /** Meaning of several parts together, 64 bits. */
  together(...parts: readonly Part[]): bigint;
  /** List of kept members, one for each value. */
  list(of: KeptList['of'], values: readonly Value[]): KeptList;
  /** A value in the words of the statement. */
  text(value: Value): string;
  texts(values: readonly Value[]): string;
  /** Name of a source, unique in the rule. */
  source(index: number): string;
  /** Unique name of the source that a node reads; empty where it reads a node. */
  sourceOf(input: NodeInput): string;
  /** Type of a sink, with its number where there are several of that type. */
  sink(action: number): string;
  /** Value of a column of the node's input. */
  columnAbove(index: number): Value;
  /** Value of a column of the node's output. */
  columnBelow(index: number): Value;
  /** Value of a condition over the node's output rows. */
  conditionBelow(program: Program | null, operand: Operand): Value;
  /** Values of operands of another node. */
  valuesAt(node: number, operands: readonly Operand[]): Value[];
}
