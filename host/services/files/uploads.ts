/**
 * Uploaded files: a folder that schemas, sources and imports may read. Names may lead through folders, `certs/ca.pem`.
 */
import { readdir, readFile, rm, rmdir } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { inContext } from '../../base/errors.js';
import { Serial } from '../../base/structures/serial.js';
import { writeDurable } from '../../meta/packages/packages.js';
import type { Exportable, Prepared } from '../../meta/transfer/exportable.js';
import { bytesOf, checkSameName, objectOf, textOf } from '../body/fields.js';
import type { Form } from '../body/form.js';
import { bodyErrors } from '../errors/body.js';
import { serverErrors } from '../errors/server.js';
import { type ResourceFiles, readResource } from './resource-files.js';

/** Longest names that file systems take, bytes: one part of a name, and the whole. */
const maxPartLength = 255;
const maxNameLength = 1024;
/** Files that `writeDurable` has not finished. */
const unfinishedForm = /\/\.new-[0-9a-f]{12}$/;

export class UploadService implements Exportable {
  readonly #files: ResourceFiles;
  /** One change at a time of a file, or of the files of a folder. */
  readonly #serial = new Serial();

  constructor(files: ResourceFiles) {
    this.#files = files;
  }

  /** Stores the file of a form; returns its path. */
  fromForm(form: Promise<Form>): Promise<string> {
    return inContext('upload error', async () => {
      const file = (await form).file('uploadFile');
      if (file === undefined) {
        throw serverErrors.noUpload();
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
      this.#serial.run(topOf(name), async () => {
        checkName(name);
        if (!(await this.#names()).includes(name)) throw serverErrors.uploadMissing(name);
        await this.#remove(name);
        return 'ok';
      }),
    );
  }

  /** Removes files whose write a crash has cut short. */
  async sweep(): Promise<void> {
    const paths = await filesIn(this.#files.uploads);
    for (const path of paths) if (unfinishedForm.test(path)) await rm(path, { force: true });
  }

  async export(): Promise<Record<string, string>> {
    const out: Record<string, string> = {};
    for (const name of await this.#names()) {
      const bytes = await this.#contentOf(name);
      if (bytes === undefined) continue;
      const text = bytes.toString();
      const content = Buffer.from(text).equals(bytes) ? { content: text } : { base64: bytes.toString('base64') };
      out[name] = JSON.stringify({ name, ...content });
    }
    return out;
  }

  async check(name: string, value: string, isReset: boolean): Promise<Prepared> {
    const body = objectOf(value, `upload ${name}`);
    checkName(name);
    checkSameName(textOf(body, 'name'), name);
    const bytes = await this.#bytesOf(body);
    const path = join(this.#files.uploads, name);
    const { pending } = this.#files;
    const others = [...pending.keys()].map((other) => this.#nameOf(other));
    checkPlace(name, isReset ? others : [...others, ...(await this.#names())]);
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
        for (const name of gone) await this.#serial.run(topOf(name), () => this.#remove(name));
      },
    };
  }

  async #bytesOf(body: Record<string, unknown>): Promise<Buffer> {
    const content = textOf(body, 'content');
    const file = textOf(body, 'file');
    if (content !== '' && file !== '') {
      throw bodyErrors.bothOf('content', 'file');
    }
    if (file !== '') return readResource(file, this.#files);
    // Exports write files that are no text this way.
    if (Object.hasOwn(body, 'base64')) return bytesOf(body, 'base64');
    if (typeof body.content !== 'string') throw bodyErrors.missingOf('content', 'file');
    return Buffer.from(content);
  }

  async #write(name: string, bytes: Buffer): Promise<string> {
    checkName(name);
    const path = this.#files.paths.check(join(this.#files.uploads, name));
    return this.#serial.run(topOf(name), async () => {
      checkPlace(name, await this.#names());
      await this.#files.shared?.put(name, bytes);
      await writeDurable(path, bytes);
      return path;
    });
  }

  /** Removes a file, and the folders that are empty without it. */
  async #remove(name: string): Promise<void> {
    await this.#files.shared?.remove(name);
    await rm(join(this.#files.uploads, name), { force: true });
    for (let folder = posix.dirname(name); folder !== '.'; folder = posix.dirname(folder)) {
      const isEmpty = await rmdir(join(this.#files.uploads, folder)).then(
        () => true,
        () => false,
      );
      if (!isEmpty) return;
    }
  }

  /** Names of all files, ordered. */
  /** Bytes of a file; undefined when it has been deleted. */
  #contentOf(name: string): Promise<Buffer | undefined> {
    return readFile(join(this.#files.uploads, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
  }

  async #names(): Promise<string[]> {
    const paths = await filesIn(this.#files.uploads);
    return paths
      .map((path) => this.#nameOf(path))
      .filter((name) => !name.split('/').some((part) => part.startsWith('.')))
      .sort();
  }

  #nameOf(path: string): string {
    return path.slice(this.#files.uploads.length + 1);
  }
}

/** Paths of all files below a folder; none when it is not there. */
async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const found = entries.map((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesIn(path);
    return entry.isFile() ? [path] : [];
  });
  return (await Promise.all(found)).flat();
}

/** The first part of a name: changes below it wait for each other. */
function topOf(name: string): string {
  const [top = ''] = name.split('/', 1);
  return top;
}

/** Throws unless the name stays within the folder and can't be taken for a hidden or temporary file. */
function checkName(name: string): void {
  const refuse = (reason: string) => {
    throw serverErrors.uploadName(JSON.stringify(name.slice(0, 80)), reason);
  };
  if (name === '') refuse('is required');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(name)) refuse('has control characters');
  if (name.includes('\\')) refuse('must not hold backslashes');
  if (Buffer.byteLength(name) > maxNameLength) refuse(`is longer than ${maxNameLength} bytes`);
  for (const part of name.split('/')) {
    if (part === '') refuse('has a folder without a name');
    if (part.startsWith('.')) refuse('must not have a part that begins with a dot');
    if (Buffer.byteLength(part) > maxPartLength) refuse(`has a part longer than ${maxPartLength} bytes`);
  }
}

/** Throws when a file would have to be where a folder is, or the other way round. */
function checkPlace(name: string, others: readonly string[]): void {
  const below = others.find((other) => other.startsWith(`${name}/`));
  if (below !== undefined) throw serverErrors.uploadOnFolder(name, below);
  const above = others.find((other) => name.startsWith(`${other}/`));
  if (above !== undefined) throw serverErrors.uploadInFile(name, above);
}
