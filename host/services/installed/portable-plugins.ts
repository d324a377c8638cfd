/** Portable plugins: programs in archives with a description of what they bring. */

import { inContext } from '../../base/errors.js';
import type { RecordShape } from '../../meta/definitions/records.js';
import { objectOf, textOf, textsOf } from '../body/fields.js';
import { bodyErrors } from '../errors/body.js';
import { installErrors } from '../errors/installed.js';
import { withArchive } from '../files/archives.js';
import { type ResourceFiles, readResource } from '../files/resource-files.js';
import { type InstalledOptions, type InstalledRecord, InstalledService } from './installed.js';

/** Description of a plugin, from its `<name>.json`. */
export interface PortableDescription {
  readonly version: string;
  readonly language: string;
  readonly executable: string;
  readonly sources: readonly string[];
  readonly sinks: readonly string[];
  readonly functions: readonly string[];
}

export interface PortableRecord extends InstalledRecord, PortableDescription {
  readonly file: string;
  readonly shellParas: readonly string[];
}

export const portableShape: RecordShape<PortableRecord> = {
  folder: 'text',
  file: 'text',
  sources: 'list',
  sinks: 'list',
  functions: 'list',
};

/** Status of the process of a plugin. */
export interface PortableStatus {
  /** Uses by rule. */
  readonly refCount: Readonly<Record<string, number>>;
  readonly status: string;
  readonly errMsg: string;
  readonly pid?: number;
}

/** Returns the status of a plugin's process; undefined when nothing runs it. */
export type StatusOf = (name: string) => PortableStatus | undefined;

const languages = ['go', 'python'];

export class PortablePlugins extends InstalledService<PortableRecord> {
  readonly #files: ResourceFiles;
  readonly #statusOf: StatusOf;

  constructor(options: InstalledOptions<PortableRecord>, files: ResourceFiles, statusOf: StatusOf) {
    super(options);
    this.#files = files;
    this.#statusOf = statusOf;
  }

  /** The status of the process with the plugin's own description. */
  describe(name: string): { name: string } & PortableDescription & PortableStatus {
    return inContext(`describe ${this.kind} error`, () => {
      const { version, language, executable, sources, sinks, functions } = this.get(name);
      return { name, version, language, executable, sources, sinks, functions, ...this.#state(name) };
    });
  }

  status(name: string): PortableStatus {
    return inContext(`get status of ${this.kind} error`, () => {
      this.get(name);
      return this.#state(name);
    });
  }

  #state(name: string): PortableStatus {
    return this.#statusOf(name) ?? { refCount: {}, status: 'stopped', errMsg: 'this server runs no plugin processes' };
  }

  protected override async read(name: string, body: Readonly<Record<string, unknown>>): Promise<PortableRecord> {
    const file = textOf(body, 'file');
    if (file === '') throw bodyErrors.missing('file');
    const shellParas = textsOf(body, 'shellParas');
    return withArchive(await readResource(file, this.#files), async (archive) => {
      const hasFile = (path: string) => archive.entries.some((entry) => entry.name === path && !entry.isFolder);
      const main = `${name}.json`;
      if (!hasFile(main)) throw installErrors.noFile(main);
      const described = descriptionOf(objectOf((await archive.read(main)).toString(), main), main);
      if (!hasFile(described.executable)) {
        throw installErrors.noExecutable(described.executable, main);
      }
      this.#checkConnectors(name, described);
      const folder = await this.folders.add(name, (path) => archive.unpack(path));
      return { file, shellParas, folder, ...described };
    });
  }

  protected override functionsOf(_name: string, { functions }: PortableRecord): readonly string[] {
    return functions;
  }

  protected override requestOf(name: string, { file, shellParas }: PortableRecord): Record<string, unknown> {
    return { name, file, shellParas };
  }

  #checkConnectors(name: string, described: PortableDescription): void {
    for (const [other, record] of this.records.list()) {
      if (other === name) continue;
      for (const part of ['sources', 'sinks'] as const) {
        const taken = described[part].find((one) => record[part].includes(one));
        if (taken !== undefined) {
          throw installErrors.nameTaken(part.slice(0, -1), taken, this.kind, other);
        }
      }
    }
  }
}

function descriptionOf(json: Record<string, unknown>, main: string): PortableDescription {
  const refuse = (reason: string) => installErrors.description(main, reason);
  const described: PortableDescription = {
    version: textOf(json, 'version'),
    language: textOf(json, 'language'),
    executable: textOf(json, 'executable'),
    sources: textsOf(json, 'sources'),
    sinks: textsOf(json, 'sinks'),
    functions: textsOf(json, 'functions'),
  };
  if (!languages.includes(described.language)) throw refuse(`language must be one of ${languages.join(', ')}`);
  if (described.executable === '') throw refuse('executable is required');
  if (described.sources.length + described.sinks.length + described.functions.length === 0) {
    throw refuse('there must be at least one source, sink or function');
  }
  return described;
}
