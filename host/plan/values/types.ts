/**
 * Kinds of values that an expression can have, as far as known before rows come: from declared columns, literals,
 * operators and functions. An operand that would be an error in each row is refused when the rule is made. Null is not
 * among the kinds: every operand may be null.
 */
import { aggregates, type OpName } from '../../../kernels/gen/ops.js';
import type { ColumnType } from '../../../kernels/plan/ir.js';
import type { ArgKind, ArgSpec, ArgType } from '../../functions/define.js';
import type { Value } from './value.js';

/** Names of the kinds, as statements write them; a set of kinds has the bit of each. */
const names = ['BIGINT', 'FLOAT', 'STRING', 'BOOLEAN', 'DATETIME', 'BYTEA', 'ARRAY', 'STRUCT'] as const;
type Name = (typeof names)[number];

/** A set of kinds; empty for a value that is always null. */
export type Kinds = number;

function of(...some: readonly Name[]): Kinds {
  return some.reduce((set, name) => set | (1 << names.indexOf(name)), 0);
}

const any: Kinds = (1 << names.length) - 1;
const nothing: Kinds = 0;
const number = of('BIGINT', 'FLOAT');
const text = of('STRING');
const boolean = of('BOOLEAN');
/** Kinds of times, and of values that are compared with times as times. */
const time = of('DATETIME', 'BIGINT', 'FLOAT', 'STRING');

/** Kinds that an argument takes by its declared type, when its declaration has no `takes`. */
const takenAs: Readonly<Record<ArgType, ArgKind>> = {
  any: 'any',
  int: 'number',
  number: 'number',
  // A value that is no text is printed.
  string: 'any',
  boolean: 'boolean',
  datetime: 'datetime',
};

const taken: Readonly<Record<ArgKind, Kinds>> = {
  any,
  // Whole numbers of streams without columns are FLOAT, too.
  number,
  string: text,
  boolean,
  datetime: time,
  bytea: of('BYTEA'),
  array: of('ARRAY'),
  struct: of('STRUCT'),
};

/** Result kinds of functions, by the word `returns` of their declarations; other words stand for any kind. */
const given: Readonly<Record<string, Kinds>> = {
  // Some functions give a FLOAT for a BIGINT, or a BIGINT for a FLOAT.
  bigint: number,
  float: number,
  number,
  string: text,
  boolean,
  datetime: of('DATETIME'),
  bytea: of('BYTEA'),
  array: of('ARRAY'),
  struct: of('STRUCT'),
  object: of('STRUCT'),
};

const constants: Readonly<Record<string, Kinds>> = {
  null: nothing,
  missing: nothing,
  bool: boolean,
  i64: of('BIGINT'),
  f64: of('FLOAT'),
  str: text,
  array: of('ARRAY'),
  object: of('STRUCT'),
};

/**
 * Kinds of declared columns. DATETIME is not here: an unchecked DATETIME column holds the text or number that was sent.
 */
const declared: Readonly<Record<string, Kinds>> = {
  bigint: of('BIGINT'),
  float: of('FLOAT'),
  string: text,
  boolean,
  bytea: of('BYTEA'),
  array: of('ARRAY'),
  struct: of('STRUCT'),
};

/** Result kinds of operations, whatever their operands are. */
const results: Readonly<Partial<Record<OpName, Kinds>>> = {
  'arith.add': number,
  'arith.sub': number,
  'arith.mul': number,
  'arith.div': number,
  'arith.mod': number,
  'arith.neg': number,
  'arith.bitAnd': of('BIGINT', 'BOOLEAN'),
  'arith.bitOr': of('BIGINT', 'BOOLEAN'),
  'arith.bitXor': of('BIGINT', 'BOOLEAN'),
  'cast.toBigint': of('BIGINT'),
  'cast.toFloat': of('FLOAT'),
  'cast.toString': text,
  'cast.toBoolean': boolean,
  'cast.toDatetime': of('DATETIME'),
  'cast.toBytea': of('BYTEA'),
  'nested.arrayOf': of('ARRAY'),
  'nested.objectOf': of('STRUCT'),
  'nested.merge': of('STRUCT'),
  'nested.concat': of('STRUCT'),
};

