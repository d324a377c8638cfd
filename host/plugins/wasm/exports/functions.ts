/**
 * Which functions a module brings: those of its manifest, checked against its exports, or those that its exports show
 * by themselves.
 */

import {
  type AggregateExports,
  abiVersion,
  type Convention,
  isNamed,
  manifestSection,
  type PluginFunction,
  type PluginManifest,
  type PluginParameter,
  type PluginType,
  parseManifest,
} from '../../manifest.js';
import { reasonAgainst } from '../adapters/row-caller-form.js';
import type { ModuleShape } from '../binary/inspect.js';
import { type Signature, signatureText, type ValueType } from '../binary/types.js';
import { codecFunctions } from './codecs.js';

/** Imports of guests made with the development kits of Extism. */
export const extismModule = 'extism:host/env';

export interface Plugin {
  readonly manifest: PluginManifest & { readonly convention: Convention };
  /** Why exported functions can't be called, by name. */
  readonly others: readonly (readonly [name: string, reason: string])[];
  /** Warnings about functions that rules can call, one sentence each. */
  readonly warnings: readonly string[];
}

/**
 * Finds out what a module brings. `beside` is the manifest of its archive, which counts more than that of the module;
 * `addresses` says of functions which of their parameters are addresses. What does not fit is an error that names it.
 */
export function pluginOf(
  shape: ModuleShape,
  beside?: string,
  addresses: ReadonlyMap<string, readonly number[]> = new Map(),
): Plugin {
  const text = beside ?? sectionText(shape);
  const said = text === undefined ? undefined : parseManifest(text);
  const exports = new Map(
    shape.exports.flatMap((one) => (one.kind === 'function' ? [[one.name, one.signature] as const] : [])),
  );
  if (said !== undefined && !isNamed(said)) {
    const convention = said.convention ?? conventionOf(shape);
    const all = said.functions.map((fn, i) => {
      // Its state is in the variables of the kit, so it has one export.
      const isOfKit = convention === 'extism' && fn.analytic !== undefined && !exports.has(fn.export);
      return isOfKit ? { ...fn, export: fn.name } : withStates(fn, exports, `functions[${i}].aggregate`);
    });
    const manifest = { ...said, functions: all, convention };
    checkExports(manifest, exports, shape);
    return { manifest, others: [], warnings: [] };
  }
  const convention = conventionOf(shape);
  const functions: PluginFunction[] = [];
  const others: [string, string][] = [];
  const warnings: string[] = [];
  for (const [name, signature] of exports) {
    // Names with an underscore are many, and are not meant as functions of SQL.
    if (name.startsWith('_') || (said !== undefined && !said.names.includes(name))) continue;
    const found = convention === 'extism' ? ofExtism(name, signature) : ofNumbers(name, signature);
    const params = addresses.get(name);
    if (isReserved(name)) others.push([name, 'it is reserved for the run time of the module']);
    else if (typeof found === 'string') others.push([name, found]);
    else if (params === undefined || convention === 'extism') functions.push(found);
    else if (convention === 'assemblyscript') others.push([name, withoutManifest(found, params, false)]);
    else {
      functions.push(found);
      warnings.push(`function ${name}: ${withoutManifest(found, params, true)}`);
    }
  }
  for (const name of said?.names ?? []) {
    if (!exports.has(name)) throw new Error(`the manifest names function ${name}, which the module does not export`);
  }
  return { manifest: { abi: abiVersion, convention, functions }, others, warnings };
}

/** Tells that a module is a program, which sources and sinks can run. */
export function isProgram({ exports }: ModuleShape): boolean {
  return exports.some(
    (one) => one.name === '_start' && one.kind === 'function' && differs(one.signature, [], []) === undefined,
  );
}

/** Names that compilers, WASI and this interface give to exports of their own. */
const reservedNames: ReadonlySet<string> = new Set([
  ...['main', 'cabi_realloc', 'malloc', 'calloc', 'realloc', 'free', 'memalign', 'aligned_alloc', 'posix_memalign'],
  ...['alloc', 'allocate', 'dealloc', 'deallocate', 'stackSave', 'stackRestore', 'stackAlloc', 'setThrew', 'fflush'],
]);
const reservedBegins = ['_', 'haumea_', 'asyncify_', 'dynCall_', 'emscripten_'];

/** Tells that an export is never a function of SQL, whatever its signature. */
function isReserved(name: string): boolean {
  return reservedNames.has(name) || reservedBegins.some((begin) => name.startsWith(begin));
}

