/** The functions of a project as rules find them, with code that a data plane can load. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configSpec } from '../../base/config/config-spec.js';
import { parse } from '../../base/fields/field.js';
import { argumentCounts, callOf, type UserFunction, type WasmCode } from '../../plugins/define.js';
import type { PluginManifest } from '../../plugins/manifest.js';
import { newUserNumber } from '../../plugins/numbers.js';
import { defaultLimits } from '../../plugins/wasm/binary/limits.js';
import { prepare } from '../../plugins/wasm/prepare/prepare.js';
import { callLimitsOf } from '../../services/wasm/limits.js';
import { grantsOf, moduleLimitsOf, ownLimitsOf } from '../../services/wasm/options.js';
import { moduleOf, type Project, readOf } from './project.js';

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
  const { wasm } = parse(configSpec, {}).plugin;
  const { name } = project;
  const own = ownLimitsOf(project, wasm);
  const { ready, manifest } = prepare(moduleOf(project, module), undefined, moduleLimitsOf(own, wasm, defaultLimits));
  const path = join(folder, `${name}.metered.wasm`);
  writeFileSync(path, ready);
  return { kind: 'wasm', name, version, path, manifest, limits: callLimitsOf(own, wasm), wasi: grantsOf(project) };
}
