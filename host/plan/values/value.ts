/**
 * Bound expressions: what the planner computes with after names are resolved. Equal expressions are one object
 * (interned), so that common subexpressions of a rule are found by identity and computed once.
 */

import type { AggregateName, OpName } from '../../../kernels/gen/ops.js';
import type { AnalyticName, ColumnUse, ConstValue } from '../../../kernels/plan/ir.js';
import { limitErrors } from '../errors/limit.js';

/**
 * Greatest height of a tree of operations. Aliases can build on each other, so that the limits of statements do not
 * bound it.
 */
const maxHeight = 1500;

/** Properties of a window that expressions may read. */
export type WindowPart = 'start' | 'end' | 'trigger';

interface Common {
  /** Number of the value within its rule. */
  readonly id: number;
  /** Contains an aggregate or a part of a window: can only be computed after the window. */
  readonly isAfterWindow: boolean;
  /** Operations on the longest way down to a column or constant. */
  readonly height: number;
}

export type ConstantValue = Common & { readonly kind: 'const'; readonly value: ConstValue };
export type ColumnValue = Common & { readonly kind: 'column'; readonly source: number; readonly use: ColumnUse };
export type OpValue = Common & {
  readonly kind: 'op';
  readonly op: OpName;
  /** Operands a, b, c; null where there is none. */
  readonly operands: readonly (Value | null)[];
  readonly args: readonly Value[];
  readonly imm: number;
  /** The operation gives another value each time, so equal expressions are not merged. */
  readonly isVolatile: boolean;
};
export type AggregateValue = Common & {
  readonly kind: 'aggregate';
  readonly fn: AggregateName;
  readonly args: readonly Value[];
  readonly filter: Value | null;
  /** Number of the function of a user that folds rows into a state, 0: none does. */
  readonly call: number;
};
/** A part of an ORDER BY. */
export interface SortKey {
  readonly value: Value;
  readonly descending: boolean;
}

/** A function over the rows before; an analytic operator computes it (host/plan/statement/analytic.ts). */
export type AnalyticValue = Common & {
  readonly kind: 'analytic';
  readonly fn: AnalyticName;
  readonly args: readonly Value[];
  /** Rows to look back for `lag`; number of the function for `user`. */
  readonly size: number;
  /** PARTITION BY. */
  readonly partition: readonly Value[];
  /** WHEN. */
  readonly when: Value | null;
  /** ORDER BY of row_number: the order in which rows are numbered. */
  readonly order: readonly SortKey[];
  /** The function sees the rows of the result, unless an operator before the result reads its value. */
  readonly isOfResult: boolean;
  /** Node of a graph whose rows the function sees; empty in statements. */
  readonly node: string;
  /** The function of a user answers later. */
  readonly isAsked: boolean;
};
/**
 * Number of rows or messages that passed a clause before, or the time of the newest. Each clause has a count of its
 * own, and there is one for rows that passed all clauses.
 */
export type HitValue = Common & { readonly kind: 'hit'; readonly part: 'count' | 'time'; readonly clause: string };
/** Time of a late row, or how much earlier it is than the watermark was; milliseconds. */
export type LateValue = Common & { readonly kind: 'late'; readonly part: 'time' | 'by' };
export type WindowValue = Common & { readonly kind: 'window'; readonly part: WindowPart };

/** The element of a list that a row was made of (unnest), or the object whose members the row gets (extract). */
export type ItemValue = Common & { readonly kind: 'item' };

/** The parts of a range of time that no row before was given (dedup_trigger); an operator of its own makes them. */
export type RangesValue = Common & {
  readonly kind: 'ranges';
  readonly begin: Value;
  readonly end: Value;
  readonly now: Value;
  readonly expireMs: number;
};

export type Value =
  | RangesValue
  | ConstantValue
  | ColumnValue
  | OpValue
  | AggregateValue
  | AnalyticValue
  | HitValue
  | LateValue
  | WindowValue
  | ItemValue;

/** Makes the values of one rule. */
export class Values {
  /** Names in the statement of the user functions that are called, by number. */
  readonly brought = new Map<number, string>();
  /** Functions that answer later: rows wait in an operator below what reads the answer (delay.ts, call.ts). */
  readonly waiting = new Set<number>();
  private readonly known = new Map<string, Value>();
  /** Values that `delayed` made, with the time until which a row waits. */
  readonly delays = new Map<Value, OpValue>();
  private count = 0;

  /** @param mostHeight refuses values that are higher */
  constructor(private readonly mostHeight = maxHeight) {}

  constant(value: ConstValue): ConstantValue {
    return this.intern(`k${constKey(value)}`, [], false, (common) => ({ ...common, kind: 'const', value }));
  }

