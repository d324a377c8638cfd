/** The functions of a project as rules find them, with code that a data plane can load. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configSpec } from '../../base/config/config-spec.js';
import { parse } from '../../base/fields/field.js';
import { argumentCounts, type CommandCode, callOf, type UserFunction, type WasmCode } from '../../plugins/define.js';
import type { PluginManifest } from '../../plugins/manifest.js';
import { newUserNumber } from '../../plugins/numbers.js';
import { defaultLimits } from '../../plugins/wasm/binary/limits.js';
import { packFiles } from '../../plugins/wasm/guest/files/tree.js';
import { prepare } from '../../plugins/wasm/prepare/prepare.js';
import { callLimitsOf } from '../../services/wasm/limits.js';
import { grantsOf, moduleLimitsOf, ownLimitsOf } from '../../services/wasm/options.js';
import { filesOf, moduleOf, type Project, readOf } from './project.js';

/** A project has but one. */
const version = 1;

/** Functions of a project, with the limits that a server has by default. `folder` is where the module may lie. */
export function functionsOf(project: Project, folder: string): UserFunction[] {
  const { javascript } = parse(configSpec, {}).plugin;
  const { name, module, script, isAgg } = project;
  if (module === undefined) {
    const { callTimeout: callMs, batchTimeout: batchMs } = javascript;
    const limits = { callMs, batchMs, memoryBytes: javascript.maxMemoryBytes, stackBytes: javascript.maxStackBytes };
    const code = {
      kind: 'javascript',
      name,
      version,
      script: readOf(project, script ?? '').toString(),
      limits,
    } as const;
    const owner = `javascript function ${name}`;
    return [
      { name, owner, number: newUserNumber(name), code, entry: name, isAggregate: isAgg, args: { min: 0, max: null } },
    ];
  }
  const code = wasmCodeOf(project, module, folder);
  return code.manifest.functions.map((one) => ({
    name: one.name,
    owner: `wasm plugin ${name}`,
    number: newUserNumber(one.name),
    code,
    entry: one.name,
    ...callOf(one),
    args: argumentCounts(one),
  }));
}

/** The module of a project, ready to be loaded; see `functionsOf`. */
export function wasmCodeOf(project: Project, module: string, folder: string): WasmCode & { manifest: PluginManifest } {
  return preparedOf(project, module, folder).code;
}

/** The program of a project, ready to be run; undefined when it has functions or codecs. */
export function programOf(project: Project, folder: string): CommandCode | undefined {
  const { module } = project;
  if (module === undefined) return undefined;
  const { code, isProgram } = preparedOf(project, module, folder);
  const { name, path, wasi, files, manifest } = code;
  if (!isProgram || manifest.functions.length > 0 || (manifest.codecs ?? []).length > 0) return undefined;
  const timeoutMs = parse(configSpec, {}).plugin.wasm.isolateTimeout;
  return { kind: 'command', name, version, path, wasi, files, timeoutMs };
}

function preparedOf(project: Project, module: string, folder: string) {
  const { wasm } = parse(configSpec, {}).plugin;
  const { name } = project;
  const own = ownLimitsOf(project, wasm);
  const limits = moduleLimitsOf(own, wasm, defaultLimits);
  const { ready, manifest, isProgram } = prepare(moduleOf(project, module), undefined, limits);
  const path = join(folder, `${name}.metered.wasm`);
  writeFileSync(path, ready);
  const given = filesOf(project);
  const files = given.length === 0 ? undefined : join(folder, `${name}.files`);
  if (files !== undefined) writeFileSync(files, packFiles(given));
  const calls = { limits: callLimitsOf(own, wasm), wasi: grantsOf(project) };
  return { code: { kind: 'wasm', name, version, path, manifest, files, ...calls } as const, isProgram };
}
