/** Sprig's arithmetic: whole numbers unless the name ends in `f`. */
import { any, type FunctionSpec, fn, sizeArg } from './function-spec.js';
import { TemplateError, type Value } from './value.js';

/** Number of anything: texts are read, what is no number is 0. */
function toFloat(value: Value): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value !== 'string' || value.trim() === '') return 0;
  const number = Number(value);
  return Number.isNaN(number) ? 0 : number;
}

/** Whole number of anything, cut towards zero. */
export function toInteger(value: Value): bigint {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'string')
    return /^[-+]?\d{1,19}$/.test(value) ? BigInt.asIntN(64, BigInt(value.replace('+', ''))) : 0n;
  const number = Math.trunc(toFloat(value));
  return Number.isFinite(number) ? BigInt.asIntN(64, BigInt(number)) : 0n;
}

/** A 64-bit result as the smaller of the two kinds. */
function integer(value: bigint): Value {
  const wrapped = BigInt.asIntN(64, value);
  const number = Number(wrapped);
  return Number.isSafeInteger(number) ? number : wrapped;
}

function fold(min: number, step: (a: bigint, b: bigint) => bigint): FunctionSpec {
  return fn(min, any, (args) => integer(args.map(toInteger).reduce(step)));
}

function foldFloat(step: (a: number, b: number) => number): FunctionSpec {
  return fn(2, any, (args) => args.map(toFloat).reduce(step));
}

function divisor(value: bigint): bigint {
  if (value === 0n) throw new TemplateError('runtime error: integer divide by zero');
  return value;
}

// Math.max takes no bigint.
const larger = fold(1, (a, b) => {
  if (a > b) return a;
  return b;
});
const smaller = fold(1, (a, b) => {
  if (a < b) return a;
  return b;
});

function round(value: Value, digits: Value, half: Value): number {
  const scale = 10 ** toFloat(digits);
  const scaled = toFloat(value) * scale;
  const threshold = half === undefined ? 0.5 : toFloat(half);
  const whole = Math.trunc(scaled);
  const rounded = Math.abs(scaled - whole) >= threshold ? whole + Math.sign(scaled) : whole;
  return rounded / scale;
}

function sequence(from: number, to: number, step: number): Value[] {
  const list: Value[] = [];
  for (let i = from; step > 0 ? i < to : i > to; i += step) list.push(i);
  return list;
}

export const mathFunctions: Record<string, FunctionSpec> = {
  add: fold(1, (a, b) => a + b),
  add1: fn(1, 1, ([value]) => integer(toInteger(value) + 1n)),
  sub: fold(2, (a, b) => a - b),
  mul: fold(1, (a, b) => BigInt.asIntN(64, a * b)),
  div: fold(2, (a, b) => a / divisor(b)),
  mod: fold(2, (a, b) => a % divisor(b)),
  max: larger,
  biggest: larger,
  min: smaller,
  addf: foldFloat((a, b) => a + b),
  subf: foldFloat((a, b) => a - b),
  mulf: foldFloat((a, b) => a * b),
  divf: foldFloat((a, b) => a / b),
  maxf: foldFloat(Math.max),
  minf: foldFloat(Math.min),
  floor: fn(1, 1, ([value]) => Math.floor(toFloat(value))),
  ceil: fn(1, 1, ([value]) => Math.ceil(toFloat(value))),
  round: fn(2, 3, ([value, digits, half]) => round(value, digits, half)),
  int: fn(1, 1, ([value]) => integer(toInteger(value))),
  int64: fn(1, 1, ([value]) => integer(toInteger(value))),
  toInt: fn(1, 1, ([value]) => integer(toInteger(value))),
  float64: fn(1, 1, ([value]) => toFloat(value)),
  toFloat: fn(1, 1, ([value]) => toFloat(value)),
  atoi: fn(1, 1, ([value]) => integer(toInteger(value))),
  until: fn(1, 1, ([count], budget) => {
    const size = Number(toInteger(count));
    budget.spend(Math.abs(size));
    return sequence(0, size, size < 0 ? -1 : 1);
  }),
  untilStep: fn(3, 3, ([from, to, step], budget) => {
    const by = Number(toInteger(step));
    if (by === 0) return [];
    const [start, end] = [Number(toInteger(from)), Number(toInteger(to))];
    budget.spend(Math.max(0, Math.ceil((end - start) / by)));
    return sequence(start, end, by);
  }),
  repeat: fn(2, 2, ([count, text], budget) => {
    if (typeof text !== 'string') throw new TemplateError('wrong type for value; expected string');
    const times = sizeArg(count, budget);
    budget.text(times * text.length);
    return text.repeat(times);
  }),
};