/** Why a function over numbers is none, with the line that a manifest would have. */
function withoutManifest({ name, args, result }: PluginFunction, params: readonly number[], isPair: boolean): string {
  const types: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const isAddress = params.includes(i);
    types.push(isAddress ? 'string' : (args[i] as PluginParameter).type);
    // The length of a text goes with its address.
    if (isAddress && isPair && args[i + 1]?.type === 'bigint') i++;
  }
  const line = JSON.stringify({ name, args: types, result });
  const which = `argument ${(params[0] as number) + 1}`;
  return `${which} is an address, not a number: a manifest is missing, with a line such as ${line}`;
}

function sectionText({ customSections }: ModuleShape): string | undefined {
  const found = customSections.filter(({ name }) => name === manifestSection);
  if (found.length > 1) throw new Error(`it has ${found.length} custom sections ${manifestSection}, one is allowed`);
  const [section] = found;
  if (section === undefined) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(section.bytes);
  } catch {
    throw new Error(`the custom section ${manifestSection} is no UTF-8`);
  }
}

/** By what the run times of guests import and export. */
function conventionOf({ imports, exports }: ModuleShape): Convention {
  if (imports.some(({ module }) => module === extismModule)) return 'extism';
  const names = new Set(exports.map(({ name }) => name));
  return names.has('__new') && names.has('__pin') ? 'assemblyscript' : 'pointers';
}

const typeOfNumber: Partial<Record<ValueType, PluginType>> = {
  i32: 'bigint',
  i64: 'bigint',
  f32: 'float',
  f64: 'float',
};

function ofNumbers(name: string, signature: Signature): PluginFunction | string {
  const reason = reasonAgainst(signature);
  if (reason !== undefined) return reason;
  const typeOf = (type: ValueType | undefined) => typeOfNumber[type as ValueType] as PluginType;
  return {
    name,
    export: name,
    args: signature.params.map((type, i) => ({ name: `arg${i + 1}`, type: typeOf(type) })),
    result: typeOf(signature.results[0]),
    nulls: 'skip',
    batch: false,
  };
}

/** A guest of Extism gets a text and gives one; which arguments it takes, nobody knows. */
function ofExtism(name: string, signature: Signature): PluginFunction | string {
  const wrong = differs(signature, [], ['i32']);
  if (wrong !== undefined) return wrong;
  const args = [{ name: 'input', type: 'any', optional: true, variadic: true }] as const;
  return { name, export: name, args, result: 'string', nulls: 'skip', batch: false };
}

/** How a value of a type goes over the border, as types of parameters: the first is what is usual. */
const lowered: Readonly<Record<'pointers' | 'assemblyscript', (type: PluginType) => readonly ValueType[][]>> = {
  pointers: (type) => scalars[type] ?? [['i32', 'i32']],
  assemblyscript: (type) => scalars[type] ?? [['i32']],
};

const scalars: Partial<Record<PluginType, readonly ValueType[][]>> = {
  bigint: [['i64'], ['i32']],
  float: [['f64'], ['f32']],
  boolean: [['i32']],
  datetime: [['i64']],
};

/**
 * The function with the exports that keep its states, which are looked for by their usual names where none are given.
 */
function withStates(fn: PluginFunction, exports: ReadonlyMap<string, Signature>, field: string): PluginFunction {
  const { aggregate } = fn;
  if (aggregate === undefined) return fn;
  const found = { ...aggregate };
  for (const part of ['save', 'load', 'merge'] as const) {
    const usual = `${fn.name}_${part}`;
    if (found[part] === undefined && exports.has(usual)) found[part] = usual;
  }
  const { save, load, merge } = found;
  if (save !== undefined && load === undefined) throw new Error(`${field}: it has ${save}, but no ${fn.name}_load`);
  if (load !== undefined && save === undefined) throw new Error(`${field}: it has ${load}, but no ${fn.name}_save`);
  if (merge !== undefined && save === undefined) {
    throw new Error(`${field}: it has ${merge}, which needs ${fn.name}_save and ${fn.name}_load`);
  }
  return { ...fn, aggregate: found };
}

