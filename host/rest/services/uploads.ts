/** Uploaded files: a flat folder that schemas, sources and imports may read. */
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { HaumeaError } from '../../base/errors.js';
import { Serial } from '../../base/serial.js';
import { writeDurable } from '../../meta/packages.js';
import type { Exportable, Prepared } from '../../meta/transfer/exportable.js';
import type { Form } from '../form.js';
import { inContext } from '../route.js';
import { objectOf, type ResourceFiles, readResource, textOf } from './resource-files.js';

const maxNameLength = 255;

export class UploadService implements Exportable {
  readonly #files: ResourceFiles;
  readonly #serial = new Serial();

  constructor(files: ResourceFiles) {
    this.#files = files;
  }

  /** Stores the file of a form; returns its path. */
  fromForm(form: Promise<Form>): Promise<string> {
    return inContext('upload error', async () => {
      const file = (await form).file('uploadFile');
      if (file === undefined) {
        throw new HaumeaError('general', 'invalid body: the form has no field uploadFile with a file');
      }
      return this.#write(file.name, file.bytes);
    });
  }

  /** Stores a text of the request or what a URI names; returns its path. */
  fromObject(body: Record<string, unknown>): Promise<string> {
    return inContext('upload error', async () => {
      const name = textOf(body, 'name');
      checkName(name);
      return this.#write(name, await this.#bytesOf(body));
    });
  }

  /** Paths of all files, ordered. */
  async list(): Promise<string[]> {
    return (await this.#names()).map((name) => join(this.#files.uploads, name));
  }

  delete(name: string): Promise<string> {
    return inContext('delete upload error', () =>
      this.#serial.run(name, async () => {
        checkName(name);
        if (!(await this.#names()).includes(name)) throw new HaumeaError('general', `file ${name} is not found`);
        await rm(join(this.#files.uploads, name));
        return 'ok';
      }),
    );
  }

  async export(): Promise<Record<string, string>> {
    const out: Record<string, string> = {};
    for (const name of await this.#names()) {
      const bytes = await readFile(join(this.#files.uploads, name));
      const text = bytes.toString();
      const content = Buffer.from(text).equals(bytes) ? { content: text } : { base64: bytes.toString('base64') };
      out[name] = JSON.stringify({ name, ...content });
    }
    return out;
  }

  async check(name: string, value: string): Promise<Prepared> {
    const body = objectOf(value, `upload ${name}`);
    checkName(name);
    const bytes = await this.#bytesOf(body);
    const path = join(this.#files.uploads, name);
    const { pending } = this.#files;
    pending.set(path, bytes);
    return {
      changes: [],
      apply: async () => {
        await this.#write(name, bytes).finally(() => pending.delete(path));
      },
      discard: () => void pending.delete(path),
    };
  }

  async clear(kept: ReadonlySet<string>): Promise<Prepared> {
    const gone = (await this.#names()).filter((name) => !kept.has(name));
    return {
      changes: [],
      apply: async () => {
        for (const name of gone) await rm(join(this.#files.uploads, name), { force: true });
      },
    };
  }

  async #bytesOf(body: Record<string, unknown>): Promise<Buffer> {
    const content = textOf(body, 'content');
    const file = textOf(body, 'file');
    if (content !== '' && file !== '') {
      throw new HaumeaError('general', 'invalid body: content and file are both given, only one is allowed');
    }
    if (file !== '') return readResource(file, this.#files);
    // Exports write files that are no text this way.
    if (typeof body.base64 === 'string') return Buffer.from(body.base64, 'base64');
    if (typeof body.content !== 'string') throw new HaumeaError('general', 'invalid body: content or file is required');
    return Buffer.from(content);
  }

  #write(name: string, bytes: Buffer): Promise<string> {
    checkName(name);
    const path = join(this.#files.uploads, name);
    return this.#serial.run(name, async () => {
      await writeDurable(path, bytes);
      return path;
    });
  }

  async #names(): Promise<string[]> {
    // Nothing was uploaded when the folder is not there.
    const entries = await readdir(this.#files.uploads, { withFileTypes: true }).catch(() => []);
    return entries
      .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
      .map(({ name }) => name)
      .sort();
  }
}

/** Throws unless the name stays within the folder and can't be taken for a hidden or temporary file. */
function checkName(name: string): void {
  const refuse = (reason: string) => {
    throw new HaumeaError('general', `invalid body: name ${JSON.stringify(name.slice(0, 80))} ${reason}`);
  };
  if (name === '') refuse('is required');
  if (name.startsWith('.')) refuse('must not begin with a dot');
  if (/[\\/]/.test(name)) refuse('must not hold folders');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(name)) refuse('has control characters');
  if (Buffer.byteLength(name) > maxNameLength) refuse(`is longer than ${maxNameLength} bytes`);
}
