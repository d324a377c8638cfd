/** What is stored of a WebAssembly plugin, and what clients see of it. */
import type { WasiGrants } from '../../plugins/define.js';
import type { PluginManifest } from '../../plugins/manifest.js';
import type { ModuleDescription } from '../../plugins/wasm/exports/describe.js';
import type { InstalledRecord } from '../installed/installed.js';
import type { OwnLimits } from './limits.js';

export interface WasmRecord extends InstalledRecord {
  /** URI of the module; empty when the bytes came with the request. */
  readonly file: string;
  readonly functions: readonly string[];
  /** Manifest of the module, or one made from its exports; older records have `arities` instead. */
  readonly manifest?: PluginManifest;
  readonly arities?: Readonly<Record<string, number>>;
  readonly limits?: OwnLimits;
  readonly wasi?: WasiGrants;
  /** Whether the plugin runs on a thread of its own; undefined: as the configuration says. */
  readonly isolate?: boolean;
  /** Whether it is a program, which sources and sinks run. */
  readonly program?: boolean;
  /** Number of files that the module sees; undefined: none. */
  readonly files?: number;
  /** Checksum of the module in the data folder, when the plugin was made of such a file. */
  readonly ofFolder?: string;
}

export interface WasmPlugin {
  readonly name: string;
  readonly functions: readonly string[];
  /** Names of the codecs; left out when there are none. */
  readonly codecs?: readonly string[];
  /** True for a program, which sources and sinks run; left out otherwise. */
  readonly program?: boolean;
}

/** Answer to an installation. */
export interface InstalledWasmPlugin extends WasmPlugin {
  /** Warnings about the module, one sentence each; left out when there are none. */
  readonly warnings?: readonly string[];
}

export interface DescribedWasmPlugin extends WasmPlugin, ModuleDescription {
  readonly file: string;
  /** Memory, in bytes, and fuel that the plugin may use. */
  readonly limits: Required<OwnLimits>;
  /** Access to the machine that the plugin is granted. */
  readonly wasi: WasiGrants;
  /** Whether the plugin runs on a thread of its own. */
  readonly isolate: boolean;
  /** Files that it sees; left out when there are none. */
  readonly files?: readonly { readonly path: string; readonly sizeBytes: number }[];
  /** Memory of the loaded code, bytes; 0 while no rule calls the plugin. */
  readonly memoryBytes: number;
}

/** A module of the data folder. */
export interface FolderModule {
  readonly bytes: Buffer;
  readonly checksum: string;
}
