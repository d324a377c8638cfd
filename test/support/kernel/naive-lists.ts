/** What the operations of lists and objects mean, in plain TypeScript; see naive-ops.ts. */
import { Instant, type Value, ValueError } from '../../../kernels/values/value.js';

export const failed = new ValueError('error');

type Operator = (...args: Value[]) => Value;
type Members = { [key: string]: Value };

/** Elements that a value may have by its length (maxValueBytes). */
const maxItems = 2 ** 20;

const isNull = (v: Value): v is null | undefined => v === null || v === undefined;
const isObject = (v: Value): v is Members =>
  typeof v === 'object' &&
  v !== null &&
  !Array.isArray(v) &&
  !(v instanceof Uint8Array) &&
  !(v instanceof Instant) &&
  !(v instanceof ValueError);
const isNumber = (v: Value): v is number | bigint => typeof v === 'number' || typeof v === 'bigint';

/** Equal in kind and value, numbers by value, of two kinds as doubles; lists and objects equal nothing. */
function isSame(a: Value, b: Value): boolean {
  if (isNull(a) || isNull(b)) return isNull(a) && isNull(b);
  if (a instanceof Instant && b instanceof Instant) return a.nanos === b.nanos;
  if (Number.isNaN(a) && Number.isNaN(b)) return true;
  if (isNumber(a) && isNumber(b) && typeof a !== typeof b) return Number(a) === Number(b);
  return typeof a !== 'object' && a === b;
}

const has = (list: readonly Value[], item: Value): boolean => list.some((other) => isSame(other, item));

function different(list: readonly Value[], known: readonly Value[] = []): Value[] {
  const result: Value[] = [];
  for (const item of list) if (!has(known, item) && !has(result, item)) result.push(item);
  return result;
}

/** Errors of operands come first, in their order. */
const strict =
  (operator: Operator): Operator =>
  (...args) =>
    args.some((arg) => arg instanceof ValueError) ? failed : operator(...args);

const isEmptyList = (v: Value): boolean => Array.isArray(v) && v.length === 0;
const isEmptyObject = (v: Value): boolean => isObject(v) && Object.keys(v).length === 0;
const isAbsent = (v: Value): boolean => isNull(v) || isEmptyList(v) || isEmptyObject(v);

const nullWhere =
  (isOne: (v: Value) => boolean) =>
  (operator: Operator): Operator =>
    strict((...args) => (args.some(isOne) ? null : operator(...args)));

/** Null when an operand is null or has no elements. */
const propagating = nullWhere(isAbsent);
/** Null when an operand is null; an empty one of the other kind counts as null. */
const ofLists = nullWhere((v) => isNull(v) || isEmptyObject(v));
const ofObjects = nullWhere((v) => isNull(v) || isEmptyList(v));

const whole = (v: Value): number | undefined => {
  if (typeof v === 'bigint') return Number(v);
  return typeof v === 'number' && Number.isInteger(v) && Math.abs(v) <= 2 ** 63 ? v : undefined;
};

function rank(v: Value): number {
  if (typeof v === 'number' || typeof v === 'bigint') return 0;
  if (typeof v === 'boolean') return 1;
  if (typeof v === 'string') return 2;
  if (v instanceof Instant) return 3;
  return isNull(v) ? 6 : 5;
}

/** Order of two values of one rank; NaN stands behind all numbers. */
function order(a: Value, b: Value): number {
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(String(b)));
  if (a instanceof Instant && b instanceof Instant) return a.nanos < b.nanos ? -1 : Number(a.nanos > b.nanos);
  if (typeof a === 'boolean') return Number(a) - Number(b);
  if (typeof a === 'bigint' && typeof b === 'bigint') return a < b ? -1 : Number(a > b);
  const [x, y] = [Number(a), Number(b)];
  if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
  return x < y ? -1 : Number(x > y);
}

function extreme(wanted: number): Operator {
  return propagating((list) => {
    if (!Array.isArray(list)) return failed;
    let best: Value = null;
    for (const item of list) {
      if (isNull(item)) continue;
      if (![0, 2, 3].includes(rank(item)) || (best !== null && rank(best) !== rank(item))) return failed;
      // A number is neither larger nor smaller than NaN.
      const isUnordered = Number.isNaN(item) || Number.isNaN(best);
      if (best === null || (!isUnordered && order(item, best) === wanted)) best = item;
    }
    return best;
  });
}

const listFirst =
  (nullIs: Value, operator: (list: Value[], value: Value) => Value): Operator =>
  (...args) =>
    strict((list, value) => (isNull(list) ? nullIs : Array.isArray(list) ? operator(list, value) : failed))(...args);

