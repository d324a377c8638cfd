/**
 * What the planner knows of a kind of node of the kernel: what rows it gives on, and what it keeps from one run to the
 * next. The record of a kind stands in the file of the operator that makes the node.
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
  /** The rows that it gives on; without it they are those that it reads. */
  gives?(node: PlanOf<K>, at: Place): Batch;
  /** What its rows have gone through; without it nothing beside those that it reads. */
  rows?(node: PlanOf<K>, at: KeptPlace): Rows;
  /** What it keeps from one run to the next; null: nothing. */
  keeps?(node: PlanOf<K>, at: KeptPlace): Found | null;
}

/** What the operands of a node stand for. Its functions need no `this`. */
export interface Place {
  /** Index of the node. */
  readonly index: number;
  readonly values: Values;
  /** What the node reads. */
  readonly input: Batch;
  /** The value of an operand of the node. */
  value(operand: Operand): Value;
  valuesOf(operands: readonly Operand[]): Value[];
  /** A value that no expression names: a column that a node adds for those below it. */
  own(name: string): Value;
  /** The ports that give the node rows: branches of a merge, tables of a join. */
  ports(): readonly Port[];
  /** A column that a port gives the node. */
  portColumn(branch: number, index: number): Value;
  /** A batch whose columns are made when they are asked for; `above`: its registers are still there. */
  derived(column: (index: number) => Value, above?: Batch): Batch;
  /** A batch with these columns, which are made when they are asked for. */
  listed(columns: readonly (() => Value)[]): Batch;
  /** Number of the source, or of the table that is asked, in which the node looks up rows. */
  tableOf(node: PlanOf<'lookup' | 'ask'>): number;
  /** Columns of an event-time node above. */
  widthAbove(input: NodeInput): number;
}

/** A port and its index among the nodes. */
export type Port = PlanOf<'port'> & { readonly at: number };

/** What rows at a place of the plan have gone through: as a key, and in the words of the statement. */
export interface Rows {
  readonly key: bigint;
  readonly words: readonly string[];
  /** They are parts of messages. */
  readonly isOfMessages: boolean;
}

/** What a node keeps, before equal members get numbers. */
export type Found = Omit<KeptOperator, 'identity' | 'holder'> & { readonly key: bigint; readonly holder?: string };

/** Parts of a meaning; lists count with their length. */
export type Part = string | number | boolean | bigint | null | Value | readonly Value[];

/** What the values of a node mean, and what rows have gone through. */
export interface KeptPlace extends Place {
  /** Names of sources by number, tables that are asked behind them. */
  readonly names: readonly string[];
  /** What the node's rows have gone through. */
  rows(): Rows;
  /** What the rows that come in there have gone through. */
  rowsOf(input: NodeInput): Rows;
  /** Rows that have gone through one thing more; empty words say nothing of it. */
  added(input: NodeInput, key: bigint, words: string, isOfMessages?: boolean): Rows;
  /** What several things mean together. */
  together(...parts: readonly Part[]): bigint;
  /** A member of what is kept for each of the values. */
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
  /** Column of what the node reads. */
  columnAbove(index: number): Value;
  /** Column of what the node gives on. */
  columnBelow(index: number): Value;
  /** What a condition over the rows that the node gives on stands for. */
  conditionBelow(program: Program | null, operand: Operand): Value;
  /** Values of operands of another node. */
  valuesAt(node: number, operands: readonly Operand[]): Value[];
}
