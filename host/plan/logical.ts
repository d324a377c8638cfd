/**
 * The logical plan: what a rule does, as a chain of operators from the streams up to the output rows. Rules of
 * optimisation (rules/) turn one such tree into another with the same meaning.
 */
import type { Source } from './source.js';
import type { Value, Values } from './value.js';

/** A named value of the output row. */
export interface OutputEntry {
  name: string;
  value: Value;
  /** A column named by itself: its null is sent as null. */
  isPlain: boolean;
  /** An expression without a name: its null is never sent. */
  isUnnamed: boolean;
}

/** The output row before sinks pick from it. */
export interface OutputRow {
  /** In the order of the SELECT; names are unique. */
  entries: OutputEntry[];
  /**
   * `*` over streams without schema: all members of `row` but these and those that entries replace. `sources`: whose members
   * the row has, in the order in which they are searched for a name.
   */
  star: { sources: Source[]; row: Value; except: string[] } | null;
}

export type WindowSpec =
  | { kind: 'tumbling'; unitMs: number; lengthMs: number }
  | { kind: 'hopping'; unitMs: number; lengthMs: number; hopMs: number }
  | { kind: 'sliding'; lengthMs: number; delayMs: number; trigger: Value | null }
  | { kind: 'session'; unitMs: number; maxMs: number; timeoutMs: number }
  | { kind: 'count'; length: number; step: number }
  | { kind: 'state'; begin: Value; emit: Value | null }
  | { kind: 'row' }
  /** Above a join: what a window gave is a window again. */
  | { kind: 'message'; start: Value; end: Value; trigger: Value };

/** One step of a join: the rows so far with those of one more source. */
export interface JoinSpec {
  type: 'inner' | 'left' | 'right' | 'full' | 'cross';
  source: number;
  /** Null: every pair matches. */
  condition: Value | null;
}

/** Conditions that are part of a window. */
export function windowConditions(window: WindowSpec): Value[] {
  if (window.kind === 'sliding') return window.trigger === null ? [] : [window.trigger];
  if (window.kind === 'state') return window.emit === null ? [window.begin] : [window.begin, window.emit];
  return [];
}

function mapWindow(window: WindowSpec, map: (value: Value) => Value): WindowSpec {
  const maybe = (value: Value | null) => (value === null ? null : map(value));
  if (window.kind === 'sliding') return { ...window, trigger: maybe(window.trigger) };
  if (window.kind === 'state') return { ...window, begin: map(window.begin), emit: maybe(window.emit) };
  return window;
}

export type Logical =
  | { kind: 'source'; source: Source }
  /** Rows of several sources in one sequence; with the event time of each source, or none in processing time. */
  | { kind: 'merge'; sources: Source[]; timestamps: Value[] }
  /** Event time: orders rows by their timestamp column; null: by that which the merge below has for each source. */
  | { kind: 'watermark'; input: Logical; timestamp: Value | null }
  /** Joins the rows of each window of the input with each other and with what tables hold; `sources`: all of them. */
  | { kind: 'join'; input: Logical; sources: Source[]; steps: JoinSpec[] }
  | { kind: 'filter'; input: Logical; condition: Value; clause: 'where' | 'filter' | 'having' }
  | {
      kind: 'window';
      input: Logical;
      window: WindowSpec;
      /** Event time of a row; null in processing time. */
      timestamp: Value | null;
      /** See WindowPlan.where of the plan IR. */
      where: Value | null;
      keys: Value[];
      isGrouped: boolean;
      sendEmpty: boolean;
    }
  | { kind: 'sort'; input: Logical; keys: { value: Value; descending: boolean }[] }
  | { kind: 'limit'; input: Logical; count: number }
  | { kind: 'project'; input: Logical; row: OutputRow };

/** Operator below, or null for a source. */
export function inputOf(node: Logical): Logical | null {
  return node.kind === 'source' || node.kind === 'merge' ? null : node.input;
}

/** Operators from the source up to the root. */
export function chainOf(root: Logical): Logical[] {
  const chain: Logical[] = [];
  for (let node: Logical | null = root; node !== null; node = inputOf(node)) chain.push(node);
  return chain.reverse();
}

/** Values that an operator itself computes. */
export function valuesOf(node: Logical): Value[] {
  switch (node.kind) {
    case 'source':
      return [];
    case 'merge':
      return node.timestamps;
    case 'watermark':
      return node.timestamp === null ? [] : [node.timestamp];
    case 'join':
      return node.steps.map(({ condition }) => condition).filter((condition) => condition !== null);
    case 'filter':
      return [node.condition];
    case 'window':
      return [node.timestamp, node.where, ...windowConditions(node.window), ...node.keys].filter(
        (value) => value !== null,
      );
    case 'sort':
      return node.keys.map(({ value }) => value);
    case 'limit':
      return [];
    case 'project':
      return [...node.row.entries.map(({ value }) => value), ...(node.row.star === null ? [] : [node.row.star.row])];
    default:
      return node satisfies never;
  }
}

/** Rebuilds the tree with every value replaced by what `change` returns for it. */
export function mapValues(node: Logical, values: Values, change: (value: Value) => Value): Logical {
  const done = new Map<Value, Value>();
  const map = (value: Value) => values.rewrite(value, change, done);
  const maybe = (value: Value | null) => (value === null ? null : map(value));
  const visit = (one: Logical): Logical => {
    switch (one.kind) {
      case 'source':
      case 'merge':
        return one;
      case 'watermark':
        return { ...one, input: visit(one.input) };
      case 'join':
        return {
          ...one,
          input: visit(one.input),
          steps: one.steps.map((step) => ({ ...step, condition: maybe(step.condition) })),
        };
      case 'filter':
        return { ...one, input: visit(one.input), condition: map(one.condition) };
      case 'window':
        return {
          ...one,
          input: visit(one.input),
          window: mapWindow(one.window, map),
          where: maybe(one.where),
          keys: one.keys.map(map),
        };
      case 'sort':
        return {
          ...one,
          input: visit(one.input),
          keys: one.keys.map((key) => ({ ...key, value: map(key.value) })),
        };
      case 'limit':
        return { ...one, input: visit(one.input) };
      case 'project':
        return {
          ...one,
          input: visit(one.input),
          row: { ...one.row, entries: one.row.entries.map((entry) => ({ ...entry, value: map(entry.value) })) },
        };
      default:
        return one satisfies never;
    }
  };
  return visit(node);
}
