/** WebAssembly plugins: modules whose exported functions become SQL functions. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inContext } from '../../base/errors.js';
import { maskByName } from '../../base/fields/secret-fields.js';
import type { RecordShape } from '../../meta/definitions/records.js';
import { argumentCounts, callOf, type UserFunction, type WasiGrants, type WasmCode } from '../../plugins/define.js';
import type { PluginFunction, PluginManifest } from '../../plugins/manifest.js';
import { newUserNumber } from '../../plugins/numbers.js';
import { codecFunction, type Direction, directions } from '../../plugins/wasm/exports/codecs.js';
import type { ModuleDescription } from '../../plugins/wasm/exports/describe.js';
import type { GivenFile } from '../../plugins/wasm/guest/files/tree.js';
import { Outcome } from '../body/outcome.js';
import { bodyErrors } from '../errors/body.js';
import { installErrors } from '../errors/installed.js';
import type { ResourceFiles } from '../files/resource-files.js';
import { type InstalledOptions, type InstalledRecord, InstalledService } from '../installed/installed.js';
import { callLimitsOf, type OwnLimits, type WasmConfig } from './limits.js';
import type { GivenModule } from './module.js';

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

export const wasmShape: RecordShape<WasmRecord> = { folder: 'text', functions: 'list' };

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

/** A module of a record that data planes can load. */
interface Ready {
  /** Folder of the record; each new module gets another one. */
  readonly folder: string;
  readonly code: WasmCode;
}

/** A module of the data folder. */
export interface FolderModule {
  readonly bytes: Buffer;
  readonly checksum: string;
}

type Body = Readonly<Record<string, unknown>>;

/** Ending of the file with the files of a plugin. */
const filesEnding = 'files';

async function packed(files: readonly GivenFile[]): Promise<Buffer> {
  const { packFiles } = await import('../../plugins/wasm/guest/files/tree.js');
  return packFiles(files);
}

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
      const { folder, file, limits = {}, wasi = {}, isolate = this.#config.isolate } = record;
      const bytes = await readFile(this.#pathOf(name, folder, 'wasm'));
      const { describeModule } = await import('../../plugins/wasm/exports/describe.js');
      const { callFuel, batchFuel } = callLimitsOf(limits, this.#config);
      const maxMemoryBytes = limits.maxMemoryBytes ?? this.#config.maxMemoryBytes;
      return {
        name,
        ...bringsOf(record),
        file,
        ...describeModule(bytes),
        limits: { maxMemoryBytes, callFuel: Number(callFuel), batchFuel: Number(batchFuel) },
        wasi: maskByName(wasi) as WasiGrants,
        isolate,
        ...(record.files !== undefined && { files: await this.#filesOf(name, folder) }),
        memoryBytes: await this.memoryOf(`${this.kind} ${name}`),
      };
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
    const [{ moduleOf }, { grantsOf, moduleLimitsOf, ownLimitsOf }] = await Promise.all([
      import('./module.js'),
      import('./options.js'),
    ]);
    const { isolate } = body;
    if (isolate !== undefined && isolate !== null && typeof isolate !== 'boolean') {
      throw bodyErrors.notBoolean('isolate');
    }
    const limits = ownLimitsOf(body, this.#config);
    const wasi = grantsOf(body);
    const { prepareTimeout } = this.#config;
    const own = this.#ofFolder.get(body);
    const given: GivenModule =
      own === undefined ? await moduleOf(name, body, this.#config, this.#files) : { file: '', bytes: own.bytes };
    const { bytes, file, beside, files } = given;
    const { prepareWithin } = await import('../../plugins/wasm/prepare/within.js');
    const { defaultLimits } = await import('../../plugins/wasm/binary/limits.js');
    const most = moduleLimitsOf(limits, this.#config, defaultLimits);
    const prepared = await prepareWithin(prepareTimeout, { bytes, beside, limits: most });
    const { ready, manifest, others } = prepared;
    this.#warnings.set(body, prepared.warnings);
    const functions = manifest.functions.map((one) => one.name);
    if (functions.length === 0 && (manifest.codecs ?? []).length === 0 && !prepared.isProgram) {
      const why = others.map(([other, reason]) => ` (${other}: ${reason})`).join('');
      throw installErrors.noFunctions(why);
    }
    const { withManifest } = await import('../../plugins/wasm/exports/embed.js');
    const folder = await this.folders.add(name, async (path) => {
      await mkdir(path);
      await writeFile(join(path, `${name}.wasm`), beside === undefined ? bytes : withManifest(bytes, beside));
      await writeFile(join(path, `${name}.metered.wasm`), ready);
      if (files !== undefined) await writeFile(join(path, `${name}.${filesEnding}`), await packed(files));
    });
    return {
      file,
      functions,
      manifest,
      folder,
      ...(Object.keys(limits).length === 0 ? {} : { limits }),
      ...(wasi === undefined ? {} : { wasi }),
      ...(typeof isolate === 'boolean' ? { isolate } : {}),
      ...(files === undefined ? {} : { files: files.length }),
      ...(prepared.isProgram ? { program: true } : {}),
      ...(own === undefined ? {} : { ofFolder: own.checksum }),
    };
  }

  /** Rules that run go on with a new module from their next batch on, and fail without one. */
  protected override changed(name: string): void {
    const record = this.records.get(name);
    if (record === undefined) this.#ready.delete(name);
    const functions = record && [
      ...record.functions.flatMap((entry) => this.runnable(name, entry) ?? []),
      ...[this.program(name) ?? []].flat(),
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
      ...(files === undefined ? {} : { files: this.#pathOf(name, folder, filesEnding) }),
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
    const bytes = await readFile(this.#pathOf(name, folder, 'wasm'));
    const given = files === undefined ? bytes : await this.#archiveOf(name, folder, bytes);
    const bytecode = given.toString('base64');
    const isolated = isolate === undefined ? {} : { isolate };
    return { name, bytecode, ...(limits && { limits }), ...(wasi && { wasi }), ...isolated };
  }

  async #filesOf(name: string, folder: string) {
    const { unpackFiles } = await import('../../plugins/wasm/guest/files/tree.js');
    const files = unpackFiles(await readFile(this.#pathOf(name, folder, filesEnding)));
    return files.map(({ path, bytes }) => ({ path, sizeBytes: bytes.length }));
  }

  /** The archive that installs the module with its files again. */
  async #archiveOf(name: string, folder: string, bytes: Buffer): Promise<Buffer> {
    const [{ zipOf }, { unpackFiles }, { filesFolder }] = await Promise.all([
      import('../../base/files/zip.js'),
      import('../../plugins/wasm/guest/files/tree.js'),
      import('./module.js'),
    ]);
    const files = unpackFiles(await readFile(this.#pathOf(name, folder, filesEnding)));
    const own = files.map((file) => ({ name: filesFolder + file.path, bytes: file.bytes }));
    return zipOf([{ name: `${name}.wasm`, bytes }, ...own]);
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
