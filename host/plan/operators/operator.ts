/**
 * What the planner knows of a kind of operator: the values that it computes, its nodes for the kernel, and what EXPLAIN
 * says of it. Each kind has a file with its form and its record; `index.ts` has the table of them.
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
  /** Lines of EXPLAIN, the last one for what it mainly does; none: its inputs stand in its place. */
  explain(node: Of<K>, of: Explained): readonly ExplainLine[];
  /** Relations whose columns the operator brings. */
  relations?(node: Of<K>): readonly Relation[];
  /**
   * What stays in memory between two rows or messages, and with what it grows.
   * @param above values that the operators above compute of its rows
   */
  keeps?(node: Of<K>, above: readonly Value[]): string | undefined;
  /** What rows wait for in it. */
  waits?(node: Of<K>): string | undefined;
  /** Sentences for what grows with the square of the input. */
  growth?(node: Of<K>, level: Level): readonly string[];
  /** Keeps nothing: rules that have an equal one on a shared stream use one for all. */
  isStateless?: true;
}

/** Name of an operator in EXPLAIN, and what it does. */
export type ExplainLine = readonly [op: string, info: string];

/** What EXPLAIN knows of the plan around an operator. */
export interface Explained {
  /** What the rule reads of each source. */
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
  /** What the operators of the chain compute. */
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
  /** What the rule needs of each source. */
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
  /** True when a join or lookup reads the rows of the window. */
  isJoined(window: Logical): boolean;
  /** The source that a value of a merge comes from. */
  ownerOf(value: Value): number | undefined;
  /** Values among `above` that were computed for the rows of this source, at whose place we are: they belong to it. */
  computedFor(source: Relation, above: readonly Value[]): Value[];
  /**
   * What functions gave for the rows of one stream, by the values in which it is read: it belongs to those rows from
   * here on.
   */
  ownedByStreams(above: readonly Value[]): ReadonlyMap<Value, Value>;
  /** Where the value stands in the batch. Throws when it is not there. */
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
  /** The node of a lookup table; of one that is asked its place among what is asked. */
  tableOf(source: Source): number;
  /** The place of a function that answers later among what is asked. */
  askedOf(call: AskedFunction['call']): number;
}
