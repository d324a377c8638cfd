import { join } from 'node:path';
import { type HaumeaError, inContext, reasonOf } from '../../base/errors.js';
import type { Logger } from '../../base/log/log.js';
import { Serial } from '../../base/structures/serial.js';
import type { RecordRepository, RecordShape } from '../../meta/definitions/records.js';
import { checkId } from '../../meta/ids.js';
import type { PackageFolders } from '../../meta/packages/packages.js';
import type { Store } from '../../meta/store.js';
import { type Exportable, install, type Prepared } from '../../meta/transfer/exportable.js';
import type { SchemaEntry } from '../../sql/describe.js';
import { checkSameName, objectOf, textOf } from '../body/fields.js';
import type { Form, FormFile } from '../body/form.js';
import { Outcome } from '../body/outcome.js';
import { schemaErrors } from '../errors/schemas.js';
import { type ResourceFiles, readResource } from '../files/resource-files.js';
import { ProtobufSchemas } from './protobuf-schemas.js';
import type { SchemaRequest } from './requests.js';
import { checkType, extensions } from './schema-types.js';
import type { SchemaUser } from './schema-users.js';

export interface SchemaRecord {
  readonly content: string;
  /** URI of the schema; empty for texts in the request and for uploads. */
  readonly file: string;
  readonly soFile: string;
  /** WebAssembly plugin with the codecs of the schema; left out where the schema names none. */
  readonly plugin?: string;
  readonly version: string;
  /** Package folder with the files. */
  readonly folder: string;
}

export const schemaShape: RecordShape<SchemaRecord> = {
  content: 'text',
  file: 'text',
  soFile: 'text',
  version: 'text',
  folder: 'text',
};

export interface DescribedSchema {
  readonly type: string;
  readonly name: string;
  readonly content: string;
  /** Path of the stored file. */
  readonly file: string;
  readonly soFile?: string;
  readonly plugin?: string;
  readonly version?: string;
}

/** Throws when there is no plugin of the name, or none with codecs. */
type CheckPlugin = (name: string) => void;

export class SchemaService implements Exportable {
  readonly #store: Store;
  readonly #schemas: RecordRepository<SchemaRecord>;
  readonly #folders: PackageFolders;
  readonly #files: ResourceFiles;
  readonly #checkPlugin: CheckPlugin;
  /** One change of a schema at a time. */
  readonly #serial = new Serial();

  constructor(
    store: Store,
    schemas: RecordRepository<SchemaRecord>,
    folders: PackageFolders,
    files: ResourceFiles,
    checkPlugin: CheckPlugin,
    /** Who names messages of schemas of type protobuf. */
    private readonly users: () => readonly SchemaUser[] = () => [],
    private readonly log?: Logger,
  ) {
    this.#store = store;
    this.#checkPlugin = checkPlugin;
    this.#schemas = schemas;
    this.#folders = folders;
    this.#files = files;
  }

