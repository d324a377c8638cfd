/**
 * Planner's record for each kind of operator: the values that it computes, its nodes for the kernel, and its lines in
 * EXPLAIN. Each kind has a file with its form and its record; `index.ts` has the table of them.
 */
import type { ColumnUse, NodePlan, Operand } from '../../../kernels/plan/ir.js';
import type { RuleOptions } from '../../model/engine.js';
import type { Logical, OutputRow } from '../logical/logical.js';
import type { AskedFunction, Chain, Step } from '../program/physical-plan.js';
import type { Path } from '../program/program.js';
import type { Relation, Source } from '../values/source.js';
import type { ColumnValue, Value, Values } from '../values/value.js';

export type Kind = Logical['kind'];

/** The operators of a kind. */
export type Of<K extends Kind> = Extract<Logical, { kind: K }>;

/** One kind of operator. */
export interface OperatorKind<K extends Kind> {
  /** Values that the operator itself computes. */
  values(node: Of<K>): readonly Value[];
  /** The operator with values replaced. Times of rows stay as they are: they are columns of streams. */
  map(node: Of<K>, map: (value: Value) => Value): Logical;
  /** Adds the nodes of the operator at the place of its input, and moves on to the place of its own rows. */
  lower(node: Of<K>, at: Lowering): void;
  /** Lines of EXPLAIN, the last one for the operator's main work; none: its inputs stand in its place. */
  explain(node: Of<K>, of: Explained): readonly ExplainLine[];
  /** Relations whose columns the operator brings. */
  relations?(node: Of<K>): readonly Relation[];
  /**
   * State that stays in memory between two rows or messages, in words, and what it grows with.
   * @param above values that the operators above compute of its rows
   */
  keeps?(node: Of<K>, above: readonly Value[]): string | undefined;
  /** Reason for which rows wait in the operator, in words. */
  waits?(node: Of<K>): string | undefined;
  /** Warnings about work or output that grows with the square of the input, one sentence each. */
  growth?(node: Of<K>, level: Level): readonly string[];
  /** The operator keeps no state: rules with an equal operator on a shared stream use one for all. */
  isStateless?: true;
}

/** Name of an operator in EXPLAIN, and a text on its work. */
export type ExplainLine = readonly [op: string, info: string];

/** Parts of the plan around an operator that EXPLAIN needs. */
export interface Explained {
  /** Columns that the rule reads of each source. */
  readonly read: {
    readonly columns: readonly (readonly ColumnValue[])[];
    readonly uses: readonly (readonly ColumnUse[])[];
  };
  /** Prints a value, columns with the names of their streams. */
  show(value: Value): string;
  /** Prints values, separated by commas. */
  all(values: readonly Value[]): string;
}

/** The operators of one plan from its source up, as warnings look at them. */
export interface Level {
  readonly chain: readonly Logical[];
  /** Values that the operators of the chain compute. */
  readonly values: readonly Value[];
  /** The output row; null where the plan does not end with one. */
  readonly row: OutputRow | null;
}

/** The planner at work: nodes so far, and the place where the next one is added. */
export interface Lowering {
  /** The batch at the place where the next node is added. */
  path: Path;
  readonly options: RuleOptions;
  readonly values: Values;
  /** Columns that the rule needs of each source. */
  readonly columns: readonly (readonly ColumnValue[])[];
  /** Values that operators have computed for those above them. */
  readonly held: Set<Value>;
  /** Number of the node that is added next. */
  readonly next: number;
  /** True for a value that an operator below has computed. */
  isHeld(value: Value): boolean;
  /** Values that the operators above the node compute. */
  valuesAbove(node: Logical): readonly Value[];
  /** True when rows of the node come to those of others by a merge above. */
  isMerged(node: Logical): boolean;
  /** True when rows of the operator come to one of the kind. */
  isRead(node: Logical, kind: Logical['kind']): boolean;
  /** True when a join or lookup reads the rows of the window. */
  isJoined(window: Logical): boolean;
  /** The source that a value of a merge comes from. */
  ownerOf(value: Value): number | undefined;
  /**
   * Values among `above` that were computed for the rows of this source; the current place must be that of the source.
   */
  computedFor(source: Relation, above: readonly Value[]): Value[];
  /**
   * Results of functions over the rows of one stream, by the values in which they are read. From here on a result
   * belongs to the row of that stream.
   */
  ownedByStreams(above: readonly Value[]): ReadonlyMap<Value, Value>;
  /** Operand of the value in the batch. Throws when it is not there. */
  operandOf(value: Value): Operand;
  /** Adds a node that passes the same batch on; null as step: it is part of the step before. */
  push(node: NodePlan, step: Step['kind'] | null): void;
  /** Adds a node that makes a batch of these columns. */
  pushNew(node: NodePlan, step: Step['kind'] | null, columns: readonly (Value | null)[]): void;
  /** Adds a node and leaves the place as it is. Returns its number. */
  record(node: NodePlan, step: Step['kind'] | null): number;
  /** Adds a node that is no step and no part of a graph's node. */
  add(node: NodePlan): number;
  /** Adds a step of the topology. */
  addStep(step: Step): void;
  /** Adds the nodes of an input of a merge, and moves on to the place of its rows. */
  placeBranch(input: Logical): Chain;
  /** Node of a lookup table that keeps rows; for a table that is asked, its index in the list of what is asked. */
  tableOf(source: Source): number;
  /** Index of a function that answers later in the list of what is asked. */
  askedOf(call: AskedFunction['call']): number;
}