/** Pairs of sets: an operator takes a value of the one on its left with a value of the other on its right. */
type Pairs = readonly (readonly [left: Kinds, right: Kinds])[];

const numbers: Pairs = [[number, number]];
const bits: Pairs = [
  [of('BIGINT'), of('BIGINT')],
  [boolean, boolean],
];
const ordered: Pairs = [
  [number, number],
  [text, text],
  [of('BYTEA'), of('BYTEA')],
  [of('DATETIME'), time],
  [time, of('DATETIME')],
];
const equal: Pairs = [...ordered, [boolean, boolean]];

/** Operand kinds of the operators with two sides. */
const operators: Readonly<Partial<Record<OpName, Pairs>>> = {
  'arith.add': numbers,
  'arith.sub': numbers,
  'arith.mul': numbers,
  'arith.div': numbers,
  'arith.mod': numbers,
  'arith.bitAnd': bits,
  'arith.bitOr': bits,
  'arith.bitXor': bits,
  'compare.eq': equal,
  'compare.ne': equal,
  'compare.lt': ordered,
  'compare.le': ordered,
  'compare.gt': ordered,
  'compare.ge': ordered,
  'compare.like': [[text, text]],
  'compare.notLike': [[text, text]],
  'nested.index': [
    [of('ARRAY'), number],
    [of('STRUCT'), text],
  ],
  // A left side that decides by itself leaves the right one alone.
  'logic.and': [[boolean, any]],
  'logic.or': [[boolean, any]],
};

/** Operand kinds of the operators with one side. */
const single: Readonly<Partial<Record<OpName, Kinds>>> = {
  'arith.neg': number,
  'logic.not': boolean,
  'nested.slice': of('ARRAY'),
  // A member of a value without members is null.
  'nested.member': any & ~of('ARRAY'),
};

/** Noted kinds: of the results of calls, and of columns that may hold anything. */
const noted = new WeakMap<Value, Kinds>();
const found = new WeakMap<Value, Kinds>();

/** Notes the result kinds of a call, by the word `returns` of the function's declaration. */
export function noteResult(value: Value, returns: string): void {
  const kinds = given[returns];
  if (kinds !== undefined && value.kind !== 'const') noted.set(value, kinds);
}

/** Says of a column that it may hold anything. */
export function noteAnything(value: Value): void {
  noted.set(value, any);
}

/** The kinds that the value can have. */
function kindsOf(value: Value): Kinds {
  const known = noted.get(value) ?? found.get(value);
  if (known !== undefined) return known;
  const kinds = computed(value);
  found.set(value, kinds);
  return kinds;
}

function computed(value: Value): Kinds {
  switch (value.kind) {
    case 'const':
      return constants[value.value.tag] ?? any;
    case 'column':
      if (value.use.kind === 'field') return declared[value.use.type.type] ?? any;
      return value.use.kind === 'arrival' ? of('BIGINT') : any;
    case 'op':
      return ofOperation(value);
    case 'analytic':
      return value.fn === 'lag' || value.fn === 'latest' ? ofAny(value.args.slice(0, 2)) : any;
    case 'aggregate':
      return aggregates[value.fn].sql === 'last_value' ? kindsOf(value.args[0] ?? value) : any;
    case 'window':
    case 'hit':
    case 'late':
      return number;
    default:
      return any;
  }
}

function ofOperation({ op, operands, args }: Extract<Value, { kind: 'op' }>): Kinds {
  if (op.startsWith('compare.')) return boolean;
  switch (op) {
    case 'logic.and':
    case 'logic.or':
    case 'logic.not':
    case 'logic.isNull':
    case 'logic.isNotNull':
      return boolean;
    case 'logic.coalesce':
    case 'logic.present':
      return ofAny(args);
    case 'logic.case':
      return ofAny(args.filter((_arg, i) => i % 2 === 1 || i === args.length - 1));
    case 'move.move':
    case 'logic.ifNotNull':
    case 'logic.nullBeside':
      return operands[0] == null ? any : kindsOf(operands[0]);
    case 'nested.member':
    case 'nested.index':
      return ofPart(op, operands);
    default:
      return results[op] ?? any;
  }
}

