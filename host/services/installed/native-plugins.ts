/**
 * Native plugins: records only. Compiled libraries of another program can't be loaded here; the endpoints keep what
 * clients register, with the answers they are used to.
 */

import { inContext } from '../../base/errors.js';
import type { RecordShape } from '../../meta/definitions/records.js';
import { textsOf } from '../body/fields.js';
import { bodyErrors } from '../errors/body.js';
import type { ResourceFiles } from '../files/resource-files.js';
import { type InstalledOptions, InstalledService } from './installed.js';
import type { NativeKind, NativeRecord } from './native-record.js';

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
    const { readNative } = await import('./native-archive.js');
    return readNative(this.#part, name, body, this.#files);
  }

  protected override functionsOf(_name: string, { functions }: NativeRecord): readonly string[] {
    return functions;
  }

  protected override requestOf(name: string, record: NativeRecord): Record<string, unknown> {
    const { file, shellParas, functions } = record;
    return { name, file, shellParas, ...(this.#part === 'functions' ? { functions } : {}) };
  }
}