  null(): ConstantValue {
    return this.constant({ tag: 'null' });
  }

  text(value: string): ConstantValue {
    return this.constant({ tag: 'str', value });
  }

  column(source: number, use: ColumnUse): ColumnValue {
    const key = `c${source}:${JSON.stringify(use)}`;
    return this.intern(key, [], false, (common) => ({ ...common, kind: 'column', source, use }));
  }

  /** @param isVolatile every call makes a value of its own */
  op(
    op: OpName,
    operands: readonly (Value | null)[],
    args: readonly Value[] = [],
    imm = 0,
    isVolatile = false,
  ): OpValue {
    const ids = operands.map((operand) => operand?.id ?? '-').join();
    const key = `o${op}(${ids};${args.map((arg) => arg.id).join()};${imm}${isVolatile ? `;${this.count}` : ''})`;
    const children = [...operands, ...args].filter((child) => child !== null);
    return this.intern(key, children, false, (common) => ({
      ...common,
      kind: 'op',
      op,
      operands,
      args,
      imm,
      isVolatile,
    }));
  }

  aggregate(fn: AggregateName, args: readonly Value[], filter: Value | null, call = 0): AggregateValue {
    const key = `a${fn}(${args.map((arg) => arg.id).join()};${filter?.id ?? '-'};${call})`;
    return this.intern(key, filter === null ? args : [...args, filter], true, (common) => ({
      ...common,
      kind: 'aggregate',
      fn,
      args,
      filter,
      call,
    }));
  }

  analytic(
    fn: AnalyticName,
    args: readonly Value[],
    size = 0,
    partition: readonly Value[] = [],
    when: Value | null = null,
    order: readonly SortKey[] = [],
    isOfResult = false,
    node = '',
  ): AnalyticValue {
    const ids = (some: readonly Value[]) => some.map(({ id }) => id).join();
    const orders = order.map(({ value, descending }) => `${value.id}${descending ? 'd' : ''}`).join();
    const place = `${orders}${isOfResult ? ';result' : ''};${node}`;
    const key = `l${fn}(${ids(args)};${size};${ids(partition)};${when?.id ?? '-'};${place})`;
    const children = [...args, ...partition, ...(when === null ? [] : [when]), ...order.map(({ value }) => value)];
    return this.intern(key, children, false, (common) => ({
      ...common,
      kind: 'analytic',
      fn,
      args,
      size,
      partition,
      when,
      order,
      isOfResult,
      node,
      isAsked: fn === 'user' && this.waiting.has(size),
    }));
  }

  /** The value of a row after it has waited `ms` milliseconds; null when `ms` is null. */
  delayed(ms: Value, value: Value): Value {
    const result = this.op('logic.case', [], [this.op('logic.isNull', [ms]), this.null(), value]);
    if (!this.delays.has(result)) this.delays.set(result, this.op('move.due', [ms, value], [], 0, true));
    return result;
  }

  ranges(begin: Value, end: Value, now: Value, expireMs: number): RangesValue {
    const key = `r${begin.id},${end.id},${now.id};${expireMs}`;
    return this.intern(key, [begin, end, now], false, (common) => ({
      ...common,
      kind: 'ranges',
      begin,
      end,
      now,
      expireMs,
    }));
  }

  hit(part: HitValue['part'], clause: string, isAfterWindow: boolean): HitValue {
    return this.intern(`h${part};${clause}`, [], isAfterWindow, (common) => ({ ...common, kind: 'hit', part, clause }));
  }

  late(part: LateValue['part']): LateValue {
    return this.intern(`t${part}`, [], false, (common) => ({ ...common, kind: 'late', part }));
  }

  window(part: WindowPart): WindowValue {
    return this.intern(`w${part}`, [], true, (common) => ({ ...common, kind: 'window', part }));
  }

  /** A statement has one function of several rows at most. */
  item(): ItemValue {
    return this.intern('item', [], true, (common) => ({ ...common, kind: 'item' }));
  }

