/**
 * Native plugins: records only. Compiled libraries of another program can't be loaded here; the endpoints keep what
 * clients register, with the answers they are used to.
 */

import { inContext } from '../../base/errors.js';
import type { RecordShape } from '../../meta/definitions/records.js';
import { textOf, textsOf } from '../body/fields.js';
import { bodyErrors } from '../errors/body.js';
import { installErrors } from '../errors/installed.js';
import { withArchive } from '../files/archives.js';
import { type ResourceFiles, readResource } from '../files/resource-files.js';
import { type InstalledOptions, type InstalledRecord, InstalledService } from './installed.js';

export type NativeKind = 'sources' | 'sinks' | 'functions';

export interface NativeRecord extends InstalledRecord {
  readonly file: string;
  readonly version: string;
  readonly shellParas: readonly string[];
  /** Names of the functions of the plugin. */
  readonly functions: readonly string[];
}

export const nativeShape: RecordShape<NativeRecord> = { file: 'text', shellParas: 'list', functions: 'list' };

const restart = 'and eKuiper must restart for the change to take effect.';

export class NativePlugins extends InstalledService<NativeRecord> {
  readonly #part: NativeKind;
  readonly #files: ResourceFiles;

  constructor(part: NativeKind, options: Omit<InstalledOptions<NativeRecord>, 'noun'>, files: ResourceFiles) {
    super({ ...options, noun: `${part} plugin` });
    this.#part = part;
    this.#files = files;
  }

  describe(name: string): { name: string; version: string } {
    return inContext(`describe ${this.kind} error`, () => ({ name, version: this.get(name).version }));
  }

  override async replace(name: string, body: Readonly<Record<string, unknown>>): Promise<string> {
    await super.replace(name, body);
    return `plugin ${name} is updated ${restart}`;
  }

  async remove(name: string, isStopping: boolean): Promise<string> {
    return `${await this.delete(name)} ${isStopping ? 'and eKuiper will be stopped' : restart}`;
  }

  /** Replaces the names of a plugin's functions. */
  register(name: string, body: Readonly<Record<string, unknown>>): Promise<string> {
    return inContext(`register ${this.kind} error`, () =>
      this.change(name, (record) => {
        const functions = textsOf(body, 'functions');
        if (functions.length === 0) throw bodyErrors.missing('functions');
        return [{ ...record, functions }, `function plugin ${name} function list is registered`];
      }),
    );
  }

  protected override async read(name: string, body: Readonly<Record<string, unknown>>): Promise<NativeRecord> {
    const file = textOf(body, 'file');
    if (file === '') throw bodyErrors.missing('file');
    const shellParas = textsOf(body, 'shellParas');
    const given = textsOf(body, 'functions');
    const functions = this.#part === 'functions' && given.length === 0 ? [name] : given;
    const version = await withArchive(await readResource(file, this.#files), async ({ entries }) => {
      const library = entries.map((entry) => libraryOf(name, entry.name)).find((found) => found !== undefined);
      if (library === undefined) throw installErrors.noFile(`${name}.so`);
      if (this.#part !== 'functions' && !entries.some((entry) => entry.name === `${name}.yaml`)) {
        throw installErrors.noFile(`${name}.yaml`);
      }
      return library;
    });
    return { file, version, shellParas, functions, folder: '' };
  }

  protected override functionsOf(_name: string, { functions }: NativeRecord): readonly string[] {
    return functions;
  }

  protected override requestOf(name: string, record: NativeRecord): Record<string, unknown> {
    const { file, shellParas, functions } = record;
    return { name, file, shellParas, ...(this.#part === 'functions' ? { functions } : {}) };
  }
}

/** The version in the name of a library, `name@version.so`; undefined when this is not the library. */
function libraryOf(name: string, file: string): string | undefined {
  const match = /^(.+?)(?:@(.*))?\.so$/.exec(file);
  if (match === null) return undefined;
  const [, base = '', version = ''] = match;
  return base === name || base === name.charAt(0).toUpperCase() + name.slice(1) ? version : undefined;
}
