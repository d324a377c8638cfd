/**
 * The base class of installed resources: records with an optional package folder, which are installed under a name,
 * replaced, deleted and exported. A subclass says how a request is read and what is kept of it.
 */
import { type HaumeaError, inContext } from '../../base/errors.js';
import { Serial } from '../../base/structures/serial.js';
import type { RecordRepository } from '../../meta/definitions/records.js';
import { checkId } from '../../meta/ids.js';
import type { PackageFolders } from '../../meta/packages/packages.js';
import type { Store } from '../../meta/store.js';
import { type Exportable, install, type Prepared } from '../../meta/transfer/exportable.js';
import { checkSameName, objectOf, textOf } from '../body/fields.js';
import { installErrors } from '../errors/installed.js';
import type { FunctionProvider, UserFunctions } from './user-functions.js';

export interface InstalledRecord {
  /** Package folder; empty when the record is all there is. */
  readonly folder: string;
}

export interface InstalledOptions<T extends InstalledRecord> {
  readonly store: Store;
  readonly records: RecordRepository<T>;
  readonly folders: PackageFolders;
  /** Noun for one in answers: `portable plugin`. */
  readonly noun: string;
  /** Name of the body member that holds the name. */
  readonly nameField?: string;
  /** Functions of all installed resources; names are unique among them. */
  readonly functions: UserFunctions;
}

type Body = Readonly<Record<string, unknown>>;

export abstract class InstalledService<T extends InstalledRecord> implements Exportable, FunctionProvider {
  /** Noun for one, in answers and in the owner of a function. */
  readonly kind: string;
  protected readonly records: RecordRepository<T>;
  protected readonly folders: PackageFolders;
  readonly #store: Store;
  readonly #nameField: string;
  readonly #userFunctions: UserFunctions;
  /** Serialises the changes of one resource. */
  readonly #serial = new Serial();

  constructor({ store, records, folders, noun, nameField = 'name', functions }: InstalledOptions<T>) {
    this.#store = store;
    this.records = records;
    this.folders = folders;
    this.kind = noun;
    this.#nameField = nameField;
    this.#userFunctions = functions;
    functions.add(this);
  }

  /** Checks a request, writes its files and returns the record; throws the reason of a refusal. */
  protected abstract read(name: string, body: Body): Promise<T>;

  /** The request that would install the resource again, for exports. */
  protected abstract requestOf(name: string, record: T): Record<string, unknown> | Promise<Record<string, unknown>>;

  /** Names of the functions of the resource. */
  protected abstract functionsOf(name: string, record: T): readonly string[];

  get version(): number {
    return this.records.version;
  }

  functions(): (readonly [string, string])[] {
    return this.records
      .list()
      .flatMap(([name, record]) => this.functionsOf(name, record).map((func) => [func, name] as const));
  }

  /** Called when a resource was installed, replaced or deleted, also by an import. */
  protected changed(_name: string): void | Promise<void> {}

  /** Another node of the cluster has installed, replaced or deleted the resource. */
  follow(name: string): Promise<void> {
    return this.#serial.run(name, () => this.changed(name));
  }

  async create(body: Body): Promise<string> {
    const { name } = await this.add(body);
    return `${this.kind} ${name} is created`;
  }

