/** All functions by name: which there are, what they are given and which number a host function has in the kernel. */
import type { HostColumns } from '../../kernels/api.js';
import type { OpName } from '../../kernels/gen/ops.js';
import { nearest } from '../base/text/nearest.js';
import type { FindBrought, UserFunction } from '../plugins/define.js';
import { userFunctionName } from '../plugins/numbers.js';
import { arity, type FunctionDefinition, type LiteralArg } from './define.js';
import { callErrors } from './errors.js';
import { definitions } from './gen/index.js';
import { beginWork } from './regexp/work.js';
import { beginWalks } from './walk-work.js';

/** A function that users brought under a name; without `run` it cannot run yet. */
export interface Brought {
  /** `service shop` */
  readonly owner: string;
  readonly run?: UserFunction | undefined;
}

const ofExamples = 'it is an example of native plugins; a script or a WebAssembly plugin may have the name';
const ofTensorFlow = 'models of TensorFlow Lite are not run; convert the model to ONNX and call onnx()';

/** Functions of eKuiper's plugins that are not here, in lower case, and why. */
const leftOut: Readonly<Record<string, string>> = {
  accumulatewordcount: ofExamples,
  countplusone: ofExamples,
  echo: ofExamples,
  labelimage: ofTensorFlow,
  tflite: ofTensorFlow,
};

/** What only MATCH_RECOGNIZE knows. */
const ofMatch = ['prev', 'next', 'first', 'last', 'classifier', 'match_number'];

const byName = new Map<string, FunctionDefinition>();
const hostCalls: ((columns: HostColumns) => void)[] = [];
const hostNames: string[] = [];
const hostNumbers = new Map<FunctionDefinition, number>();
const opNames = new Map<OpName, string>([
  ['list.map', 'array_map'],
  ['move.ruleStart', 'rule_start'],
]);

for (const definition of definitions) {
  for (const name of [definition.name, ...(definition.aliases ?? [])]) byName.set(name.toLowerCase(), definition);
  // Several functions with one operation are told apart by what stands beside it, which no name says.
  if ('op' in definition.implementation && definition.implementation.imm === undefined) {
    opNames.set(definition.implementation.op, definition.name);
  }
  if ('call' in definition.implementation) {
    hostNumbers.set(definition, hostCalls.length);
    hostCalls.push(definition.implementation.call);
    hostNames.push(definition.name);
  }
}

/** Returns the function of this name in any letter case, or undefined when it is unknown. */
export function findFunction(name: string): FunctionDefinition | undefined {
  return byName.get(name.toLowerCase());
}

/** Declarations of all functions that can run. */
export function functionDefinitions(): readonly FunctionDefinition[] {
  return definitions;
}

/** Names of all functions of the language, in lower case. */
export function functionNames(): string[] {
  return [...byName.keys()].sort();
}

/** Name of a function as it is declared, which may have capitals; of others in lower case. */
export function declaredName(name: string): string {
  const key = name.toLowerCase();
  const known = byName.get(key)?.name;
  return known?.toLowerCase() === key ? known : key;
}

/** Names that no function of users may have, in lower case. */
export function reservedNames(): string[] {
  return functionNames().filter((name) => byName.get(name)?.givesWay !== true);
}

/**
 * Checks a call's name, number of arguments and literal arguments and returns the function.
 * Throws a `plan` error that names the function: unknown, or wrongly called.
 * @param brought finds a function that is not built in
 */
export function resolveFunction(
  name: string,
  args: readonly LiteralArg[],
  brought: FindBrought = () => undefined,
): FunctionDefinition {
  const key = name.toLowerCase();
  const known = byName.get(key);
  const definition = known?.givesWay === true && brought(name)?.run !== undefined ? undefined : known;
  if (definition === undefined) {
    const found = brought(name);
    if (found?.run !== undefined) return broughtDefinition(found.run, args.length);
    if (found !== undefined) {
      const { owner } = found;
      throw callErrors.notRun(name, owner);
    }
    const reason = Object.hasOwn(leftOut, key) ? leftOut[key] : undefined;
    if (reason !== undefined) throw callErrors.leftOut(name, reason);
    if (ofMatch.includes(key)) throw callErrors.ofMatch(name);
    const meant = nearest(key, [...functionNames(), ...(brought.names?.() ?? [])]);
    throw callErrors.unknown(name, meant);
  }
  const { min, max } = arity(definition.args);
  const shown = declaredName(key);
  checkCount(shown, args.length, min, max);
  for (const [i, value] of args.entries()) {
    const spec = definition.args[Math.min(i, definition.args.length - 1)];
    if (spec === undefined || matches(spec.type, value)) continue;
    throw callErrors.wrongType(shown, i + 1, spec.name, spec.type);
  }
  const reason = definition.check?.(args);
  if (reason !== undefined) throw callErrors.refused(shown, reason);
  return definition;
}

function broughtDefinition(user: UserFunction, count: number): FunctionDefinition {
  const { name, owner, args } = user;
  checkCount(name, count, args.min, args.max);
  return {
    name,
    category: owner,
    args: [{ name: 'values', type: 'any', optional: true, variadic: true }],
    returns: 'any',
    nulls: 'handles',
    doc: '',
    example: '',
    // Nobody knows what it keeps from one call to the next.
    isVolatile: true,
    implementation: { user },
  };
}

/** Number under which the kernel calls a host function. */
export function hostNumber(definition: FunctionDefinition): number {
  const number = hostNumbers.get(definition);
  if (number === undefined) throw new Error(`function ${definition.name} is not a host function`);
  return number;
}

/** Name of the function that has this number. */
export function hostFunctionName(number: number): string {
  return userFunctionName(number) ?? hostNames[number] ?? `host#${number}`;
}

/** Name of the function that the operation is, undefined when it is none, or one of several. */
export function opFunctionName(op: OpName): string | undefined {
  return opNames.get(op);
}

/** Runs a host function by its number over a batch, for `HostCalls.call` of the kernel. */
export function callHost(number: number, columns: HostColumns): void {
  const call = hostCalls[number];
  if (call === undefined) throw new Error(`no host function has number ${number}`);
  columns.name = hostNames[number] ?? '';
  beginWork(columns.name);
  beginWalks();
  call(columns);
}

function checkCount(name: string, count: number, min: number, max: number | null): void {
  if (count >= min && (max === null || count <= max)) return;
  const wanted = max === null ? `at least ${min}` : max === min ? `${min}` : `${min} to ${max}`;
  throw callErrors.wrongCount(name, wanted, count);
}

function matches(type: string, value: LiteralArg): boolean {
  if (value === undefined || value === null) return true;
  switch (type) {
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint';
    case 'int':
      return typeof value === 'bigint';
    case 'string':
      return typeof value === 'string';
    case 'boolean':
      return typeof value === 'boolean';
    case 'datetime':
      // There are no literals of datetimes.
      return false;
    default:
      return true;
  }
}