  create(type: string, body: Record<string, unknown>): Promise<Outcome> {
    return inContext(`create ${type} schema error`, async () => {
      const { requestOf } = await import('./requests.js');
      const request = requestOf(type, body);
      await this.#serial.run(keyOf(type, request.name), async () => {
        if (this.#schemas.has(keyOf(type, request.name))) {
          throw schemaErrors.exists(request.name);
        }
        this.#checkPluginOf(request);
        await this.#install(request);
      });
      return new Outcome(`${type} schema ${request.name} is created`, [], this.#faults(type, request.name));
    });
  }

  /** Replaces a schema by one of a greater version, or creates it. */
  replace(type: string, name: string, body: Record<string, unknown>): Promise<string | Outcome> {
    return inContext(`update ${type} schema error`, async () => {
      checkSameName(textOf(body, 'name'), name);
      const { requestOf } = await import('./requests.js');
      const request = requestOf(type, { ...body, name });
      this.#checkPluginOf(request);
      const change = () => this.#serial.run(keyOf(type, name), () => this.#update(request));
      const { warnings } = await this.#watched(type, change);
      return new Outcome(`${type} schema ${name} is updated`, warnings, this.#faults(type, name));
    });
  }

  /** Why the text that was stored is no schema: clients store it all the same, so their answer stays as it is. */
  #faults(type: string, name: string): string[] {
    const fault = type === 'protobuf' ? this.protobuf.faultOf(name) : undefined;
    if (fault === undefined) return [];
    this.log?.warn(fault);
    return [fault];
  }

  /** Makes a change, and says which users of schemas can't find their messages any more. */
  async #watched<T>(type: string, change: () => Promise<T>): Promise<{ result: T; warnings: readonly string[] }> {
    const before = new Set(type === 'protobuf' ? this.#unfounded() : []);
    const result = await change();
    const warnings = type === 'protobuf' ? this.#unfounded().filter((warning) => !before.has(warning)) : [];
    return { result, warnings };
  }

  /** Users whose messages are not there, with the reason. */
  #unfounded(): string[] {
    const found = this.users().flatMap(({ who, schemaId }) => {
      try {
        this.protobuf.types(schemaId);
        return [];
      } catch (error) {
        return [`${who} runs on until it is stopped, and can't start again: ${reasonOf(error)}`];
      }
    });
    return [...new Set(found)];
  }

  /** Takes the uploaded file as the schema. */
  upload(type: string, name: string, form: Promise<Form>): Promise<{ isNew: boolean; warnings: readonly string[] }> {
    return inContext(`upload ${type} schema error`, async () => {
      // First of all: a refusal before it would leave a form that can't be read rejected with nobody to catch it.
      const parts = await form;
      checkType(type);
      checkId(name);
      const { uploadedFile } = await import('./requests.js');
      const file = uploadedFile(parts);
      if (type === 'custom') throw schemaErrors.noUpload();
      const version = parts.text('version') ?? '';
      const request: SchemaRequest = { type, name, content: '', file: '', soFile: '', plugin: '', version };
      const change = () => this.#serial.run(keyOf(type, name), () => this.#update(request, file));
      const { result: isNew, warnings } = await this.#watched(type, change);
      return { isNew, warnings: [...warnings, ...this.#faults(type, name)] };
    });
  }

  names(type: string): string[] {
    return inContext(`list ${type} schemas error`, () => {
      checkType(type);
      const prefix = `${type}/`;
      return this.#schemas
        .names()
        .filter((key) => key.startsWith(prefix))
        .map((key) => key.slice(prefix.length));
    });
  }

  describe(type: string, name: string): DescribedSchema {
    return inContext(`describe ${type} schema error`, () => {
      const { content, folder, soFile, plugin = '', version } = this.#get(type, name);
      return {
        type,
        name,
        content,
        file: folder === '' ? '' : join(this.#folders.path(folder), name + extensions[type]),
        ...(soFile === '' ? {} : { soFile }),
        ...(plugin === '' ? {} : { plugin }),
        ...(version === '' ? {} : { version }),
      };
    });
  }

  /** Text of a schema; throws when there is none of the name. */
  text(type: string, name: string): string {
    const record = this.#schemas.get(keyOf(type, name));
    if (record === undefined) throw schemaErrors.missingOfType(type, name);
    return record.content;
  }

  /** Columns of messages, as the format that reads them by the schema says; `name` or `name.Type` as in SCHEMAID. */
  async columns(type: string, schemaId: string): Promise<Record<string, SchemaEntry>> {
    const { columnsOf } = await import('./schema-columns.js');
    return columnsOf(type, schemaId, (name) => this.text(type, name));
  }

  /** Messages of the schemas of type protobuf. */
  readonly protobuf = new ProtobufSchemas({
    get: (name) => {
      if (!this.#schemas.has(keyOf('protobuf', name))) return undefined;
      const { content, file, soFile = '' } = this.describe('protobuf', name);
      return { content, file, soFile };
    },
    version: () => this.#schemas.version,
  });

  /** The plugin that a schema of type custom names, empty when it names none; undefined without such a schema. */
  pluginOf(name: string): string | undefined {
    const record = this.#schemas.get(keyOf('custom', name));
    return record && (record.plugin ?? '');
  }

  /** Checks the plugin that a request names; imports skip this, since they may bring the plugin later. */
  #checkPluginOf({ plugin }: SchemaRequest): void {
    if (plugin !== '') this.#checkPlugin(plugin);
  }

  delete(type: string, name: string): Promise<string | Outcome> {
    return inContext(`delete ${type} schema error`, () =>
      this.#serial.run(keyOf(type, name), async () => {
        checkType(type);
        if (!this.#schemas.has(keyOf(type, name))) throw notFound(name);
        const folder = this.#readable(keyOf(type, name))?.folder;
        const { warnings } = await this.#watched(type, () => this.#schemas.delete(keyOf(type, name)));
        await this.#folders.remove(folder);
        return new Outcome(`${type} schema ${name} is deleted`, warnings);
      }),
    );
  }

  /** Removes files without a record, as a crash leaves them. */
  async sweep(): Promise<void> {
    await this.#folders.sweep(this.#schemas.list().map(([, { folder }]) => folder));
  }

  /** Schemas whose files a disk has damaged, with the reason. */
  async damaged(): Promise<[name: string, reason: string][]> {
    const found: [string, string][] = [];
    for (const [key, { folder }] of this.#schemas.list()) {
      const reason = folder ? await this.#folders.damageOf(folder) : undefined;
      if (reason !== undefined && this.#readable(key)?.folder === folder) found.push([key, reason]);
    }
    return found;
  }

  export(): Record<string, string> {
    return Object.fromEntries(
      this.#schemas.list().map(([key, { content, file, soFile, plugin, version }]) => {
        const [type = '', name = ''] = key.split('/');
        // Archives and uploads are exported by the text of the schema itself.
        const source = file === '' ? { content } : { file };
        return [
          `${type}_${name}`,
          JSON.stringify({ type, name, ...source, soFile, ...(plugin && { plugin }), version }),
        ];
      }),
    );
  }

  async check(name: string, value: string): Promise<Prepared> {
    const body = objectOf(value, `schema ${name}`);
    const at = name.indexOf('_');
    const type = textOf(body, 'type') || name.slice(0, Math.max(0, at));
    const { requestOf } = await import('./requests.js');
    return this.#prepare(requestOf(type, { name: name.slice(at + 1), ...body }));
  }

  clear(kept: ReadonlySet<string>): Prepared {
    const gone = this.#schemas.names().filter((key) => !kept.has(key.replace('/', '_')));
    const folders = gone.map((key) => this.#readable(key)?.folder);
    return {
      changes: gone.map((key) => this.#schemas.change(key, null)),
      apply: async () => {
        for (const folder of folders) await this.#folders.remove(folder);
      },
    };
  }

  /** Returns true when the schema was not there before. */
  async #update(request: SchemaRequest, given?: FormFile): Promise<boolean> {
    const { type, name, version } = request;
    const old = this.#readable(keyOf(type, name));
    if (old !== undefined && old.version !== '' && !(version > old.version)) {
      const given = version === '' ? 'without a version' : `of version ${version}`;
      throw schemaErrors.oldVersion(name, old.version, given);
    }
    await this.#install(request, given);
    return old === undefined;
  }

  async #install(request: SchemaRequest, given?: FormFile): Promise<void> {
    await install(this.#store, await this.#prepare(request, given));
  }

  /** Lays the files down and says what to store. */
  async #prepare(request: SchemaRequest, given?: FormFile): Promise<Prepared> {
    const { type, name, file, soFile, plugin, version } = request;
    const key = keyOf(type, name);
    // Nothing loads the library, but a URI that names nothing is a mistake in the request.
    if (soFile !== '') await readResource(soFile, this.#files);
    const source = given?.bytes ?? (file === '' ? Buffer.from(request.content) : await readResource(file, this.#files));
    let content = '';
    let folder = '';
    if (given !== undefined || file !== '' || request.content !== '') {
      const main = name + extensions[type];
      const { layDown } = await import('./requests.js');
      folder = await this.#folders.add(name, async (path) => {
        content = await layDown(request, { bytes: source, name: given?.name ?? file }, path, main);
      });
    }
    const old = this.#readable(key)?.folder;
    return {
      changes: [this.#schemas.change(key, { content, file, soFile, version, folder, ...(plugin && { plugin }) })],
      apply: () => this.#folders.remove(old),
      discard: (reason) => this.#folders.takeBack(folder, reason),
    };
  }

  #get(type: string, name: string): SchemaRecord {
    checkType(type);
    const record = this.#schemas.get(keyOf(type, name));
    if (record === undefined) throw notFound(name);
    return record;
  }

  /**
   * The stored schema, unless its record is damaged: another may take its place then, the next start removes its
   * folder.
   */
  #readable(key: string): SchemaRecord | undefined {
    try {
      return this.#schemas.get(key);
    } catch {
      return undefined;
    }
  }
}

function notFound(name: string): HaumeaError {
  return schemaErrors.notThere(name);
}

function keyOf(type: string, name: string): string {
  return `${type}/${name}`;
}
