/**
 * Planner's record for each kind of window: its clause, the values that it reads, its form for the kernel, and its text
 * in EXPLAIN and warnings. Each kind is a record in a file of its own; `index.ts` has the table of them.
 */
import type { Operand, WindowPlan } from '../../../kernels/plan/ir.js';
import type { Expr, WindowClause } from '../../sql/ast.js';
import type { WindowGrammar } from '../../sql/window-grammar.js';
import type { WindowSpec } from '../logical/logical.js';
import type { Value } from '../values/value.js';

export type Kind = WindowSpec['kind'];

/** The windows of a kind. */
export type Of<K extends Kind> = Extract<WindowSpec, { kind: K }>;
type PlanOf<K extends Kind> = Extract<WindowPlan, { kind: K }>;

/** A window clause with its unit and partition, and functions that bind its conditions. */
export interface Clause {
  readonly clause: WindowClause;
  /** Milliseconds of the unit of its lengths; 1 without one. */
  readonly unitMs: number;
  readonly partition: readonly Value[];
  /** Binds a condition to the columns of rows. */
  bind(condition: Expr): Value;
  /** Binds OVER (WHEN …) and checks that it is a condition. */
  trigger(condition: Expr): Value;
}

export interface WindowKind<K extends Kind> {
  /**
   * Grammar of the window's clause, which the parser gets from here (host/sql/gen); absent: no clause makes such a
   * window.
   */
  grammar?: WindowGrammar;
  /** Makes the window of a clause; absent: no clause makes such a window. */
  of?(clause: Clause): Of<K>;
  /** Conditions by which rows open, end or send the window. */
  conditions?(window: Of<K>): Value[];
  /** Other values that the window reads in each row, without its partition. */
  values?(window: Of<K>): Value[];
  /** The window with conditions replaced; its partition is mapped besides. */
  map?(window: Of<K>, map: (value: Value) => Value): Of<K>;
  /** Form of the window for the kernel, without its partition. */
  plan(window: Of<K>, operand: (value: Value) => Operand): PlanOf<K>;
  /** Text of the window as in GROUP BY, with its conditions in words; absent: no statement has such a window. */
  written?(window: PlanOf<K>, conditions: string): string;
  /** Rows that the window keeps, in words; absent: it keeps nothing from message to message. */
  span?(window: Of<K>): string;
  /** How often the window sends a row, in words; null for an ordinary overlap. */
  overlap?(window: Of<K>): string | null;
  /** OVER (WHEN …) says which rows end the window. */
  hasTrigger?: true;
  /** The window does not use the time of rows, so rules with event time can't have it. */
  hasNoEventTime?: true;
  /** The window ends by the clock, at times that no row changes. */
  isAligned?: true;
  /** The window keeps its rows even when only groups are needed. */
  keepsRows?: true;
  /** A row ends the window: its partitions are dropped when no row comes for the time in option `stateTtl`. */
  endsWithRow?: true;
}

/** Number of windows for one row from which warnings mention the overlap. */
export const usualOverlap = 10;
