/** Bound expressions as readable text. */
import type { OpName } from '../../../kernels/gen/ops.js';
import type { ColumnUse, ConstValue } from '../../../kernels/plan/ir.js';
import { hostFunctionName, opFunctionName } from '../../functions/registry.js';
import type { AnalyticValue, OpValue, Value } from './value.js';

const infix: Partial<Record<OpName, string>> = {
  'arith.add': '+',
  'arith.sub': '-',
  'arith.mul': '*',
  'arith.div': '/',
  'arith.mod': '%',
  'arith.bitAnd': '&',
  'arith.bitOr': '|',
  'arith.bitXor': '^',
  'compare.eq': '=',
  'compare.ne': '!=',
  'compare.lt': '<',
  'compare.le': '<=',
  'compare.gt': '>',
  'compare.ge': '>=',
  'compare.like': 'LIKE',
  'compare.notLike': 'NOT LIKE',
  'logic.and': 'AND',
  'logic.or': 'OR',
};

/** Longest text of an expression; shared subexpressions can make it exponentially longer than the statement. */
const maxLength = 2000;

/** Prefix of a column of a source: the name of its stream and a full stop, or nothing. */
export type Prefix = (source: number) => string;

/** Prints some kinds of expressions otherwise: undefined for all others. */
export type OtherWords = (value: Value, show: (child: Value) => string) => string | undefined;

/** Prints an expression; a very long one is cut off. */
export function showValue(value: Value, prefix: Prefix = () => '', other: OtherWords = () => undefined): string {
  return show(value, prefix, other, new Map());
}

function show(value: Value, prefix: Prefix, other: OtherWords, done: Map<Value, string>): string {
  const before = done.get(value);
  if (before !== undefined) return before;
  const inner = (child: Value) => show(child, prefix, other, done);
  const whole = other(value, inner) ?? print(value, prefix, inner);
  const text = whole.length > maxLength ? `${whole.slice(0, maxLength)}…` : whole;
  done.set(value, text);
  return text;
}

function print(value: Value, prefix: Prefix, show: (child: Value) => string): string {
  switch (value.kind) {
    case 'const':
      return showConst(value.value);
    case 'column':
      return value.use.kind === 'field' ? prefix(value.source) + showUse(value.use) : showUse(value.use);
    case 'op':
      return showOp(value, show);
    case 'aggregate': {
      const filter = value.filter === null ? '' : ` FILTER (WHERE ${show(value.filter)})`;
      return `${value.fn}(${value.args.map(show).join(', ')})${filter}`;
    }
    case 'analytic':
      return showAnalytic(value, show);
    case 'hit':
      return `${value.isAfterWindow ? 'last_agg_hit' : 'last_hit'}_${value.part}()`;
    case 'late':
      return value.part === 'time' ? 'the time of the row' : 'how late it is';
    case 'window':
      return `window_${value.part}()`;
    case 'ranges':
      return `dedup_trigger(${[value.begin, value.end, value.now].map(show).join(', ')}, ${value.expireMs})`;
    case 'item':
      return 'element';
    default:
      return value satisfies never;
  }
}

function showAnalytic(value: AnalyticValue, show: (child: Value) => string): string {
  const shown = value.args.map(show);
  if (value.fn === 'lag') shown.splice(1, 0, String(value.size));
  return showCall(value, shown, show);
}

/** A function that looks back, with its arguments as they are shown. */
export function showCall(
  { fn, size, partition, when, order }: AnalyticValue,
  shown: readonly string[],
  show: (child: Value) => string,
): string {
  const name = fn === 'user' ? hostFunctionName(size) : fn.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const by = partition.length === 0 ? '' : `PARTITION BY ${partition.map(show).join(', ')}`;
  const keys = order.map(({ value, descending }) => `${show(value)}${descending ? ' DESC' : ''}`);
  const ordered = keys.length === 0 ? '' : `ORDER BY ${keys.join(', ')}`;
  const over = [by, ordered, when === null ? '' : `WHEN ${show(when)}`].filter((part) => part !== '').join(' ');
  return `${name}(${shown.join(', ')})${over === '' ? '' : ` OVER (${over})`}`;
}

function showOp({ op, operands, args, imm }: OpValue, show: (child: Value) => string): string {
  const symbol = infix[op];
  const grouped = (child: Value) =>
    child.kind === 'op' && infix[child.op] !== undefined ? `(${show(child)})` : show(child);
  const [a, b] = operands;
  if (symbol !== undefined && a && b) return `${grouped(a)} ${symbol} ${grouped(b)}`;
  if (op === 'nested.member' && a && b?.kind === 'const' && b.value.tag === 'str') {
    return `${grouped(a)}->${b.value.value}`;
  }
  // The third operand of list.map is what it knows of functions.
  const own = op === 'list.map' ? operands.slice(0, 2) : operands;
  const shown = [...own.map((operand) => (operand === null ? '' : show(operand))), ...args.map(show)];
  const name = op === 'call.host' ? hostFunctionName(imm) : (opFunctionName(op) ?? op.slice(op.indexOf('.') + 1));
  return `${name}(${shown.join(', ')})`;
}

/** A column of a stream: name, `*` for the row, `meta(key)` and so on. */
export function showUse(use: ColumnUse): string {
  switch (use.kind) {
    case 'field':
      return use.name;
    case 'row':
      return '*';
    case 'self':
      return 'self';
    case 'meta':
      return `meta(${use.key})`;
    case 'metaAll':
      return 'meta(*)';
    case 'arrival':
      return 'tstamp()';
    default:
      return use satisfies never;
  }
}

/** A constant as plans show it. */
export function showConst(value: ConstValue): string {
  switch (value.tag) {
    case 'null':
    case 'missing':
      return value.tag;
    case 'bool':
    case 'i64':
      return String(value.value);
    case 'f64': {
      // Tells 3.0 (a float) from 3 (an integer).
      const text = Object.is(value.value, -0) ? '-0' : String(value.value);
      return /^-?\d+$/.test(text) ? `${text}.0` : text;
    }
    case 'str':
      return JSON.stringify(value.value);
    case 'array':
      return `[${value.items.map(showConst).join(', ')}]`;
    case 'object':
      return `{${value.members.map(([name, item]) => `${JSON.stringify(name)}: ${showConst(item)}`).join(', ')}}`;
    default:
      return value satisfies never;
  }
}
