/** Windows on their way to the kernel: which columns they have to keep, their conditions as operands. */
import type { NodePlan, Operand, Program, WindowPlan } from '../../kernels/ir.js';
import type { WindowSpec } from './logical.js';
import type { Path } from './program.js';
import { type AggregateValue, childrenOf, type Value } from './value.js';

/** What the operators above a window need of it. */
export interface WindowNeeds {
  keep: Value[];
  aggregates: AggregateValue[];
  start: Value | null;
  end: Value | null;
  trigger: Value | null;
}

/**
 * @param later values that are computed above the window
 * @param isComputed true for aggregates that the window computes; others are computed above, of the window's rows
 * @param isHeld true for values that are known below the window: they are kept like columns
 */
export function windowNeeds(
  later: readonly Value[],
  isComputed: (aggregate: AggregateValue) => boolean,
  isHeld: (value: Value) => boolean,
): WindowNeeds {
  const needs: WindowNeeds = { keep: [], aggregates: [], start: null, end: null, trigger: null };
  const seen = new Set<Value>();
  const visit = (value: Value): void => {
    if (seen.has(value)) return;
    seen.add(value);
    if (value.kind === 'column' || isHeld(value)) needs.keep.push(value);
    else if (value.kind === 'aggregate' && isComputed(value)) needs.aggregates.push(value);
    else if (value.kind === 'window') needs[value.part] = value;
    else for (const child of childrenOf(value)) visit(child);
  };
  for (const value of later) visit(value);
  return needs;
}

/** The window with operands in the place of values. */
export function windowPlan(window: WindowSpec, operand: (value: Value) => Operand): WindowPlan {
  if (window.kind === 'state') {
    const { kind, begin, emit, partition } = window;
    return {
      kind,
      begin: operand(begin),
      ...(emit === null ? {} : { emit: operand(emit) }),
      ...(partition === null ? {} : { partition: operand(partition) }),
    };
  }
  if (window.kind === 'message') {
    const { kind, start, end, trigger } = window;
    return { kind, start: operand(start), end: operand(end), trigger: operand(trigger) };
  }
  if (window.kind !== 'sliding') return window;
  const { kind, lengthMs, delayMs, trigger } = window;
  return trigger === null ? { kind, lengthMs, delayMs } : { kind, lengthMs, delayMs, trigger: operand(trigger) };
}

/** A window that gathers rows as they are; `time`: of a row in event time, null in processing time. */
export function collectingWindow(
  { input }: Path,
  program: Program | null,
  window: WindowPlan,
  keep: Operand[],
  time: Operand | null,
): NodePlan {
  return {
    kind: 'window',
    input,
    program,
    window,
    isEventTime: time !== null,
    grouped: false,
    keys: [],
    keep,
    aggs: [],
    sendEmpty: false,
    name: 'window',
    ...(time === null ? {} : { timestamp: time }),
  };
}
