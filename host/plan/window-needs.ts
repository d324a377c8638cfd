/** Windows on their way to the kernel: which columns they have to keep, their conditions as operands. */
import type { NodePlan, Operand, Program, WindowPlan } from '../../kernels/ir.js';
import { partitionOf, type WindowSpec } from './logical.js';
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

/**
 * The window with operands in the place of values.
 * @param ttlMs how long partitions of windows that end with a row wait for one, 0 for ever
 */
export function windowPlan(window: WindowSpec, operand: (value: Value) => Operand, ttlMs: number): WindowPlan {
  const { kind } = window;
  const of = partitionOf(window);
  const partition = of.length === 0 ? {} : { partition: of.map(operand) };
  const lasting = of.length === 0 || ttlMs === 0 ? partition : { ...partition, ttlMs };
  switch (kind) {
    case 'tumbling':
    case 'hopping':
    case 'row':
      return window;
    case 'session': {
      const { unitMs, maxMs, timeoutMs } = window;
      return { kind, unitMs, maxMs, timeoutMs, ...partition };
    }
    case 'count':
      return { kind, length: window.length, step: window.step, ...lasting };
    case 'sliding': {
      const { lengthMs, delayMs, trigger } = window;
      return { kind, lengthMs, delayMs, ...(trigger === null ? {} : { trigger: operand(trigger) }), ...partition };
    }
    case 'state': {
      const { begin, emit } = window;
      return { kind, begin: operand(begin), ...(emit === null ? {} : { emit: operand(emit) }), ...lasting };
    }
    case 'message': {
      const { start, end, trigger } = window;
      return { kind, start: operand(start), end: operand(end), trigger: operand(trigger) };
    }
    default:
      return window satisfies never;
  }
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
