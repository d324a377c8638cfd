/**
 * Manifest of a plugin: a JSON text in a custom section of the module, or in a file beside it in an archive
 * (docs/plugin-abi.md). A manifest with a wrong field is refused with the name of that field.
 */
import { HaumeaError } from '../base/errors.js';

/** Version of the interface between engine and plugin that this engine speaks. */
export const abiVersion = 1;

/** Custom section with the manifest. */
export const manifestSection = 'haumea';

/** Types of arguments and results, named as the types of columns; an `any` is passed as JSON text. */
const valueTypes = ['bigint', 'float', 'boolean', 'string', 'bytea', 'datetime', 'array', 'object', 'any'] as const;
export type PluginType = (typeof valueTypes)[number];

/** How values go in and out of the guest. */
const conventions = ['pointers', 'assemblyscript', 'extism'] as const;
export type Convention = (typeof conventions)[number];

export interface PluginParameter {
  readonly name: string;
  readonly type: PluginType;
  /** Whether the argument, and all behind it, may be left out. */
  readonly optional?: boolean;
  /** Whether any number of further arguments of this type may follow; only for the last parameter. */
  readonly variadic?: boolean;
}

/** Names of the exports that make an aggregate. */
export interface AggregateExports {
  readonly init: string;
  readonly accumulate: string;
  readonly finish: string;
  /** Exports that make bytes of a state and a state of bytes, so that the engine keeps states instead of rows. */
  readonly save?: string;
  readonly load?: string;
  /** Joins two states. */
  readonly merge?: string;
}

/** Names of the exports that make an analytic function. */
export interface AnalyticExports {
  readonly init: string;
  readonly step: string;
  readonly save: string;
  readonly load: string;
}

/** Names of the exports of a function whose states the engine keeps. */
export interface StateExports {
  readonly init: string;
  readonly load: string;
  readonly save: string;
  /** Takes a row in, and gives a result where nothing finishes. */
  readonly step: string;
  readonly merge: string | undefined;
  readonly finish: string | undefined;
}

/** Exports for states that the engine keeps; undefined for functions without a state, or with rows in its place. */
export function stateExportsOf({ aggregate, analytic }: PluginFunction): StateExports | undefined {
  if (analytic !== undefined) return { ...analytic, merge: undefined, finish: undefined };
  if (aggregate?.save === undefined || aggregate.load === undefined) return undefined;
  const { init, load, save, accumulate: step, merge, finish } = aggregate;
  return { init, load, save, step, merge, finish };
}

export interface PluginFunction {
  /** Name by which rules call the function. */
  readonly name: string;
  /** Name of the export: of an aggregate its `finish`, of an analytic function its `step`. */
  readonly export: string;
  readonly args: readonly PluginParameter[];
  readonly result: PluginType;
  /** `skip`: with a null among the arguments the result is null and nothing is called. `pass`: the guest is called. */
  readonly nulls: 'skip' | 'pass';
  /** Whether the function is called once for a batch, with columns. */
  readonly batch: boolean;
  readonly aggregate?: AggregateExports;
  readonly analytic?: AnalyticExports;
  readonly doc?: string;
  readonly example?: string;
}

/** Reads and writes messages of a form of their own: streams and actions of the format `custom`. */
export interface PluginCodec {
  readonly name: string;
  /** Names of the exports; a missing direction is left out. */
  readonly decode?: string;
  readonly encode?: string;
  /** Whether the exports are called once for a batch, with columns. */
  readonly batch?: boolean;
  readonly doc?: string;
}

export interface PluginManifest {
  readonly abi: number;
  /** Version of the plugin itself. */
  readonly version?: string;
  readonly doc?: string;
  readonly convention?: Convention;
  readonly functions: readonly PluginFunction[];
  readonly codecs?: readonly PluginCodec[];
}

/** Manifest of a module made for other engines: names of its exports over numbers. */
export interface NamedFunctions {
  readonly names: readonly string[];
}

export function isNamed(manifest: PluginManifest | NamedFunctions): manifest is NamedFunctions {
  return 'names' in manifest;
}

/**
 * Reads a manifest. `functions` that are texts name exports over numbers, as modules for other engines have it; other
 * members of such a text are not looked at.
 */
