/**
 * Declared properties: one declaration gives parsing, coercion, defaults, checks, masking and metadata.
 *
 *     const spec = { qos: field.int().min(0).max(2).default(0).doc('MQTT quality of service') };
 *     const conf = parse(spec, { qos: '1' }, { where: 'mqtt source' }); // conf.qos is the number 1
 */

import { isDeepStrictEqual } from 'node:util';
import { HaumeaError } from '../errors.js';
import { isObject } from '../structures/is-object.js';
import { jsonOf } from '../text/json.js';
import { nearest } from '../text/nearest.js';
import { formatDuration, parseDuration } from '../time/duration.js';
import { fieldErrors } from './errors.js';
import { isRowTemplate, literalOf } from './row-template.js';

export type FieldKind = 'int' | 'float' | 'string' | 'bool' | 'duration' | 'object' | 'list' | 'any';

export type Spec = Readonly<Record<string, Field<unknown>>>;

/** The checked values of a spec. */
export type Parsed<S extends Spec> = { [K in keyof S]: S[K] extends Field<infer V> ? V : never };

/** Everything a field declares; all but the kind may be missing. */
interface Declaration {
  readonly kind: FieldKind;
  readonly doc?: string;
  readonly default?: unknown;
  readonly isRequired?: boolean;
  readonly isSecret?: boolean;
  readonly isAddress?: boolean;
  readonly isDynamic?: boolean;
  /** Gets a template's text with its actions replaced; returns why the template is wrong for every row. */
  readonly checkLiteral?: (text: string) => string | undefined;
  readonly isUnlisted?: boolean;
  readonly isUnused?: boolean;
  readonly min?: number;
  readonly max?: number;
  readonly values?: readonly string[];
  readonly aliases?: readonly string[];
  readonly label?: string;
  readonly item?: Field<unknown>;
  readonly fields?: Spec;
  readonly check?: (value: unknown) => string | undefined;
  readonly notYet?: (value: unknown) => string | undefined;
}

/** One property. Each method returns a changed copy, so declarations can be shared and refined. */
export class Field<V> {
  /** Only there for the compiler: the type of the checked value. */
  declare readonly value: V;

  constructor(readonly declared: Declaration) {}

  /** Sets the text of metadata and reference pages. */
  doc(text: string): Field<V> {
    return this.with({ doc: text });
  }

  /** Sets the value used when the property is missing; durations take milliseconds. */
  default(value: NonNullable<V>): Field<NonNullable<V>> {
    return this.with({ default: value }) as unknown as Field<NonNullable<V>>;
  }

  /** Refuses input without the property. */
  required(): Field<NonNullable<V>> {
    return this.with({ isRequired: true }) as unknown as Field<NonNullable<V>>;
  }

  /** Sets the lower bound: of the value of numbers and durations (ms), of the length of texts and lists. */
  min(bound: number): Field<V> {
    return this.with({ min: bound });
  }

  /** Sets the upper bound, measured as for `min`. */
  max(bound: number): Field<V> {
    return this.with({ max: bound });
  }

  /** Allows only these texts; letter case of the input does not matter. */
  oneOf<T extends string>(...values: readonly T[]): Field<undefined extends V ? T | undefined : T> {
    return this.with({ values }) as unknown as Field<undefined extends V ? T | undefined : T>;
  }

  /** Adds a check of its own: returns the reason of a refusal, such as `must be an address host:port`. */
  check(test: (value: NonNullable<V>) => string | undefined): Field<V> {
    return this.with({ check: test as (value: unknown) => string | undefined });
  }

  /** Adds a check for values that are valid but can't be used yet; they may be stored, see `isStored`. */
  notYet(test: (value: NonNullable<V>) => string | undefined): Field<V> {
    return this.with({ notYet: test as (value: unknown) => string | undefined });
  }

  /**
   * Marks a property that may be a template over the row: checks are for what comes out then. `checkLiteral` gets the
   * text of a template with an `x` in the place of each action: it returns the reason why no row can make it right.
   * With it an object may be a text that is JSON only when a row has made it.
   */
  dynamic(checkLiteral?: (text: string) => string | undefined): Field<V> {
    return this.with({ isDynamic: true, checkLiteral });
  }

