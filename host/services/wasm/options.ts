/** Options of a WebAssembly plugin: the limits of the configuration, or less where the request says so. */

import { field, type Parsed, parse, type Spec } from '../../base/fields/field.js';
import type { WasiGrants } from '../../plugins/define.js';
import type { ModuleLimits } from '../../plugins/wasm/binary/limits.js';
import { bodyErrors } from '../errors/body.js';
import { moduleErrors } from '../errors/wasm.js';
import type { OwnLimits, WasmConfig } from './limits.js';

const limitSpec = {
  maxMemoryBytes: field.int().min(65_536).doc('Memory that the module may have, in bytes'),
  callFuel: field.int().min(1000).doc('Instructions that a call may take'),
  batchFuel: field.int().min(1000).doc('Instructions that all calls for a batch may take'),
};

const wasiSpec = {
  clock: field.bool().default(false).doc('Times are those of the server'),
  random: field.bool().default(false).doc('Random bytes are that, not the same in each run'),
  env: field.object().doc('Environment variables'),
  args: field.list(field.string()).doc('Arguments of the program, after its name'),
};

const pageBytes = 65_536;

/** Reads the member `limits` of a request: no limit may be above that of the configuration. */
export function ownLimitsOf(body: Readonly<Record<string, unknown>>, config: WasmConfig): OwnLimits {
  const limits = membersOf(limitSpec, body, 'limits') as OwnLimits;
  for (const name of Object.keys(limitSpec) as (keyof OwnLimits)[]) {
    const [own, most] = [limits[name], config[name]];
    if (own === undefined || own <= most) continue;
    throw moduleErrors.limit(name, own, most);
  }
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
}

/** Reads the member `wasi` of a request: what the plugin is given of the machine; undefined when that is nothing. */
export function grantsOf(body: Readonly<Record<string, unknown>>): WasiGrants | undefined {
  if (body.wasi === undefined || body.wasi === null) return undefined;
  const { clock, random, env = {}, args = [] } = membersOf(wasiSpec, body, 'wasi');
  for (const [name, value] of Object.entries(env)) {
    if (typeof value === 'string' && !/[=\0]/.test(name) && !value.includes('\0')) continue;
    throw moduleErrors.wasiEnv(name);
  }
  return { clock, random, env: env as Record<string, string>, args };
}

/** Reads a member that is an object. */
function membersOf<S extends Spec>(spec: S, body: Readonly<Record<string, unknown>>, member: string): Parsed<S> {
  const given = body[member] ?? {};
  if (typeof given !== 'object' || Array.isArray(given)) {
    throw bodyErrors.notObject(member);
  }
  const problems: string[] = [];
  const parsed = parse(spec, given, { where: `invalid body: ${member}`, unknown: 'reject', problems });
  if (problems.length > 0) throw bodyErrors.problems(problems.join('; '));
  return parsed;
}

/** Limits on the size of the module itself. */
export function moduleLimitsOf(own: OwnLimits, config: WasmConfig, usual: ModuleLimits): ModuleLimits {
  const { maxModuleBytes, maxTables, maxTableEntries, maxFunctions, maxImports, maxExports } = config;
  const memoryBytes = own.maxMemoryBytes ?? config.maxMemoryBytes;
  return {
    ...usual,
    moduleBytes: maxModuleBytes,
    dataBytes: maxModuleBytes,
    tables: maxTables,
    tableEntries: maxTableEntries,
    functions: maxFunctions,
    imports: maxImports,
    exports: maxExports,
    memoryPages: Math.floor(memoryBytes / pageBytes),
  };
}
