/** Description of an installed module. */

import type { PluginManifest } from '../../manifest.js';
import { type External, inspect } from '../binary/inspect.js';
import { noLimits } from '../binary/limits.js';
import { signatureText } from '../binary/types.js';
import { addressParams } from './addresses.js';
import { pluginOf } from './functions.js';

export interface ModuleDescription {
  readonly sizeBytes: number;
  /** Manifest of the module, or one made from its exports: functions with the types of their arguments and results. */
  readonly manifest: PluginManifest;
  /** Exported functions that rules can't call, with the reason. */
  readonly notCallable: readonly { readonly name: string; readonly reason: string }[];
  /** Warnings about functions that rules can call, one sentence each. */
  readonly warnings: readonly string[];
  /** `env.abort (i32, i32) -> nothing` */
  readonly imports: readonly string[];
  readonly exports: readonly string[];
  /** Bounds of the memory that the module declares; the limits hold besides. */
  readonly memory: { readonly minBytes: number; readonly maxBytes: number | null } | null;
  readonly tables: readonly { readonly min: number; readonly max: number | null }[];
  readonly hasStart: boolean;
}

const pageBytes = 65_536;

/** Describes a module as it was sent. */
export function describeModule(bytes: Uint8Array): ModuleDescription {
  const shape = inspect(bytes, noLimits);
  const { manifest, others, warnings } = pluginOf(shape, undefined, addressParams(bytes, noLimits));
  const { memory } = shape;
  const bytesOf = (pages: number | undefined) => (pages === undefined ? null : pages * pageBytes);
  return {
    sizeBytes: shape.sizeBytes,
    manifest,
    notCallable: others.map(([name, reason]) => ({ name, reason })),
    warnings,
    imports: shape.imports.map((one) => `${one.module}.${one.name} ${textOf(one)}`),
    exports: shape.exports.map((one) => `${one.name} ${textOf(one)}`),
    memory: memory === undefined ? null : { minBytes: memory.min * pageBytes, maxBytes: bytesOf(memory.max) },
    tables: shape.tables.map(({ min, max }) => ({ min, max: max ?? null })),
    hasStart: shape.hasStart,
  };
}

function textOf(external: External): string {
  return external.kind === 'function' ? signatureText(external.signature) : external.kind;
}