  /** The same property for a rendered value, which is no template any more. */
  rendered(): Field<V> {
    return this.with({ isDynamic: false });
  }

  /** Marks a value that is masked wherever it is shown. */
  secret(): Field<V> {
    return this.with({ isSecret: true });
  }

  /** Marks a property that forms do not offer, since it has only one valid value or no effect. */
  unlisted(): Field<V> {
    return this.with({ isUnlisted: true });
  }

  /** Marks a property without effect, with all properties below it; `unusedIn` names those that are set. */
  unused(): Field<V> {
    return this.with({ isUnused: true });
  }

  /** Other names under which the property is accepted. */
  alias(...names: readonly string[]): Field<V> {
    return this.with({ aliases: names });
  }

  /** Sets the caption in forms. */
  label(text: string): Field<V> {
    return this.with({ label: text });
  }

  private with(change: Partial<Declaration>): Field<V> {
    return new Field<V>({ ...this.declared, ...change });
  }
}

export const field = {
  int: () => new Field<number | undefined>({ kind: 'int' }),
  float: () => new Field<number | undefined>({ kind: 'float' }),
  string: () => new Field<string | undefined>({ kind: 'string' }),
  bool: () => new Field<boolean | undefined>({ kind: 'bool' }),
  /** Milliseconds; the input is a text such as `10s` or a number of milliseconds. */
  duration: () => new Field<number | undefined>({ kind: 'duration' }),
  /** A text that is masked wherever it is shown. */
  secret: () => new Field<string | undefined>({ kind: 'string', isSecret: true }),
  /** Address of the other side, or a part of it: a secret is only sent to the address that it was given for. */
  address: () => new Field<string | undefined>({ kind: 'string', isAddress: true }),
  /** A free-form object. */
  map: () => new Field<Record<string, unknown> | undefined>({ kind: 'object' }),
  /** Properties of its own: always there, with their defaults. Without `fields` the same as `map`. */
  object: objectField,
  list: <V = unknown>(item?: Field<V>) => new Field<NonNullable<V>[] | undefined>({ kind: 'list', item }),
  any: () => new Field<unknown>({ kind: 'any' }),
};

function objectField(): Field<Record<string, unknown> | undefined>;
function objectField<S extends Spec>(fields: S): Field<Parsed<S>>;
function objectField(fields?: Spec): Field<unknown> {
  return new Field<unknown>({ kind: 'object', fields });
}

export interface ParseOptions {
  /** Owner of the properties, named in errors: `mqtt source`. */
  readonly where?: string;
  /** `reject` names unknown properties in an error; `ignore` (default) leaves them out of the result. */
  readonly unknown?: 'reject' | 'ignore';
  /** Takes JSON values by their exact type: the text of a number is no number, and a number is no text. */
  readonly isExact?: boolean;
  /** The input is only stored, so values that can't be used yet are accepted. */
  readonly isStored?: boolean;
  /** Collects the reasons of all refusals; the result can't be used when there are any. */
  readonly problems?: string[];
}

/** Checks outside input against a spec; throws a `config` error that names the property and the reason. */
export function parse<S extends Spec>(spec: S, input: unknown, options: ParseOptions = {}): Parsed<S> {
  return parseObject(spec, input, '', options) as Parsed<S>;
}

/** Returns the spec with other defaults, for the properties that `values` has, at any depth. */
export function withDefaults<S extends Spec>(spec: S, values: Readonly<Record<string, unknown>>): S {
  const changed = Object.entries(spec).map(([name, { declared }]) => {
    const value = values[name];
    const { fields } = declared;
    const change = fields !== undefined && isObject(value) ? { fields: withDefaults(fields, value) } : {};
    return [name, new Field({ ...declared, ...(value === undefined ? {} : { default: value }), ...change })];
  });
  return Object.fromEntries(changed) as S;
}

