/** What each operator means, one row at a time in plain TypeScript: the oracle of the vector programs. */
import { Instant, type Value, ValueError } from '../../../kernels/values/value.js';

/** An error without a text to compare: which error it is, is not the twin's business. */
export const failed = new ValueError('error');

type Operator = (...args: Value[]) => Value;

/** Milliseconds beyond this are no time of the kernel. */
const lastMs = 4_600_000_000_000_000n;

const isNull = (v: Value): v is null | undefined => v === null || v === undefined;
const isNumber = (v: Value): v is number | bigint => typeof v === 'number' || typeof v === 'bigint';
const isError = (v: Value): v is ValueError => v instanceof ValueError;
const isNested = (v: Value): boolean =>
  Array.isArray(v) ||
  (typeof v === 'object' &&
    v !== null &&
    !(v instanceof Uint8Array) &&
    !(v instanceof Instant) &&
    !(v instanceof ValueError));

/** -1, 0, 1, 'none' for NaN, or undefined when the kinds do not compare. */
function order(a: Value, b: Value): number | 'none' | undefined {
  if (isNumber(a) && isNumber(b)) {
    if (typeof a === 'bigint' && typeof b === 'bigint') return a < b ? -1 : a > b ? 1 : 0;
    const [x, y] = [Number(a), Number(b)];
    return x < y ? -1 : x > y ? 1 : x === y ? 0 : 'none';
  }
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  if (a instanceof Instant && b instanceof Instant) return a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0;
  if (a instanceof Instant && isNumber(b)) {
    const ms = typeof b === 'bigint' ? b : Math.abs(b) < 9.2e15 ? BigInt(Math.trunc(b)) : 2n ** 62n;
    return ms > lastMs || ms < -lastMs ? undefined : order(a, new Instant(ms * 1_000_000n));
  }
  return undefined;
}

function comparison(test: (o: number) => boolean, unordered: boolean, ordering: boolean): Operator {
  return (a, b) => {
    if (isError(a) || isError(b)) return failed;
    if (isNull(a) || (isNull(b) && !isNested(a))) return false;
    if (ordering && typeof a === 'boolean') return failed;
    const o = order(a, b);
    if (o === undefined) return failed;
    return o === 'none' ? unordered : test(o);
  };
}

const equal = comparison((o) => o === 0, false, false);

function arithmetic(
  onInts: ((a: bigint, b: bigint) => bigint | undefined) | null,
  onFloats: ((a: number, b: number) => number | undefined) | null,
  onBooleans?: (a: boolean, b: boolean) => boolean,
): Operator {
  return (a, b) => {
    if (isError(a) || isError(b)) return failed;
    if (typeof a === 'bigint' && typeof b === 'bigint' && onInts !== null) {
      const result = onInts(a, b);
      return result === undefined ? failed : BigInt.asIntN(64, result);
    }
    if (isNumber(a) && isNumber(b) && onFloats !== null) return onFloats(Number(a), Number(b)) ?? failed;
    if (typeof a === 'boolean' && typeof b === 'boolean' && onBooleans !== undefined) return onBooleans(a, b);
    return isNull(a) || (isNull(b) && !isNested(a)) ? null : failed;
  };
}

function logic(decisive: boolean): Operator {
  return (a, b) => {
    if (isError(a)) return failed;
    if (a === decisive) return decisive;
    if (isNested(a) || isError(b)) return failed;
    if (isNull(a) || isNull(b)) return false;
    return typeof a === 'boolean' && typeof b === 'boolean' ? b : failed;
  };
}

function between(wanted: boolean): Operator {
  return (a, b, c) => {
    if (isError(a)) return failed;
    if (isNull(a)) return false;
    if (isNested(a)) return failed;
    if (isNull(b) || isNull(c)) return false;
    if (isError(b) || isError(c)) return failed;
    const inside = [b, c].map((bound, i) => {
      const o = typeof a === 'boolean' ? undefined : order(a, bound);
      if (o === undefined) return failed;
      return o !== 'none' && (i === 0 ? o >= 0 : o <= 0);
    });
    return inside.includes(failed) ? failed : (inside[0] === true && inside[1] === true) === wanted;
  };
}

function membership(wanted: boolean, a: Value, elements: Value[]): Value {
  if (isNull(a)) return false;
  for (const element of elements) {
    if (isNull(element)) continue;
    const hit = equal(a, element);
    if (hit !== false) return hit === true ? wanted : failed;
  }
  return !wanted;
}

function like(wanted: boolean): Operator {
  return (a, b) => {
    if (typeof a !== 'string' || typeof b !== 'string') return failed;
    const source = [...b].map((c) => (c === '%' ? '.*' : c === '_' ? '.' : c.replace(/[\\^$*+?.()[\]{}|/]/g, '\\$&')));
    return new RegExp(`^(?:${source.join('')})$`, 'su').test(a) === wanted;
  };
}

/** Index or slice bound, a fraction cut off, or undefined; what does not fit 64 bits is far out of range. */
function whole(v: Value): number | undefined {
  if (!isNumber(v)) return undefined;
  return Number.isNaN(Number(v)) ? -(2 ** 63) : Math.trunc(Number(v));
}