/** Names of the members that a STRUCT has by its declaration; undefined for a value outside of declared columns. */
export function membersOf(object: Value): string[] | undefined {
  const type = declaredType(object);
  return type?.type === 'struct' ? type.fields.map(({ name }) => name) : undefined;
}

/** The declared type of a column, or of a part of it. */
function declaredType(value: Value): ColumnType | undefined {
  if (noted.has(value)) return undefined;
  if (value.kind === 'column') return value.use.kind === 'field' ? value.use.type : undefined;
  if (value.kind !== 'op' || (value.op !== 'nested.member' && value.op !== 'nested.index')) return undefined;
  const [object, part] = value.operands;
  const type = object == null ? undefined : declaredType(object);
  if (type?.type === 'array') return value.op === 'nested.index' ? type.element : undefined;
  if (type?.type !== 'struct' || part?.kind !== 'const' || part.value.tag !== 'str') return undefined;
  const name = part.value.value;
  return type.fields.find((field) => field.name === name)?.type;
}

/** A member of a STRUCT column, an element of an ARRAY column. */
function ofPart(op: OpName, [object, part]: readonly (Value | null)[]): Kinds {
  if (object?.kind !== 'column' || object.use.kind !== 'field' || noted.has(object)) return any;
  const { type } = object.use;
  if (type.type === 'array' && op === 'nested.index') return declared[type.element.type] ?? any;
  if (type.type !== 'struct' || part?.kind !== 'const' || part.value.tag !== 'str') return any;
  const name = part.value.value;
  return declared[type.fields.find((field) => field.name === name)?.type.type ?? ''] ?? any;
}

function ofAny(values: readonly Value[]): Kinds {
  return values.reduce((kinds, value) => kinds | kindsOf(value), nothing);
}

/** `BIGINT, FLOAT or DATETIME` */
function namesOf(kinds: Kinds): string {
  const some = names.filter((_name, i) => kinds & (1 << i));
  return some.length < 2 ? some.join() : `${some.slice(0, -1).join(', ')} or ${some.at(-1)}`;
}

/** Names the kinds of a value that can never be one of the wanted kinds; undefined when it can, or is null. */
function other(kinds: Kinds, wanted: Kinds): string | undefined {
  return kinds === nothing || (kinds & wanted) !== 0 ? undefined : namesOf(kinds);
}

/** A side of an operator that it can never take. */
export interface WrongSide {
  readonly side: 'left' | 'right';
  /** `must be BIGINT or FLOAT, not STRING` */
  readonly reason: string;
}

/** Which side of an operator makes every row an error, undefined when none does. */
export function wrongSide(op: OpName, left: Value, right: Value | null = null): WrongSide | undefined {
  const first = kindsOf(left);
  const second = right === null ? nothing : kindsOf(right);
  const pairs = operators[op] ?? [];
  const lefts = single[op] ?? pairs.reduce((all, [one]) => all | one, nothing);
  if (lefts === nothing) return undefined;
  const found = other(first, lefts);
  if (found !== undefined) return { side: 'left', reason: `must be ${namesOf(lefts)}, not ${found}` };
  const rights = pairs.reduce(
    (all, [one, two]) => (first === nothing || (first & one) !== 0 ? all | two : all),
    nothing,
  );
  const beside = right === null ? undefined : other(second, rights);
  return beside === undefined ? undefined : { side: 'right', reason: `must be ${namesOf(rights)}, not ${beside}` };
}

/** Why an argument is an error in every row, `must be STRUCT, not BIGINT`; undefined when it need not be. */
export function wrongArgument(value: Value, { type, takes = [takenAs[type]] }: ArgSpec): string | undefined {
  const wanted = takes.reduce((all, kind) => all | taken[kind], nothing);
  const found = other(kindsOf(value), wanted);
  return found === undefined ? undefined : `must be ${namesOf(wanted)}, not ${found}`;
}

/**
 * Why a condition never holds, as `wrongArgument`; undefined for a literal (WHERE 1), which shows by its errors, as in
 * the recorded engine.
 */
export function wrongCondition(value: Value): string | undefined {
  if (value.kind === 'const') return undefined;
  const found = other(kindsOf(value), boolean);
  return found === undefined ? undefined : `must be BOOLEAN, not ${found}`;
}