/** Names the properties marked as `unused` that are set to other values than their defaults: `basic.pprof`. */
export function unusedIn(spec: Spec, values: Readonly<Record<string, unknown>>): string[] {
  return unusedBelow(spec, values, '', false);
}

function unusedBelow(spec: Spec, values: Readonly<Record<string, unknown>>, path: string, isUnused: boolean): string[] {
  return Object.entries(spec).flatMap(([name, { declared }]) => {
    const value = values[name];
    const isOne = isUnused || declared.isUnused === true;
    if (declared.fields !== undefined && isObject(value)) {
      return unusedBelow(declared.fields, value, `${path}${name}.`, isOne);
    }
    return isOne && !isDeepStrictEqual(value, declared.default) ? [path + name] : [];
  });
}

/** Names the properties that the spec does not know: `sever is not known, did you mean server?`. */
export function unknownIn(spec: Spec, input: Readonly<Record<string, unknown>>): string[] {
  const names = namesOf(spec);
  const listed = Object.keys(spec).filter((name) => spec[name]?.declared.isUnlisted !== true);
  return Object.keys(input).flatMap((name) =>
    names.has(name) || names.has(name.toLowerCase()) ? [] : [`${name} ${notKnown(name, listed)}`],
  );
}

/** Error text for an unknown name, with the known name that was probably meant. */
export function notKnown(name: string, known: readonly string[], prefix = ''): string {
  const meant = nearest(name, known);
  return `is not known${meant === undefined ? '' : `, did you mean ${prefix}${meant}?`}`;
}

/** The field of a property, by any accepted spelling of its name. */
export function findField(spec: Spec, name: string): Field<unknown> | undefined {
  return spec[declaredName(spec, name) ?? ''];
}

/** The name of a property as the spec declares it, for any accepted spelling. */
export function declaredName(spec: Spec, name: string): string | undefined {
  const names = namesOf(spec);
  return names.get(name) ?? names.get(name.toLowerCase());
}

/** Description of a property for forms and reference pages. */
export interface FieldInfo {
  readonly name: string;
  readonly type: FieldKind;
  readonly doc: string;
  readonly default: unknown;
  readonly isRequired: boolean;
  readonly isSecret: boolean;
  readonly isUnlisted: boolean;
  readonly min?: number;
  readonly max?: number;
  /** Allowed values that can be used. */
  readonly values?: readonly string[];
  readonly label?: string;
  readonly item?: FieldKind;
  readonly fields?: readonly FieldInfo[];
}

/** Lists the properties of a spec in the order of their declaration; durations show their default as text. */
export function describe(spec: Spec): FieldInfo[] {
  return Object.entries(spec).map(([name, { declared }]) => ({
    name,
    type: declared.kind,
    doc: declared.doc ?? '',
    default:
      declared.kind === 'duration' && typeof declared.default === 'number'
        ? formatDuration(declared.default)
        : declared.default,
    isRequired: declared.isRequired ?? false,
    isSecret: declared.isSecret ?? false,
    isUnlisted: declared.isUnlisted ?? false,
    min: declared.min,
    max: declared.max,
    values: declared.values?.filter((value) => refusalOf(declared, value, {}) === undefined),
    label: declared.label,
    item: declared.item?.declared.kind,
    fields: declared.fields && describe(declared.fields),
  }));
}

/** Values of an object by declared name: the exact spelling wins over another letter case or an alias. */
export function givenOf(spec: Spec, input: Readonly<Record<string, unknown>>): Map<string, unknown> {
  const names = namesOf(spec);
  const given = new Map<string, unknown>();
  for (const [name, value] of Object.entries(input)) {
    const known = names.get(name) ?? names.get(name.toLowerCase()) ?? name;
    if (!given.has(known) || name === known) given.set(known, value);
  }
  return given;
}

/** The values of an object without any. */
const nothing = new Map<string, unknown>();

