/** External services: archives that describe them, and the functions they bring. */

import { inContext } from '../../base/errors.js';
import { maskByName } from '../../base/fields/secret-fields.js';
import type { RecordShape } from '../../meta/definitions/records.js';
import type { UserFunction } from '../../plugins/define.js';
import { newUserNumber } from '../../plugins/numbers.js';
import type { ServiceCode, ServiceMethod, ServiceTypes } from '../../plugins/service-code.js';
import type { ServiceFigures } from '../../plugins/service-figures.js';
import { textOf } from '../body/fields.js';
import { bodyErrors } from '../errors/body.js';
import { installErrors } from '../errors/installed.js';
import { withArchive } from '../files/archives.js';
import { type ResourceFiles, readResource } from '../files/resource-files.js';
import { type InstalledOptions, InstalledService } from '../installed/installed.js';
import type { CalledInterface, ServiceDefinition, ServiceFunction } from './definition.js';
import type { InterfaceFigures, InterfaceStatus } from './figures.js';

/** What records of older releases do not have. */
const laterOptions = { caPath: '', certPath: '', keyPath: '', batchMs: 60_000, waitingBatches: 16 };

export interface ServiceRecord {
  readonly file: string;
  readonly folder: string;
  readonly definition: ServiceDefinition;
  readonly functions: readonly ServiceFunction[];
  /** What calls need, by interface; missing in records of older releases. */
  readonly called?: Readonly<Record<string, CalledInterface>>;
}

export const serviceShape: RecordShape<ServiceRecord> = {
  file: 'text',
  folder: 'text',
  definition: 'object',
  functions: 'list',
};

export class ExternalServices extends InstalledService<ServiceRecord> {
  /** Called with the owner of functions that were removed (null) or replaced. */
  onChange: (owner: string, functions: readonly UserFunction[] | null) => void = () => {};
  /** Figures of the interfaces that rules have called. */
  called: () => Promise<readonly ServiceFigures[]> = async () => [];
  readonly #files: ResourceFiles;
  /** Numbers of functions, and interfaces as they are called, by the folder of the record that they come from. */
  readonly #numbers = new Map<string, number>();
  readonly #codes = new Map<string, { readonly folder: string; readonly code: ServiceCode }>();
  #versions = 0;

  constructor(options: InstalledOptions<ServiceRecord>, files: ResourceFiles) {
    super(options);
    this.#files = files;
  }

  describe(name: string): ServiceDefinition {
    return inContext('describe service error', () => maskByName(this.get(name).definition) as ServiceDefinition);
  }

  /** What is known of the calls of each interface. */
  status(name: string): Promise<Record<string, InterfaceStatus>> {
    return inContext('get status of service error', async () => {
      const { definition } = this.get(name);
      const { figuresOf, statusOf } = await import('./figures.js');
      const found = figuresOf([[name, definition]], await this.called());
      return Object.fromEntries(found.map((one) => [one.interface, statusOf(one)]));
    });
  }

  /** Figures of all interfaces. */
  async figures(): Promise<InterfaceFigures[]> {
    const all = this.records.list();
    if (all.length === 0) return [];
    const { figuresOf } = await import('./figures.js');
    return figuresOf(
      all.map(([name, { definition }]) => [name, definition]),
      await this.called(),
    );
  }

  listFunctions(): readonly ServiceFunction[] {
    return this.#all();
  }

  describeFunction(name: string): ServiceFunction {
    return inContext('describe function error', () => {
      const found = this.#all().find(({ FuncName }) => FuncName === name);
      if (found === undefined) throw installErrors.functionMissing(name);
      return found;
    });
  }

  protected override async read(name: string, body: Readonly<Record<string, unknown>>): Promise<ServiceRecord> {
    const file = textOf(body, 'file');
    if (file === '') throw bodyErrors.missing('file');
    const { readService } = await import('./definition.js');
    return withArchive(await readResource(file, this.#files), async (archive) => {
      const { definition, functions, called } = await readService(name, archive, this.#files.paths);
      const folder = await this.folders.add(name, (path) => archive.unpack(path));
      return { file, folder, definition, functions, called };
    });
  }

  protected override functionsOf(_name: string, { functions }: ServiceRecord): readonly string[] {
    return functions.map(({ FuncName }) => FuncName);
  }

  protected override requestOf(name: string, { file }: ServiceRecord): Record<string, unknown> {
    return { name, file };
  }

  /** Function that rules call; undefined when it is unknown or can't be called. */
  runnable(name: string, func: string): UserFunction | undefined {
    const record = this.get(name);
    const found = record.functions.find(({ FuncName }) => FuncName === func);
    if (found === undefined) return undefined;
    const called = record.called?.[found.InterfaceName];
    const method = called?.methods[func];
    if (called === undefined || method === undefined) return undefined;
    const owner = `${this.kind} ${name}`;
    const key = `${owner} ${func}`;
    const number = this.#numbers.get(key) ?? newUserNumber(func);
    this.#numbers.set(key, number);
    const code = this.#codeOf(name, found, record.folder, called);
    return { name: func, owner, number, code, entry: func, isAggregate: false, args: takes(method, called.types) };
  }

  #codeOf(
    name: string,
    { InterfaceName, Addr }: ServiceFunction,
    folder: string,
    { protocol, options, methods, types }: CalledInterface,
  ): ServiceCode {
    const key = `${name}.${InterfaceName}`;
    const known = this.#codes.get(key);
    if (known?.folder === folder) return known.code;
    const code: ServiceCode = {
      kind: 'service',
      name: key,
      version: ++this.#versions,
      protocol,
      address: Addr,
      ...laterOptions,
      ...options,
      allowPrivate: this.#files.allowPrivate,
      paths: this.#files.paths.rules,
      methods,
      types,
    };
    this.#codes.set(key, { folder, code });
    return code;
  }

  /** Running rules call the new service from their next batch on, and fail without one. */
  protected override changed(name: string): void {
    const record = this.records.get(name);
    const functions = record?.functions.flatMap(({ FuncName }) => this.runnable(name, FuncName) ?? []);
    this.onChange(`${this.kind} ${name}`, functions ?? null);
  }

  #all(): ServiceFunction[] {
    return this.records.list().flatMap(([, { functions }]) => functions);
  }
}

/** A method takes its fields, or one object that has them; without a schema verb, path, and what is sent. */
function takes({ input }: ServiceMethod, { messages }: ServiceTypes): UserFunction['args'] {
  if (input === null) return { min: 2, max: null };
  const fields = messages[input]?.length ?? 0;
  return { min: Math.min(1, fields), max: Math.max(1, fields) };
}
