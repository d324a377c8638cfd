/**
 * What the planner knows of a kind of window: its clause, the values that it looks at, its form for the kernel, and
 * what EXPLAIN and warnings say of it. Each kind is a record in a file of its own; `index.ts` has the table of them.
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

/** What a clause gives besides its numbers. */
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
  /** How it is written; the parser has it from here (host/sql/gen). Without it no clause asks for one. */
  grammar?: WindowGrammar;
  /** The window that a clause asks for; without it no clause does. */
  of?(clause: Clause): Of<K>;
  /** Conditions by which rows open, end or send the window. */
  conditions?(window: Of<K>): Value[];
  /** Other values that it looks at in each row, without its partition. */
  values?(window: Of<K>): Value[];
  /** The window with conditions replaced; its partition is mapped besides. */
  map?(window: Of<K>, map: (value: Value) => Value): Of<K>;
  /** Its form for the kernel, without its partition. */
  plan(window: Of<K>, operand: (value: Value) => Operand): PlanOf<K>;
  /** As GROUP BY has it, with its conditions in words; without it no statement has it. */
  written?(window: PlanOf<K>, conditions: string): string;
  /** Whose rows it keeps, in words; without it nothing is kept from message to message. */
  span?(window: Of<K>): string;
  /** How often a row goes out with it, in words; null when that is no matter. */
  overlap?(window: Of<K>): string | null;
  /** OVER (WHEN …) says which rows end it. */
  hasTrigger?: true;
  /** The time of rows has no meaning for it: rules of event time can't have it. */
  hasNoEventTime?: true;
  /** It ends by the clock, at times that no row changes. */
  isAligned?: true;
  /** It keeps its rows even where only groups are asked for. */
  keepsRows?: true;
  /** It ends with a row: partitions are forgotten so long after their last one as the option `stateTtl` says. */
  endsWithRow?: true;
}

/** A row in so many windows is still an ordinary overlap. */
export const usualOverlap = 10;