function parseObject(spec: Spec, input: unknown, path: string, options: ParseOptions): Record<string, unknown> {
  if (input !== undefined && input !== null && !isObject(input)) {
    throw refusal(options, path === '' ? undefined : path, `must be an object, not ${shown(input)}`);
  }
  let given = nothing;
  const names = namesOf(spec);
  const values = input ?? {};
  for (const name in values) {
    if (!Object.hasOwn(values, name)) continue;
    const value = (values as Record<string, unknown>)[name];
    if (given === nothing) given = new Map();
    const known = names.get(name) ?? names.get(name.toLowerCase());
    if (known !== undefined) {
      // The exact spelling wins over another letter case or an alias of the same property.
      if (!given.has(known) || name === known) given.set(known, value);
    } else if (options.unknown === 'reject') {
      attempt(options, () => {
        throw refusal(options, path + name, notKnown(name, Object.keys(spec), path));
      });
    }
  }
  const out: Record<string, unknown> = {};
  // Specs have many properties of which few are given: those left out are to cost next to nothing.
  for (const name in spec) {
    const { declared } = spec[name]!;
    const value = given.get(name);
    const isLeftOut = (value === undefined || value === null) && !declared.isRequired;
    if (isLeftOut && declared.fields === undefined && typeof declared.default !== 'object')
      out[name] = declared.default;
    else out[name] = attempt(options, () => parseField(declared, value, path + name, options));
  }
  return out;
}

/** Runs a step; with `problems`, its refusal is added to them instead of thrown. */
function attempt<T>({ problems }: ParseOptions, step: () => T): T | undefined {
  if (problems === undefined) return step();
  try {
    return step();
  } catch (error) {
    if (!(error instanceof HaumeaError)) throw error;
    problems.push(error.message);
    return undefined;
  }
}

function parseField(declared: Declaration, input: unknown, path: string, options: ParseOptions): unknown {
  if (input === undefined || input === null) {
    if (declared.isRequired) throw refusal(options, path, 'is required');
    if (declared.fields !== undefined) return parseObject(declared.fields, declared.default, `${path}.`, options);
    return typeof declared.default === 'object' ? structuredClone(declared.default) : declared.default;
  }
  const isText = declared.isDynamic === true && isRowTemplate(input);
  const isMade = isText && declared.kind === 'object' && declared.checkLiteral !== undefined;
  if (isMade && typeof input === 'string' && jsonOf(input) === undefined) return {};
  const value = coerce(isText ? { ...declared, values: undefined, fields: undefined } : declared, input, path, options);
  if (isText) {
    const reason = declared.checkLiteral?.(literalOf(String(value)));
    if (reason !== undefined) throw refusal(options, path, reason);
    return value;
  }
  const size = typeof value === 'string' || Array.isArray(value) ? value.length : value;
  if (typeof size === 'number') {
    const what = size === value ? '' : Array.isArray(value) ? ' items' : ' characters';
    const unit = declared.kind === 'duration' ? 'ms' : what;
    const given = declared.isSecret ? '' : `, not ${shown(input)}`;
    if (declared.min !== undefined && size < declared.min) {
      throw refusal(options, path, `must be at least ${declared.min}${unit}${given}`);
    }
    if (declared.max !== undefined && size > declared.max) {
      throw refusal(options, path, `must be at most ${declared.max}${unit}${given}`);
    }
  }
  const reason = refusalOf(declared, value, options);
  if (reason !== undefined) throw refusal(options, path, reason);
  return value;
}

/** Why the checks of a property refuse the value; undefined when they take it. */
function refusalOf(declared: Declaration, value: unknown, { isStored }: ParseOptions): string | undefined {
  const { check, notYet } = declared;
  const reason = check?.(value);
  return reason !== undefined || isStored ? reason : notYet?.(value);
}

/** Turns the forms in which clients, files and the environment write a value into its type. */
function coerce(declared: Declaration, input: unknown, path: string, options: ParseOptions): unknown {
  const { kind, values, item, fields } = declared;
  const wrong = (expected: string) =>
    refusal(options, path, `must be ${expected}, not ${declared.isSecret ? 'the given value' : shown(input)}`);
  if (options.isExact && !isOfType(kind, input)) throw wrong(typeTexts[kind]);
  const value = readers[kind](input);
  if (value === undefined) throw wrong(typeTexts[kind]);
  if (Array.isArray(value) && item !== undefined) {
    return value.map((one, i) => parseField(item.declared, one, `${path}[${i}]`, options));
  }
  if (isObject(value) && fields !== undefined) return parseObject(fields, value, `${path}.`, options);
  if (typeof value !== 'string' || values === undefined) return value;
  const allowed = values.find((known) => known.toLowerCase() === value.toLowerCase());
  if (allowed === undefined) throw wrong(`one of ${values.filter((known) => known !== '').join(', ')}`);
  return allowed;
}

