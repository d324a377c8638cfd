/** WebAssembly plugins: modules whose exported functions become SQL functions. */
import { join } from 'node:path';
import { inContext } from '../../base/errors.js';
import type { RecordShape } from '../../meta/definitions/records.js';
import { argumentCounts, callOf, type UserFunction, type WasmCode } from '../../plugins/define.js';
import type { PluginFunction } from '../../plugins/manifest.js';
import { newUserNumber } from '../../plugins/numbers.js';
import { codecFunction, type Direction, directions } from '../../plugins/wasm/exports/codecs.js';
import { Outcome } from '../body/outcome.js';
import type { ResourceFiles } from '../files/resource-files.js';
import { type InstalledOptions, InstalledService } from '../installed/installed.js';
import { callLimitsOf, type WasmConfig } from './limits.js';
import type { DescribedWasmPlugin, FolderModule, InstalledWasmPlugin, WasmPlugin, WasmRecord } from './record.js';

export const wasmShape: RecordShape<WasmRecord> = { folder: 'text', functions: 'list' };

/** A module of a record that data planes can load. */
interface Ready {
  /** Folder of the record; each new module gets another one. */
  readonly folder: string;
  readonly code: WasmCode;
}

type Body = Readonly<Record<string, unknown>>;

export class WasmPlugins extends InstalledService<WasmRecord> {
  /** Called with the owner of functions whose code was removed (null) or replaced. */
  onChange: (owner: string, functions: readonly UserFunction[] | null) => void = () => {};
  readonly #files: ResourceFiles;
  readonly #config: WasmConfig;
  readonly #ready = new Map<string, Ready>();
  readonly #numbers = new Map<string, number>();
  /** Warnings about modules, noted when they were read, by request body. */
  readonly #warnings = new WeakMap<Body, readonly string[]>();
  /** Bodies that stand for files of the data folder. */
  readonly #ofFolder = new WeakMap<Body, FolderModule>();
  #versions = 0;

  /** @param memoryOf bytes of memory that the loaded code of an owner has */
  constructor(
    options: InstalledOptions<WasmRecord>,
    files: ResourceFiles,
    config: WasmConfig,
    private readonly memoryOf: (owner: string) => Promise<number>,
  ) {
    super(options);
    this.#files = files;
    this.#config = config;
  }

  list(): WasmPlugin[] {
    return this.records.list().map(([name, record]) => ({ name, ...bringsOf(record) }));
  }