  /** Installs a new resource; resolves with its record. */
  protected add(body: Body): Promise<{ name: string; record: T }> {
    return inContext(`create ${this.kind} error`, async () => {
      const name = this.#nameOf(body);
      return this.#serial.run(name, async () => {
        if (this.records.has(name)) throw installErrors.exists(this.kind, name);
        await this.#install(name, body);
        return { name, record: this.get(name) };
      });
    });
  }

  /** Replaces an installed resource. */
  replace(name: string, body: Body): Promise<string> {
    return inContext(`update ${this.kind} error`, async () => {
      this.#checkName(name, body);
      await this.#serial.run(name, async () => {
        if (!this.records.has(name)) throw this.notFound(name);
        await this.#install(name, body);
      });
      return `${this.kind} ${name} is updated`;
    });
  }

  /** Replaces a resource, or installs it. */
  put(name: string, body: Body): Promise<string> {
    return inContext(`update ${this.kind} error`, async () => {
      this.#checkName(name, body);
      const isThere = await this.#serial.run(name, async () => {
        const isKnown = this.records.has(name);
        await this.#install(name, body);
        return isKnown;
      });
      return `${this.kind} ${name} is ${isThere ? 'updated' : 'created'}`;
    });
  }

  names(): string[] {
    return this.records.names();
  }

  delete(name: string): Promise<string> {
    return inContext(`delete ${this.kind} error`, () =>
      this.#serial.run(name, async () => {
        if (!this.records.has(name)) throw this.notFound(name);
        const folder = this.#folderOf(name);
        await this.records.delete(name);
        await this.folders.remove(folder);
        await this.changed(name);
        return `${this.kind} ${name} is deleted`;
      }),
    );
  }

  /** Removes files without a record, as a crash leaves them. */
  async sweep(): Promise<void> {
    await this.folders.sweep(this.records.list().map(([, { folder }]) => folder));
  }

  /** Resources with damaged files, with the reason. */
  async damaged(): Promise<[name: string, reason: string][]> {
    const found: [string, string][] = [];
    for (const [name, { folder }] of this.records.list()) {
      const reason = folder === '' ? undefined : await this.folders.damageOf(folder);
      // Meanwhile the item may have been replaced.
      if (reason !== undefined && this.#folderOf(name) === folder) found.push([name, reason]);
    }
    return found;
  }

  async export(): Promise<Record<string, string>> {
    const out: Record<string, string> = {};
    for (const [name] of this.records.list()) {
      // Serialised with changes of the files; a deleted resource is left out.
      await this.#serial.run(name, async () => {
        const record = this.records.get(name);
        if (record !== undefined) out[name] = JSON.stringify(await this.requestOf(name, record));
      });
    }
    return out;
  }

  check(name: string, value: string, isReset: boolean): Promise<Prepared> {
    const body = objectOf(value, `${this.kind} ${name}`);
    checkId(name);
    checkSameName(textOf(body, this.#nameField), name, this.#nameField);
    return this.#prepare(name, body, isReset);
  }

  clear(kept: ReadonlySet<string>): Prepared {
    const gone = this.records.names().filter((name) => !kept.has(name));
    const folders = gone.map((name) => this.#folderOf(name));
    return {
      changes: gone.map((name) => this.records.change(name, null)),
      apply: async () => {
        for (const folder of folders) await this.folders.remove(folder);
        for (const name of gone) await this.changed(name);
      },
    };
  }

  protected get(name: string): T {
    const record = this.records.get(name);
    if (record === undefined) throw this.notFound(name);
    return record;
  }

  /** Changes a record in place; `step` returns the new one and the answer. */
  protected change<R>(name: string, step: (record: T) => readonly [T, R]): Promise<R> {
    return this.#serial.run(name, async () => {
      const [record, answer] = step(this.get(name));
      this.checkFunctions(name, record);
      await this.records.put(name, record);
      return answer;
    });
  }

  protected notFound(name: string): HaumeaError {
    return installErrors.missing(this.kind, name);
  }

  #nameOf(body: Body): string {
    const name = textOf(body, this.#nameField);
    checkId(name);
    return name;
  }

  #checkName(name: string, body: Body): void {
    checkId(name);
    checkSameName(textOf(body, this.#nameField), name, this.#nameField);
  }

  /** Throws when the name of a function of the resource is taken. */
  protected checkFunctions(name: string, record: T, isReset = false): void {
    this.#userFunctions.checkFree(this.functionsOf(name, record), `${this.kind} ${name}`, isReset);
  }

  async #install(name: string, body: Body): Promise<void> {
    const prepared = await this.#prepare(name, body, false);
    try {
      // Checked again in the step that makes the change, so that no name can be taken meanwhile.
      this.#userFunctions.checkFree(prepared.functions ?? [], `${this.kind} ${name}`);
    } catch (error) {
      await prepared.discard?.();
      throw error;
    }
    await install(this.#store, prepared);
  }

  async #prepare(name: string, body: Body, isReset: boolean): Promise<Prepared> {
    const record = await this.read(name, body);
    try {
      this.checkFunctions(name, record, isReset);
    } catch (error) {
      await this.folders.remove(record.folder);
      throw error;
    }
    const old = this.#folderOf(name);
    return {
      changes: [this.records.change(name, record)],
      functions: this.functionsOf(name, record),
      apply: async () => {
        await this.folders.remove(old);
        await this.changed(name);
      },
      discard: (reason) => this.folders.takeBack(record.folder, reason),
    };
  }

  /** Folder of an item; undefined for an unreadable record, whose folder the next start removes. */
  #folderOf(name: string): string | undefined {
    try {
      return this.records.get(name)?.folder;
    } catch {
      return undefined;
    }
  }
}
