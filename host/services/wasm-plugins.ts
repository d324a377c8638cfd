/** WebAssembly plugins: modules whose exported functions become SQL functions. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HaumeaError, reasonOf } from '../base/errors.js';
import type { RecordShape } from '../meta/records.js';
import { type InstalledOptions, type InstalledRecord, InstalledService } from './installed.js';
import { bytesOf, type ResourceFiles, readResource, textOf } from './resource-files.js';

export interface WasmRecord extends InstalledRecord {
  /** URI it was made of; empty when the bytes came with the request. */
  readonly file: string;
  readonly functions: readonly string[];
}

export const wasmShape: RecordShape<WasmRecord> = { folder: 'text', functions: 'list' };

export interface WasmPlugin {
  readonly name: string;
  readonly functions: readonly string[];
}

/** The types of Node leave this function out. */
const moduleExports = (
  WebAssembly.Module as unknown as { exports: (module: object) => { kind: string; name: string }[] }
).exports;

const maxBytes = 16 << 20;

export class WasmPlugins extends InstalledService<WasmRecord> {
  readonly #files: ResourceFiles;

  constructor(options: InstalledOptions<WasmRecord>, files: ResourceFiles) {
    super(options);
    this.#files = files;
  }

  list(): WasmPlugin[] {
    return this.records.list().map(([name, { functions }]) => ({ name, functions }));
  }

  /** Installs a module and says which functions it brings. */
  async install(body: Readonly<Record<string, unknown>>): Promise<WasmPlugin> {
    const { name, record } = await this.add(body);
    return { name, functions: record.functions };
  }

  protected override async read(name: string, body: Readonly<Record<string, unknown>>): Promise<WasmRecord> {
    const file = textOf(body, 'file');
    const bytes = await this.#moduleOf(file, bytesOf(body, 'bytecode'));
    if (bytes.length > maxBytes) throw new HaumeaError('general', `the module has more than ${maxBytes} bytes`);
    const functions = await exportsOf(bytes);
    if (functions.length === 0) throw new HaumeaError('general', 'the module exports no functions');
    const folder = await this.folders.add(name, async (path) => {
      await mkdir(path);
      await writeFile(join(path, `${name}.wasm`), bytes);
    });
    return { file, functions, folder };
  }

  protected override functionsOf(_name: string, { functions }: WasmRecord): readonly string[] {
    return functions;
  }

  protected override async requestOf(name: string, { folder }: WasmRecord): Promise<Record<string, unknown>> {
    const bytes = await readFile(join(this.folders.path(folder), `${name}.wasm`));
    return { name, bytecode: bytes.toString('base64') };
  }

  async #moduleOf(file: string, bytecode: Buffer): Promise<Buffer> {
    if (file !== '' && bytecode.length > 0) {
      throw new HaumeaError('general', 'invalid body: file and bytecode are both given, only one is allowed');
    }
    if (file !== '') return readResource(file, this.#files);
    if (bytecode.length > 0) return bytecode;
    throw new HaumeaError('general', 'invalid body: file or bytecode is required');
  }
}

/** Compiles the module without running it; names that begin with an underscore belong to its own runtime. */
async function exportsOf(bytes: Buffer): Promise<string[]> {
  let module: WebAssembly.Module;
  try {
    module = await WebAssembly.compile(new Uint8Array(bytes));
  } catch (error) {
    throw new HaumeaError('general', `invalid wasm module: ${reasonOf(error)}`, { cause: error });
  }
  return moduleExports(module)
    .filter(({ kind, name }) => kind === 'function' && !name.startsWith('_'))
    .map(({ name }) => name);
}