function member(a: Value, key: Value): Value {
  if (isError(a) || isError(key)) return failed;
  if (Array.isArray(a)) return failed;
  if (!isNested(a)) return null;
  if (typeof key !== 'string') return failed;
  return Object.hasOwn(a as object, key) ? (a as { [key: string]: Value })[key] : null;
}

/** The operators by the name of their operation. */
export const naive: Record<string, Operator> = {
  'compare.eq': equal,
  'compare.ne': comparison((o) => o !== 0, true, false),
  'compare.lt': comparison((o) => o < 0, false, true),
  'compare.le': comparison((o) => o <= 0, false, true),
  'compare.gt': comparison((o) => o > 0, false, true),
  'compare.ge': comparison((o) => o >= 0, false, true),
  'compare.between': between(true),
  'compare.notBetween': between(false),
  'compare.in': (a, ...rest) => (isError(a) || (isNested(a) && !isNull(a)) ? failed : membership(true, a, rest)),
  'compare.notIn': (a, ...rest) => (isError(a) || (isNested(a) && !isNull(a)) ? failed : membership(false, a, rest)),
  'compare.inArray': (a, b) => inArray(true, a, b),
  'compare.notInArray': (a, b) => inArray(false, a, b),
  'compare.like': like(true),
  'compare.notLike': like(false),
  'arith.add': arithmetic(
    (a, b) => a + b,
    (a, b) => a + b,
  ),
  'arith.sub': arithmetic(
    (a, b) => a - b,
    (a, b) => a - b,
  ),
  'arith.mul': arithmetic(
    (a, b) => a * b,
    (a, b) => a * b,
  ),
  'arith.div': arithmetic(
    (a, b) => (b === 0n ? undefined : a / b),
    (a, b) => (b === 0 ? undefined : a / b),
  ),
  'arith.mod': arithmetic(
    (a, b) => (b === 0n ? undefined : a % b),
    (a, b) => (b === 0 ? undefined : a % b),
  ),
  'arith.bitAnd': arithmetic(
    (a, b) => a & b,
    null,
    (a, b) => a && b,
  ),
  'arith.bitOr': arithmetic(
    (a, b) => a | b,
    null,
    (a, b) => a || b,
  ),
  'arith.bitXor': arithmetic(
    (a, b) => a ^ b,
    null,
    (a, b) => a !== b,
  ),
  'arith.neg': (a) =>
    typeof a === 'bigint' ? BigInt.asIntN(64, -a) : typeof a === 'number' ? -a : isNull(a) ? null : failed,
  'logic.and': logic(false),
  'logic.or': logic(true),
  'logic.not': (a) => (typeof a === 'boolean' ? !a : isNull(a) ? null : failed),
  'logic.isNull': (a) => (isError(a) ? failed : isNull(a)),
  'logic.isNotNull': (a) => (isError(a) ? failed : !isNull(a)),
  'logic.case': (...args) => {
    for (let i = 0; i + 1 < args.length; i += 2) {
      if (isError(args[i])) return failed;
      if (args[i] === true) return args[i + 1] ?? null;
    }
    return args.length % 2 === 1 ? (args.at(-1) ?? null) : null;
  },
  'logic.coalesce': (...args) => args.find((v) => !isNull(v)) ?? null,
  'logic.present': (...args) => args.find((v) => v !== undefined),
  'nested.member': member,
  'nested.index': (a, b) => {
    if (isError(a) || isError(b)) return failed;
    if (isNull(a)) return null;
    if (!Array.isArray(a)) return isNested(a) && typeof b === 'string' ? member(a, b) : failed;
    const at = whole(b);
    if (at === undefined || at >= a.length || at < -a.length) return failed;
    return a.at(at) ?? null;
  },
  'nested.slice': (a, b, c) => {
    if (isError(a)) return failed;
    if (isNull(a)) return null;
    if (!Array.isArray(a)) return failed;
    const bounds = [b === undefined ? 0 : whole(b), c === undefined ? a.length : whole(c)];
    const [start, end] = bounds.map((v) => (v !== undefined && v < 0 ? v + a.length : v));
    if (start === undefined || end === undefined) return failed;
    if (start < 0 || start >= a.length || end < 0 || end > a.length) return failed;
    // An empty slice is what a negative end may leave; otherwise it is a mistake.
    if (start > end || (start === end && !(Number(c) <= -1))) return failed;
    return a.slice(start, end);
  },
  'nested.arrayOf': (...args) => (args.some(isError) ? failed : args.map((v) => v ?? null)),
  'nested.concat': (...args) =>
    args.every((v) => isNull(v) || (isNested(v) && !Array.isArray(v))) ? Object.assign({}, ...args) : failed,
};

function inArray(wanted: boolean, a: Value, b: Value): Value {
  if (isError(a) || isError(b) || isNested(a)) return failed;
  if (isNull(a) && !isNull(b)) return false;
  return Array.isArray(b) ? membership(wanted, a, b) : !wanted;
}
