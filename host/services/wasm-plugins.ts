/** WebAssembly plugins: modules whose exported functions become SQL functions. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HaumeaError } from '../base/errors.js';
import type { RecordShape } from '../meta/records.js';
import { argumentCounts, type UserFunction, type WasmCode } from '../plugins/define.js';
import { newUserNumber } from '../plugins/numbers.js';
import type { PluginManifest } from '../plugins/wasm/manifest.js';
import { type InstalledOptions, type InstalledRecord, InstalledService } from './installed.js';
import { bytesOf, type ResourceFiles, readResource, textOf } from './resource-files.js';

export interface WasmRecord extends InstalledRecord {
  /** URI it was made of; empty when the bytes came with the request. */
  readonly file: string;
  readonly functions: readonly string[];
  /** What the module says of itself, or its exports do; records of before have numbers of parameters instead. */
  readonly manifest?: PluginManifest;
  readonly arities?: Readonly<Record<string, number>>;
}

export const wasmShape: RecordShape<WasmRecord> = { folder: 'text', functions: 'list' };

export interface WasmPlugin {
  readonly name: string;
  readonly functions: readonly string[];
}

/** A module of a record that data planes can load. */
interface Ready {
  /** The record's folder: another one means another module. */
  readonly folder: string;
  readonly code: WasmCode;
}

export class WasmPlugins extends InstalledService<WasmRecord> {
  /** Told of the owner of functions whose code was taken away (null) or replaced. */
  onChange: (owner: string, functions: readonly UserFunction[] | null) => void = () => {};
  readonly #files: ResourceFiles;
  readonly #ready = new Map<string, Ready>();
  readonly #numbers = new Map<string, number>();
  #versions = 0;

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

  /** Replaces a module: rules that run go on with the new one from their next batch on. */
  override async replace(name: string, body: Readonly<Record<string, unknown>>): Promise<string> {
    const answer = await super.replace(name, body);
    const functions = this.get(name).functions.flatMap((entry) => this.runnable(name, entry) ?? []);
    this.onChange(`${this.kind} ${name}`, functions);
    return answer;
  }

  protected override async read(name: string, body: Readonly<Record<string, unknown>>): Promise<WasmRecord> {
    const file = textOf(body, 'file');
    const bytes = await this.#moduleOf(file, bytesOf(body, 'bytecode'));
    const { prepare } = await import('../plugins/wasm/prepare.js');
    const { ready, manifest, others } = prepare(bytes);
    const functions = manifest.functions.map((one) => one.name);
    if (functions.length === 0 && (manifest.codecs ?? []).length === 0) {
      const why = others.map(([other, reason]) => ` (${other}: ${reason})`).join('');
      throw new HaumeaError('general', `the module exports no functions that rules can call${why}`);
    }
    const folder = await this.folders.add(name, async (path) => {
      await mkdir(path);
      await writeFile(join(path, `${name}.wasm`), bytes);
      await writeFile(join(path, `${name}.metered.wasm`), ready);
    });
    return { file, functions, manifest, folder };
  }

  override async delete(name: string): Promise<string> {
    const answer = await super.delete(name);
    this.#ready.delete(name);
    this.onChange(`${this.kind} ${name}`, null);
    return answer;
  }

  runnable(name: string, entry: string): UserFunction | undefined {
    const { folder, manifest, arities } = this.get(name);
    const known = manifest?.functions.find((one) => one.name === entry);
    const count = arities?.[entry];
    if (known === undefined && count === undefined) return undefined;
    const args = known === undefined ? { min: count ?? 0, max: count ?? 0 } : argumentCounts(known);
    const owner = `${this.kind} ${name}`;
    const key = `${owner} ${entry}`;
    const number = this.#numbers.get(key) ?? newUserNumber(entry);
    this.#numbers.set(key, number);
    const { code } = this.#readyOf(name, folder, manifest);
    return { name: entry, owner, number, code, entry, isAggregate: known?.aggregate !== undefined, args };
  }

  #readyOf(name: string, folder: string, manifest: PluginManifest | undefined): Ready {
    const known = this.#ready.get(name);
    if (known?.folder === folder) return known;
    const path = join(this.folders.path(folder), `${name}.metered.wasm`);
    const made: Ready = { folder, code: { kind: 'wasm', name, version: ++this.#versions, path, manifest } };
    this.#ready.set(name, made);
    return made;
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