export function parseManifest(text: string): PluginManifest | NamedFunctions {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw refuse(`it is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const all = objectOf(json, 'it');
  const { functions } = all;
  if (
    !('abi' in all) &&
    Array.isArray(functions) &&
    functions.length > 0 &&
    functions.every((one) => typeof one === 'string')
  ) {
    return { names: functions };
  }
  const members = new Members(all, '');
  const abi = members.required('abi', integer);
  if (abi !== abiVersion) throw refuse(`abi is ${abi}, this server speaks version ${abiVersion}`);
  const manifest: PluginManifest = {
    abi,
    ...members.optional('version', text_),
    ...members.optional('doc', text_),
    ...members.optional('convention', oneOf(conventions)),
    ...members.optional('codecs', listOf(codecOf)),
    // A plugin may have codecs alone.
    functions: 'codecs' in all && !('functions' in all) ? [] : members.required('functions', listOf(functionOf)),
  };
  members.done();
  const { functions: own, codecs = [] } = manifest;
  if (own.length === 0 && codecs.length === 0) throw refuse(`${'functions' in all ? 'functions' : 'codecs'} is empty`);
  checkUnique('functions', own);
  checkUnique('codecs', codecs);
  return manifest;
}

type Read<T> = (value: unknown, field: string) => T;

function refuse(reason: string): HaumeaError {
  return new HaumeaError('general', `invalid manifest: ${reason}`);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'missing';
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function objectOf(value: unknown, field: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw refuse(`${field} must be an object, not ${shown(value)}`);
}

const text_: Read<string> = (value, field) => {
  if (typeof value === 'string') return value;
  throw refuse(`${field} must be a text, not ${shown(value)}`);
};

const name: Read<string> = (value, field) => {
  const text = text_(value, field);
  if (text === '') throw refuse(`${field} must not be empty`);
  return text;
};

/** Names of functions in statements. */
const sqlName: Read<string> = (value, field) => {
  const text = name(value, field);
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(text)) return text;
  throw refuse(`${field} must be a name of letters, digits and underscores, not ${shown(text)}`);
};

const integer: Read<number> = (value, field) => {
  if (typeof value === 'number' && Number.isInteger(value)) return value;
  throw refuse(`${field} must be a whole number, not ${shown(value)}`);
};

const flag: Read<boolean> = (value, field) => {
  if (typeof value === 'boolean') return value;
  throw refuse(`${field} must be true or false, not ${shown(value)}`);
};

function oneOf<T extends string>(values: readonly T[]): Read<T> {
  return (value, field) => {
    if (values.includes(value as T)) return value as T;
    throw refuse(`${field} must be one of ${values.join(', ')}, not ${shown(value)}`);
  };
}

function listOf<T>(read: Read<T>): Read<T[]> {
  return (value, field) => {
    if (!Array.isArray(value)) throw refuse(`${field} must be a list, not ${shown(value)}`);
    return value.map((item, i) => read(item, `${field}[${i}]`));
  };
}

/** Members of an object that are read one by one; what is left is refused. */
class Members {
  readonly #left: Set<string>;

  constructor(
    private readonly object: Record<string, unknown>,
    private readonly field: string,
  ) {
    this.#left = new Set(Object.keys(object));
  }

  required<T>(key: string, read: Read<T>): T {
    if (!(key in this.object)) throw refuse(`${this.#path(key)} is missing`);
    this.#left.delete(key);
    return read(this.object[key], this.#path(key));
  }

  optional<K extends string, T>(key: K, read: Read<T>): { [key in K]?: T } {
    if (!(key in this.object)) return {};
    return { [key]: this.required(key, read) } as { [key in K]?: T };
  }

  done(): void {
    const [odd] = this.#left;
    if (odd !== undefined) throw refuse(`${this.#path(odd)} is not known`);
  }

  #path(key: string): string {
    return this.field === '' ? key : `${this.field}.${key}`;
  }
}

function functionOf(value: unknown, field: string): PluginFunction {
  const members = new Members(objectOf(value, field), field);
  const own = members.required('name', sqlName);
  const aggregate = members.optional('aggregate', aggregateOf(own)).aggregate;
  const analytic = members.optional('analytic', analyticOf(own)).analytic;
  const made: PluginFunction = {
    name: own,
    export: members.optional('export', name).export ?? aggregate?.finish ?? analytic?.step ?? own,
    args: members.optional('args', listOf(parameterOf)).args ?? [],
    result: members.required('result', oneOf(valueTypes)),
    nulls: members.optional('nulls', oneOf(['skip', 'pass'] as const)).nulls ?? 'skip',
    batch: members.optional('batch', flag).batch ?? false,
    ...(aggregate === undefined ? {} : { aggregate }),
    ...(analytic === undefined ? {} : { analytic }),
    ...members.optional('doc', text_),
    ...members.optional('example', text_),
  };
  members.done();
  made.args.forEach(({ optional, variadic }, i) => {
    const isLast = i === made.args.length - 1;
    if (variadic && !isLast) throw refuse(`${field}.args[${i}].variadic: only the last argument can be so`);
    if (optional && !isLast && !made.args[i + 1]?.optional) {
      throw refuse(`${field}.args[${i}].optional: the argument behind it must be optional as well`);
    }
  });
  if (aggregate !== undefined && analytic !== undefined) {
    throw refuse(`${field}.analytic: a function is an aggregate or looks back, not both`);
  }
  if (analytic !== undefined && made.batch) throw refuse(`${field}.batch: a function that looks back takes row by row`);
  if (aggregate !== undefined && made.batch) throw refuse(`${field}.batch: an aggregate takes its rows one by one`);
  if (aggregate !== undefined && made.args.length === 0) {
    throw refuse(`${field}.args: an aggregate takes at least one argument`);
  }
  return made;
}

function codecOf(value: unknown, field: string): PluginCodec {
  const members = new Members(objectOf(value, field), field);
  const made: PluginCodec = {
    name: members.required('name', sqlName),
    ...members.optional('decode', name),
    ...members.optional('encode', name),
    ...members.optional('batch', flag),
    ...members.optional('doc', text_),
  };
  members.done();
  if (made.decode === undefined && made.encode === undefined) throw refuse(`${field} has neither decode nor encode`);
  return made;
}

function parameterOf(value: unknown, field: string): PluginParameter {
  if (typeof value === 'string') return { name: nameless(field), type: oneOf(valueTypes)(value, field) };
  const members = new Members(objectOf(value, field), field);
  const made = {
    name: members.optional('name', name).name ?? nameless(field),
    type: members.required('type', oneOf(valueTypes)),
    ...members.optional('optional', flag),
    ...members.optional('variadic', flag),
  };
  members.done();
  return made;
}

/** `functions[0].args[1]`: the second argument is `arg2`. */
function nameless(field: string): string {
  return `arg${Number(/\[(\d+)\]$/.exec(field)?.[1] ?? 0) + 1}`;
}

/** `true` stands for exports named after the function. */
function aggregateOf(own: string): Read<AggregateExports | undefined> {
  return (value, field) => {
    if (value === false) return undefined;
    const usual = { init: `${own}_init`, accumulate: `${own}_accumulate`, finish: `${own}_finish` };
    if (value === true) return usual;
    const members = new Members(objectOf(value, field), field);
    const made = {
      init: members.optional('init', name).init ?? usual.init,
      accumulate: members.optional('accumulate', name).accumulate ?? usual.accumulate,
      finish: members.optional('finish', name).finish ?? usual.finish,
      ...members.optional('save', name),
      ...members.optional('load', name),
      ...members.optional('merge', name),
    };
    members.done();
    return made;
  };
}

function analyticOf(own: string): Read<AnalyticExports | undefined> {
  return (value, field) => {
    if (value === false) return undefined;
    const usual = { init: `${own}_init`, step: `${own}_step`, save: `${own}_save`, load: `${own}_load` };
    if (value === true) return usual;
    const members = new Members(objectOf(value, field), field);
    const made = {
      init: members.optional('init', name).init ?? usual.init,
      step: members.optional('step', name).step ?? usual.step,
      save: members.optional('save', name).save ?? usual.save,
      load: members.optional('load', name).load ?? usual.load,
    };
    members.done();
    return made;
  };
}

/** Names are unique in any letter case, as those of all functions. */
function checkUnique(field: string, items: readonly { readonly name: string }[]): void {
  const seen = new Set<string>();
  items.forEach((item, i) => {
    const key = item.name.toLowerCase();
    if (seen.has(key)) throw refuse(`${field}[${i}].name: ${item.name} is there twice`);
    seen.add(key);
  });
}
