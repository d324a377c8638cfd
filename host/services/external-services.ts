/** External services: archives that describe them, and the functions they bring. */
import { withArchive } from '../base/archive.js';
import { HaumeaError, inContext } from '../base/errors.js';
import { maskByName } from '../base/secrets.js';
import type { RecordShape } from '../meta/records.js';
import { type InstalledOptions, InstalledService } from './installed.js';
import { type ResourceFiles, readResource, textOf } from './resource-files.js';
import { readService, type ServiceDefinition, type ServiceFunction } from './service-definition.js';

export interface ServiceRecord {
  readonly file: string;
  readonly folder: string;
  readonly definition: ServiceDefinition;
  readonly functions: readonly ServiceFunction[];
}

export const serviceShape: RecordShape<ServiceRecord> = {
  file: 'text',
  folder: 'text',
  definition: 'object',
  functions: 'list',
};

export class ExternalServices extends InstalledService<ServiceRecord> {
  readonly #files: ResourceFiles;

  constructor(options: InstalledOptions<ServiceRecord>, files: ResourceFiles) {
    super(options);
    this.#files = files;
  }

  describe(name: string): ServiceDefinition {
    return inContext('describe service error', () => maskByName(this.get(name).definition) as ServiceDefinition);
  }

  listFunctions(): readonly ServiceFunction[] {
    return this.#all();
  }

  describeFunction(name: string): ServiceFunction {
    return inContext('describe function error', () => {
      const found = this.#all().find(({ FuncName }) => FuncName === name);
      if (found === undefined) throw new HaumeaError('notFound', `function ${name} is not found`);
      return found;
    });
  }

  protected override async read(name: string, body: Readonly<Record<string, unknown>>): Promise<ServiceRecord> {
    const file = textOf(body, 'file');
    if (file === '') throw new HaumeaError('general', 'invalid body: file is required');
    return withArchive(await readResource(file, this.#files), async (archive) => {
      const { definition, functions } = await readService(name, archive);
      const folder = await this.folders.add(name, (path) => archive.unpack(path));
      return { file, folder, definition, functions };
    });
  }

  protected override functionsOf(_name: string, { functions }: ServiceRecord): readonly string[] {
    return functions.map(({ FuncName }) => FuncName);
  }

  protected override requestOf(name: string, { file }: ServiceRecord): Record<string, unknown> {
    return { name, file };
  }

  #all(): ServiceFunction[] {
    return this.records.list().flatMap(([, { functions }]) => functions);
  }
}