const areLists = (args: readonly Value[]): args is Value[][] => args.every((arg) => Array.isArray(arg));

const objectOf = (pairs: [string, Value][]): Members => Object.fromEntries(pairs);

const members = (operator: (entries: [string, Value][]) => Value): Operator =>
  ofObjects((v) =>
    isObject(v)
      ? operator(Object.entries(v).sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b))))
      : failed,
  );

/** The operators by the name of their operation. */
export const naiveLists: Record<string, Operator> = {
  'list.size': strict((v) => (Array.isArray(v) ? BigInt(v.length) : 0n)),
  'list.count': strict((v) => {
    if (isAbsent(v)) return 0n;
    return Array.isArray(v) ? BigInt(v.filter((item) => !isNull(item)).length) : failed;
  }),
  'list.contains': listFirst(false, has),
  'list.containsAny': listFirst(false, (list, other) =>
    Array.isArray(other) ? list.some((item) => has(other, item)) : failed,
  ),
  'list.position': listFirst(-1n, (list, value) => BigInt(list.findIndex((item) => isSame(item, value)))),
  'list.lastPosition': listFirst(-1n, (list, value) => BigInt(list.findLastIndex((item) => isSame(item, value)))),
  'list.positions': listFirst([], (list, value) =>
    list.flatMap((item, i): Value[] => (isSame(item, value) ? [BigInt(i)] : [])),
  ),
  'list.elementAt': propagating((data, key) => {
    if (isObject(data)) return typeof key !== 'string' ? failed : Object.hasOwn(data, key) ? data[key] : null;
    const index = whole(key);
    if (!Array.isArray(data) || index === undefined || index >= data.length || -index > data.length) return failed;
    return data.at(index) ?? null;
  }),
  'list.create': strict((...args) => {
    const items = args.filter((arg) => !isNull(arg));
    return items.length === 0 ? null : items;
  }),
  'list.concat': strict((...args) => {
    const given = args.filter((arg) => !isNull(arg));
    if (given.length === 0) return null;
    return areLists(given) ? given.flat(1) : failed;
  }),
  'list.remove': listFirst(null, (list, value) => list.filter((item) => !isSame(item, value))),
  'list.flatten': ofLists((list) => (Array.isArray(list) ? list.flat(1) : failed)),
  'list.distinct': ofLists((list) => (Array.isArray(list) ? different(list) : failed)),
  'list.except': listFirst(null, (list, other) => {
    if (!isNull(other) && !Array.isArray(other)) return failed;
    return different(list, isNull(other) ? [] : other);
  }),
  'list.intersect': ofLists((a, b) => {
    if (!Array.isArray(a) || !Array.isArray(b)) return failed;
    return different(b).filter((item) => has(a, item));
  }),
  'list.union': strict((a, b) => {
    const given = [a, b].filter((list) => !isNull(list));
    return areLists(given) ? different(given.flat(1)) : failed;
  }),
  'list.repeat': strict((value, times) => {
    if (isNull(value) || isAbsent(times)) return null;
    const n = whole(times);
    return n === undefined || n < 0 || n > maxItems ? failed : Array<Value>(n).fill(value);
  }),
  'list.max': extreme(1),
  'list.min': extreme(-1),
  'list.sort': ofLists((list) => {
    if (!Array.isArray(list)) return failed;
    return [...list].sort((a, b) => rank(a) - rank(b) || (rank(a) >= 5 ? 0 : order(a, b)));
  }),
  'object.keys': members((entries) => entries.map(([key]) => key)),
  'object.values': members((entries) => entries.map(([, value]) => value)),
  'object.items': members((entries) => entries),
  'object.pairs': members((entries) => entries.map(([key, value]) => ({ key, value }))),
  'object.size': strict((v) => (isNull(v) ? 0n : isObject(v) ? BigInt(Object.keys(v).length) : failed)),
  'object.fromLists': ofLists((keys, values) => {
    if (!Array.isArray(keys) || !Array.isArray(values) || keys.length !== values.length) return failed;
    return keys.every((key) => typeof key === 'string') ? objectOf(keys.map((key, i) => [key, values[i]])) : failed;
  }),
  'object.construct': strict((...args) => {
    const pairs: [string, Value][] = [];
    for (let i = 0; i + 1 < args.length; i += 2) {
      const key = args[i];
      if (isNull(key)) continue;
      if (typeof key !== 'string') return failed;
      pairs.push([key, args[i + 1] ?? null]);
    }
    return objectOf(pairs);
  }),
};