function checkExports(
  manifest: PluginManifest & { readonly convention: Convention },
  exports: ReadonlyMap<string, Signature>,
  shape: ModuleShape,
): void {
  const { convention } = manifest;
  const functions = [
    ...manifest.functions.map((fn, i) => [fn, `functions[${i}]`] as const),
    ...codecFunctions(manifest),
  ];
  const signatureOf = (name: string, field: string) => {
    const signature = exports.get(name);
    if (signature === undefined) throw new Error(`${field}: the module exports no function ${name}`);
    return signature;
  };
  const check = (name: string, field: string, params: readonly ValueType[][][], results: readonly ValueType[][]) => {
    const signature = signatureOf(name, field);
    const fits = params.length === 0 ? signature.params.length === 0 : fitsAll(signature.params, params);
    if (fits && results.some((one) => same(one, signature.results))) return;
    const wanted = signatureText({ params: params.flatMap(([usual]) => usual ?? []), results: results[0] ?? [] });
    throw new Error(`${field}: ${name} is ${signatureText(signature)}, by the manifest it must be ${wanted}`);
  };
  const checkStates = ({ save, load, merge }: Partial<AggregateExports>, field: string) => {
    const isPointers = convention === 'pointers';
    if (save !== undefined) check(save, `${field}.save`, [[['i32']]], [[isPointers ? 'i64' : 'i32']]);
    if (load !== undefined) check(load, `${field}.load`, [[isPointers ? ['i32', 'i32'] : ['i32']]], [['i32']]);
    if (merge !== undefined) check(merge, `${field}.merge`, [[['i32']], [['i32']]], [[]]);
  };
  let needsMemory = false;
  for (const [fn, field] of functions) {
    if (/^(_start|_initialize|haumea_.*)$/.test(fn.export))
      throw new Error(`${field}: the export ${fn.export} is reserved`);
    if (convention === 'extism') {
      if (fn.batch) throw new Error(`${field}.batch: guests of Extism take one row at a time`);
      if (fn.aggregate !== undefined) throw new Error(`${field}.aggregate: guests of Extism have no aggregates`);
      check(fn.export, field, [], [['i32']]);
      continue;
    }
    const of = lowered[convention];
    const params = fn.args.map(({ type }) => of(type) as ValueType[][]);
    const result = scalars[fn.result] ?? [convention === 'pointers' ? ['i64'] : ['i32']];
    if (fn.args.some(({ optional, variadic }) => optional || variadic)) {
      throw new Error(`${field}.args: only guests of Extism have arguments that are optional or variadic`);
    }
    if (fn.args.length > maxArguments) throw new Error(`${field}.args: at most ${maxArguments} are allowed`);
    needsMemory ||= !isNumeric(fn);
    if (fn.batch) {
      if (convention !== 'pointers') throw new Error(`${field}.batch: it needs the convention pointers`);
      check(fn.export, field, [[['i32']], [['i32']], [['i32']]], [['i32']]);
    } else if (fn.aggregate !== undefined) {
      check(fn.aggregate.init, `${field}.aggregate.init`, [], [['i32']]);
      check(fn.aggregate.accumulate, `${field}.aggregate.accumulate`, [[['i32']], ...params], [[]]);
      check(fn.aggregate.finish, `${field}.aggregate.finish`, [[['i32']]], result as ValueType[][]);
      checkStates(fn.aggregate, `${field}.aggregate`);
    } else if (fn.analytic !== undefined) {
      check(fn.analytic.init, `${field}.analytic.init`, [], [['i32']]);
      check(fn.analytic.step, `${field}.analytic.step`, [[['i32']], ...params], result as ValueType[][]);
      checkStates(fn.analytic, `${field}.analytic`);
    } else check(fn.export, field, params, result as ValueType[][]);
  }
  if (convention === 'extism') return;
  if (!needsMemory) return;
  if (!shape.exports.some(({ name, kind }) => name === 'memory' && kind === 'memory')) {
    throw new Error('functions over texts need the export memory');
  }
  if (convention === 'pointers') check(allocName, allocName, [[['i32']]], [['i32']]);
  else {
    check('__new', '__new', [[['i32']], [['i32']]], [['i32']]);
    check('__pin', '__pin', [[['i32']]], [['i32']]);
    check('__unpin', '__unpin', [[['i32']]], [[]]);
  }
}

/** Exports by which the engine gets memory of the guest, and gives back what results lay in. */
export const allocName = 'haumea_alloc';
export const freeName = 'haumea_free';

const maxArguments = 32;

/** Tells that the function is called over numbers alone, from row to row without staging (adapters/row-caller.ts). */
export function isNumeric({ args, result, nulls, batch, aggregate, analytic }: PluginFunction): boolean {
  const isNumber = (type: PluginType) => type === 'bigint' || type === 'float';
  return (
    !batch &&
    aggregate === undefined &&
    analytic === undefined &&
    nulls === 'skip' &&
    isNumber(result) &&
    args.every(({ type }) => isNumber(type))
  );
}

function same(one: readonly ValueType[], other: readonly ValueType[]): boolean {
  return one.length === other.length && one.every((type, i) => type === other[i]);
}

/** Parameters that each may be lowered in several ways. */
function fitsAll(params: readonly ValueType[], wanted: readonly ValueType[][][]): boolean {
  let at = 0;
  for (const ways of wanted) {
    const way = ways.find((one) => same(one, params.slice(at, at + one.length)));
    if (way === undefined) return false;
    at += way.length;
  }
  return at === params.length;
}

function differs(
  signature: Signature,
  params: readonly ValueType[],
  results: readonly ValueType[],
): string | undefined {
  if (same(signature.params, params) && same(signature.results, results)) return undefined;
  return `it is ${signatureText(signature)}, not ${signatureText({ params, results })}`;
}
