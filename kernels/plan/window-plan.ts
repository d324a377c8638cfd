/** Windows of a plan: their lengths in milliseconds or rows, their conditions as operands. */
import type { Operand } from './output-plan.js';

/** OVER (PARTITION BY …): rows of equal values have windows of their own; without any all rows have one. */
type Partitioned = { partition?: Operand[] };

/**
 * Of windows that end with a row: partitions are forgotten so long after their last one, by the clock; 0 or nothing:
 * never.
 */
type Lasting = Partitioned & { ttlMs?: number };

export type WindowPlan =
  | { kind: 'tumbling'; unitMs: number; lengthMs: number }
  | { kind: 'hopping'; unitMs: number; lengthMs: number; hopMs: number }
  | ({ kind: 'sliding'; lengthMs: number; delayMs: number /** OVER (WHEN …) */; trigger?: Operand } & Partitioned)
  /** `unitMs`: natural unit of the alignment of the longest duration; without it the largest unit that divides it. */
  | ({ kind: 'session'; maxMs: number; timeoutMs: number; unitMs?: number } & Partitioned)
  | ({ kind: 'count'; length: number; step: number } & Lasting)
  /**
   * Opens with a row for which `begin` is true and ends with the row for which `emit` is true, both included. Without
   * `emit`: from one row for which `begin` is true to the row before the next.
   */
  | ({ kind: 'state'; begin: Operand; emit?: Operand } & Lasting)
  /** No window: every input row is a window of its own (an aggregate without a window). */
  | { kind: 'row' }
  /**
   * Below a join: each message of the input is a window. The operands are the columns of the input that hold start, end
   * and time of the trigger of the window that the message comes from.
   */
  | { kind: 'message'; start: Operand; end: Operand; trigger: Operand };