  /**
   * Rebuilds a value bottom up: `change` sees each value once, after its operands were changed, and returns what stands
   * there from then on.
   */
  rewrite(value: Value, change: (value: Value) => Value, done = new Map<Value, Value>()): Value {
    const before = done.get(value);
    if (before !== undefined) return before;
    const inner = <V extends Value | null>(child: V) => (child === null ? null : this.rewrite(child, change, done));
    let rebuilt: Value = value;
    if (value.kind === 'op') {
      const operands = value.operands.map(inner);
      const args = value.args.map((arg) => this.rewrite(arg, change, done));
      const isSame = operands.every((v, i) => v === value.operands[i]) && args.every((v, i) => v === value.args[i]);
      if (!isSame) rebuilt = this.op(value.op, operands, args, value.imm, value.isVolatile);
    } else if (value.kind === 'aggregate') {
      rebuilt = this.aggregate(
        value.fn,
        value.args.map((arg) => this.rewrite(arg, change, done)),
        inner(value.filter),
        value.call,
      );
    }
    if (value.kind === 'ranges') {
      const one = (child: Value) => this.rewrite(child, change, done);
      rebuilt = this.ranges(one(value.begin), one(value.end), one(value.now), value.expireMs);
    }
    if (value.kind === 'analytic') {
      const { fn, args, size, partition, when, order, isOfResult, node } = value;
      const one = (child: Value) => this.rewrite(child, change, done);
      const keys = order.map((key) => ({ ...key, value: one(key.value) }));
      rebuilt = this.analytic(fn, args.map(one), size, partition.map(one), inner(when), keys, isOfResult, node);
    }
    const result = change(rebuilt);
    done.set(value, result);
    return result;
  }

  private intern<V extends Value>(
    key: string,
    children: readonly Value[],
    isOfWindow: boolean,
    make: (common: Common) => V,
  ): V {
    const found = this.known.get(key);
    // The key begins with the kind, so what is found is of the kind asked for.
    if (found !== undefined) return found as V;
    let isAfterWindow = isOfWindow;
    let height = 0;
    for (const child of children) {
      isAfterWindow ||= child.isAfterWindow;
      if (child.height >= height) height = child.height + 1;
    }
    if (height > this.mostHeight) {
      throw limitErrors.height(this.mostHeight);
    }
    const value = make({ id: this.count++, isAfterWindow, height });
    this.known.set(key, value);
    return value;
  }
}

/** Direct operands of a value. */
export function childrenOf(value: Value): readonly Value[] {
  switch (value.kind) {
    case 'op':
      return [...value.operands.filter((operand) => operand !== null), ...value.args];
    case 'aggregate':
      return value.filter === null ? value.args : [...value.args, value.filter];
    case 'ranges':
      return [value.begin, value.end, value.now];
    case 'analytic':
      return [
        ...value.args,
        ...value.partition,
        ...(value.when === null ? [] : [value.when]),
        ...value.order.map((key) => key.value),
      ];
    default:
      return [];
  }
}

/**
 * The parts of values that can be computed without the element of a list that rows are made of, as large as they are.
 */
export function withoutItem(...values: readonly Value[]): Value[] {
  const hasItem = new Map<Value, boolean>();
  const isOfItem = (value: Value): boolean => {
    let is = hasItem.get(value);
    if (is === undefined) {
      is = value.kind === 'item' || childrenOf(value).some(isOfItem);
      hasItem.set(value, is);
    }
    return is;
  };
  const found = new Set<Value>();
  const seen = new Set<Value>();
  const visit = (value: Value): void => {
    if (seen.has(value) || value.kind === 'const') return;
    seen.add(value);
    if (isOfItem(value)) childrenOf(value).forEach(visit);
    else found.add(value);
  };
  values.forEach(visit);
  return [...found];
}

/** Sources whose columns a value depends on. */
export function sourcesIn(value: Value): number[] {
  const seen = new Set<Value>();
  const sources = new Set<number>();
  const pending = [value];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    if (next.kind === 'column') sources.add(next.source);
    pending.push(...childrenOf(next));
  }
  return [...sources];
}

/** True for a value that is another one each time it is computed, as it is or in a part of it. */
export function isVolatile(value: Value): boolean {
  const seen = new Set([value]);
  for (const one of seen) {
    if (one.kind === 'op' && one.isVolatile) return true;
    for (const child of childrenOf(one)) seen.add(child);
  }
  return false;
}

/** Aggregates that a value is computed of, each once. */
export function aggregatesIn(...values: readonly Value[]): AggregateValue[] {
  const found = new Set<AggregateValue>();
  const seen = new Set<Value>();
  const visit = (value: Value): void => {
    if (seen.has(value)) return;
    seen.add(value);
    if (value.kind === 'aggregate') found.add(value);
    else childrenOf(value).forEach(visit);
  };
  values.forEach(visit);
  return [...found];
}

/** Text that is equal for equal constants and differs otherwise; -0 is not 0. */
export function constKey(value: ConstValue): string {
  switch (value.tag) {
    case 'null':
    case 'missing':
      return value.tag;
    case 'f64':
      return `f64:${Object.is(value.value, -0) ? '-0' : value.value}`;
    case 'array':
      return `[${value.items.map(constKey).join()}]`;
    case 'object':
      return `{${value.members.map(([name, item]) => `${JSON.stringify(name)}:${constKey(item)}`).join()}}`;
    case 'str':
      return `str:${JSON.stringify(value.value)}`;
    default:
      return `${value.tag}:${value.value}`;
  }
}