/** Readers by type: each returns the value that an input means, or undefined when it is none of the type. */
const readers: Readonly<Record<FieldKind, (input: unknown) => unknown>> = {
  int: (input) => {
    const value = numberOf(input);
    return Number.isSafeInteger(value) ? value : undefined;
  },
  float: numberOf,
  bool: (input) => {
    if (typeof input === 'boolean') return input;
    if (input === 1 || (typeof input === 'string' && /^(true|1|yes|on)$/i.test(input))) return true;
    return input === 0 || (typeof input === 'string' && /^(false|0|no|off|)$/i.test(input)) ? false : undefined;
  },
  string: (input) => (['string', 'number', 'boolean'].includes(typeof input) ? String(input) : undefined),
  duration: parseDuration,
  list: (input) => {
    const items = typeof input === 'string' ? listOf(input) : input;
    return Array.isArray(items) ? items : undefined;
  },
  object: (input) => {
    const value = typeof input === 'string' ? (jsonOf(input) ?? input) : input;
    return isObject(value) ? value : undefined;
  },
  any: (input) => input,
};

const typeTexts: Readonly<Record<FieldKind, string>> = {
  int: 'an integer',
  float: 'a number',
  string: 'a text',
  bool: 'true or false',
  duration: 'a duration such as 10s or 500 (milliseconds)',
  object: 'an object',
  list: 'a list',
  any: 'a value',
};

/** Tells whether a value of JSON is of the type in which clients write the kind. */
function isOfType(kind: FieldKind, input: unknown): boolean {
  switch (kind) {
    case 'int':
    case 'float':
      return typeof input === 'number';
    case 'string':
      return typeof input === 'string';
    case 'bool':
      return typeof input === 'boolean';
    case 'duration':
      return typeof input === 'number' || typeof input === 'string';
    case 'object':
      return isObject(input);
    case 'list':
      return Array.isArray(input);
    default:
      return true;
  }
}

function numberOf(input: unknown): number | undefined {
  if (typeof input === 'number') return Number.isFinite(input) ? input : undefined;
  if (typeof input !== 'string' || input.trim() === '') return undefined;
  const value = Number(input);
  return Number.isFinite(value) ? value : undefined;
}

/** Reads `["a","b"]`, `[a,b]` and `a,b`, as stream options and the environment write lists. */
function listOf(text: string): unknown {
  const trimmed = text.trim();
  const parsed = jsonOf(trimmed);
  if (Array.isArray(parsed)) return parsed;
  const inner = trimmed.startsWith('[') && trimmed.endsWith(']') ? trimmed.slice(1, -1) : trimmed;
  return inner === '' ? [] : inner.split(',').map((item) => item.trim());
}

const nameIndexes = new WeakMap<Spec, Map<string, string>>();

/** Accepted spellings → declared name: the name itself, its aliases, and both in lower case. */
function namesOf(spec: Spec): Map<string, string> {
  let index = nameIndexes.get(spec);
  if (index === undefined) {
    index = new Map();
    for (const [name, { declared }] of Object.entries(spec)) {
      for (const spelling of [name, ...(declared.aliases ?? [])]) {
        index.set(spelling, name);
        if (!index.has(spelling.toLowerCase())) index.set(spelling.toLowerCase(), name);
      }
    }
    nameIndexes.set(spec, index);
  }
  return index;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

function refusal({ where }: ParseOptions, path: string | undefined, reason: string): HaumeaError {
  return fieldErrors.refused(where, path === undefined ? reason : `property ${path} ${reason}`);
}