  /** Describes a plugin: its module, its limits and its memory. */
  describe(name: string): Promise<DescribedWasmPlugin> {
    return inContext(`describe ${this.kind} error`, async () => {
      const record = this.get(name);
      const { described } = await import('./install.js');
      const memoryBytes = await this.memoryOf(`${this.kind} ${name}`);
      const known = await described(this.folders.path(record.folder), name, record, this.#config);
      return { name, ...bringsOf(record), ...known, memoryBytes };
    });
  }

  /** Installs a module and says which functions it brings. */
  async install(body: Body): Promise<InstalledWasmPlugin> {
    const { name, record } = await this.add(body);
    const warnings = this.#warnings.get(body) ?? [];
    return { name, ...bringsOf(record), ...(warnings.length > 0 && { warnings }) };
  }

  /** Replaces a module that is there. */
  async update(name: string, body: Body): Promise<Outcome> {
    const text = await this.replace(name, body);
    return new Outcome(text, this.#warnings.get(body));
  }

  /** Tells whether there is a plugin of the name. */
  has(name: string): boolean {
    return this.records.has(name);
  }

  /** Names of the codecs of a plugin. */
  codecs(name: string): readonly string[] {
    return this.get(name).manifest?.codecs?.map((codec) => codec.name) ?? [];
  }

  /** Function of a codec for one direction; undefined when the codec lacks it. */
  codec(name: string, codec: string, direction: Direction): UserFunction | undefined {
    const record = this.get(name);
    const known = record.manifest?.codecs?.find((one) => one.name === codec);
    const fn = known && codecFunction(known, direction);
    return fn && this.#functionOf(name, record, fn.name, fn);
  }

  /** The program that a plugin is, for sources and sinks; undefined when there is none of that name. */
  program(name: string): UserFunction | undefined {
    const record = this.records.get(name);
    if (record?.program !== true) return undefined;
    const owner = `${this.kind} ${name}`;
    const { kind: _, version, path, wasi, files } = this.#readyOf(name, record).code;
    const timeoutMs = this.#config.isolateTimeout;
    const code = { kind: 'command', name, version, path, wasi, files, timeoutMs } as const;
    const number = this.#numberOf(`${owner} program`, name);
    return { name, owner, number, code, entry: '_start', isAggregate: false, args: { min: 0, max: 0 } };
  }

  /** Checksums of the plugins that were made of files of the data folder; undefined for others. */
  checksums(): Map<string, string | undefined> {
    return new Map(this.records.list().map(([name, { ofFolder }]) => [name, ofFolder]));
  }

  /** Installs a module of the data folder, in place of the plugin's former module. */
  async putOfFolder(name: string, module: FolderModule): Promise<Outcome> {
    const body = { name };
    this.#ofFolder.set(body, module);
    const text = await this.put(name, body);
    return new Outcome(text, this.#warnings.get(body));
  }

  protected override async read(name: string, body: Body): Promise<WasmRecord> {
    const { installed } = await import('./install.js');
    const own = this.#ofFolder.get(body);
    const at = { config: this.#config, files: this.#files, folders: this.folders };
    const { record, warnings } = await installed({ name, body, own, ...at });
    this.#warnings.set(body, warnings);
    return record;
  }

  /** Rules that run go on with a new module from their next batch on, and fail without one. */
  protected override changed(name: string): void {
    const record = this.records.get(name);
    if (record === undefined) this.#ready.delete(name);
    const program = this.program(name);
    const functions = record && [
      ...record.functions.flatMap((entry) => this.runnable(name, entry) ?? []),
      ...(program === undefined ? [] : [program]),
      ...this.codecs(name).flatMap((one) => directions.flatMap((direction) => this.codec(name, one, direction) ?? [])),
    ];
    this.onChange(`${this.kind} ${name}`, functions ?? null);
  }

  runnable(name: string, entry: string): UserFunction | undefined {
    const record = this.get(name);
    const known = record.manifest?.functions.find((one) => one.name === entry);
    if (known === undefined && record.arities?.[entry] === undefined) return undefined;
    return this.#functionOf(name, record, entry, known);
  }

  #functionOf(name: string, record: WasmRecord, entry: string, known: PluginFunction | undefined): UserFunction {
    const count = record.arities?.[entry];
    const args = known === undefined ? { min: count ?? 0, max: count ?? 0 } : argumentCounts(known);
    const owner = `${this.kind} ${name}`;
    const { code } = this.#readyOf(name, record);
    const call = callOf(known, code.isolate !== undefined);
    // Running rules go on calling by number: a number is kept only while the kind of call stays the same.
    const key = `${owner} ${entry} ${call.isAggregate} ${call.state}`;
    const number = this.#numberOf(key, entry);
    return { name: entry, owner, number, code, entry, ...call, args };
  }

  #numberOf(key: string, name: string): number {
    const number = this.#numbers.get(key) ?? newUserNumber(name);
    this.#numbers.set(key, number);
    return number;
  }

  #readyOf(name: string, record: WasmRecord): Ready {
    const { folder, manifest, limits = {}, wasi, isolate = this.#config.isolate, files } = record;
    const known = this.#ready.get(name);
    if (known?.folder === folder) return known;
    const path = this.#pathOf(name, folder, 'metered.wasm');
    const calls = callLimitsOf(limits, this.#config);
    const code = {
      kind: 'wasm',
      name,
      version: ++this.#versions,
      path,
      manifest,
      limits: calls,
      wasi,
      ...(files === undefined ? {} : { files: this.#pathOf(name, folder, 'files') }),
      ...(isolate ? { isolate: { timeoutMs: this.#config.isolateTimeout } } : {}),
    } as const;
    const made: Ready = { folder, code };
    this.#ready.set(name, made);
    return made;
  }

  protected override functionsOf(_name: string, { functions }: WasmRecord): readonly string[] {
    return functions;
  }

  protected override async requestOf(
    name: string,
    { folder, limits, wasi, isolate, files }: WasmRecord,
  ): Promise<Record<string, unknown>> {
    const { bytesOf } = await import('./install.js');
    const bytecode = (await bytesOf(this.folders.path(folder), name, files !== undefined)).toString('base64');
    const isolated = isolate === undefined ? {} : { isolate };
    return { name, bytecode, ...(limits && { limits }), ...(wasi && { wasi }), ...isolated };
  }

  #pathOf(name: string, folder: string, ending: string): string {
    return join(this.folders.path(folder), `${name}.${ending}`);
  }
}

/** Functions and codecs that a plugin brings. */
function bringsOf({ functions, manifest, program }: WasmRecord): Omit<WasmPlugin, 'name'> {
  const codecs = manifest?.codecs?.map(({ name }) => name) ?? [];
  return { functions, ...(codecs.length === 0 ? {} : { codecs }), ...(program === true && { program }) };
}
