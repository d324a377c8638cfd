/**
 * Secret references: a text property may name where its value is instead of holding it.
 *
 *     env://NAME         the environment variable NAME
 *     file://PATH        the content of a file, without its last line end
 *     {{env://NAME}}     either form inside a longer text, such as `tcp://{{env://BROKER}}:1883`
 *
 * References are stored, exported and shown as they are; they are resolved when a connector opens, so that a changed
 * secret is picked up by a restart of the rule. No error text and no log line holds a resolved value.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync } from 'node:fs';
import { isAbsolute, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HaumeaError } from './errors.js';
import { isSecretRef, maskText } from './secrets.js';

const wholeReference = /^(env|file):\/\/(\S.*)$/s;
const embeddedReference = /\{\{\s*((?:env|file):\/\/[^{}]*?)\s*\}\}/g;
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** A longer file is no secret but a mistake. */
const maxFileBytes = 64 * 1024;

export interface SecretOptions {
  /** What the properties belong to, the beginning of error texts: `mqtt source`. */
  readonly where?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Folders in which the files of references must be; any file of the machine when not given. */
  readonly folders?: readonly string[];
  /** Names of top-level properties whose `file://` texts are addresses of files, not references. */
  readonly keep?: readonly string[];
}

/** Properties with their references resolved. */
export interface Resolved<T> {
  readonly value: T;
  /** The resolved values. */
  readonly secrets: readonly string[];
  /** Replaces every resolved value that occurs in a text by the mask; for errors of libraries that saw the values. */
  redact(text: string): string;
}

/** Tells whether a value holds a reference at any depth. */
export function hasSecretRef(value: unknown): boolean {
  if (typeof value === 'string') return isSecretRef(value) || value.search(embeddedReference) >= 0;
  if (Array.isArray(value)) return value.some(hasSecretRef);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasSecretRef);
}

/**
 * Returns a copy of a value with the references in all its texts resolved. Throws a `config` error that names the
 * property and the reference.
 */
export function resolveSecrets<T>(value: T, options: SecretOptions = {}): Resolved<T> {
  const found = new Set<string>();
  const resolver = new Resolver(options, found);
  const resolved = resolver.copy(value, '') as T;
  const secrets = [...found].filter((text) => text !== '');
  return { value: resolved, secrets, redact: redactor(secrets) };
}

/** Makes a function that masks the values in a text, as they are and in the forms that URLs and JSON give them. */
export function redactor(secrets: readonly string[]): (text: string) => string {
  const forms = secrets.flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]);
  // Longer values first: one secret may be part of another.
  const values = [...new Set(forms)].sort((a, b) => b.length - a.length);
  return (text) => values.reduce((masked, secret) => masked.replaceAll(secret, maskText), text);
}

class Resolver {
  constructor(
    private readonly options: SecretOptions,
    private readonly found: Set<string>,
  ) {}

  copy(value: unknown, path: string): unknown {
    if (typeof value === 'string') return this.text(value, path);
    if (Array.isArray(value)) return value.map((item, i) => this.copy(item, `${path}[${i}]`));
    if (value === null || typeof value !== 'object' || value instanceof Uint8Array) return value;
    const entries = Object.entries(value).map(([name, item]) => {
      const isKept = path === '' && (this.options.keep?.includes(name) ?? false);
      return [name, isKept ? item : this.copy(item, path === '' ? name : `${path}.${name}`)] as const;
    });
    return Object.fromEntries(entries);
  }

  private text(text: string, path: string): string {
    if (isSecretRef(text)) return this.lookUp(text, path);
    return text.replace(embeddedReference, (_all, reference: string) => this.lookUp(reference, path));
  }

  private lookUp(reference: string, path: string): string {
    const fail = (reason: string): never => {
      const where = this.options.where === undefined ? '' : `${this.options.where}: `;
      const property = path === '' ? '' : `property ${path}: `;
      throw new HaumeaError('config', `${where}${property}reference ${reference}: ${reason}`);
    };
    const [, scheme, target] = wholeReference.exec(reference) ?? fail('the name behind :// is missing');
    const value = scheme === 'env' ? this.variable(target as string, fail) : this.file(reference, fail);
    this.found.add(value);
    return value;
  }

  private variable(name: string, fail: (reason: string) => never): string {
    if (!variableName.test(name)) return fail('this is no name of an environment variable');
    return (this.options.env ?? process.env)[name] ?? fail('the environment variable is not set');
  }

  private file(reference: string, fail: (reason: string) => never): string {
    let handle: number;
    try {
      const path = realpathSync(pathOf(reference));
      if (!isInside(path, this.options.folders)) return fail('the file is outside of the folders allowed for secrets');
      // Without O_NONBLOCK a pipe would hold the process until somebody writes to it.
      handle = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    } catch (error) {
      if (error instanceof HaumeaError) throw error;
      return fail(`the file can't be read (${reasonCode(error)})`);
    }
    try {
      const stat = fstatSync(handle);
      if (!stat.isFile()) return fail('this is not a regular file');
      if (stat.size > maxFileBytes) return fail(`the file has more than ${maxFileBytes} bytes`);
      return decode(readFileSync(handle)) ?? fail('the file is not UTF-8 text');
    } finally {
      closeSync(handle);
    }
  }
}

/** `file:///etc/key` is a URI; anything else behind the two slashes is a path from the working folder. */
function pathOf(reference: string): string {
  return reference.startsWith('file:///') ? fileURLToPath(reference) : reference.slice('file://'.length);
}

function isInside(path: string, folders: readonly string[] | undefined): boolean {
  if (folders === undefined) return true;
  return folders.some((folder) => {
    let way: string;
    try {
      way = relative(realpathSync(folder), path);
    } catch {
      // A folder that is not there holds no files.
      return false;
    }
    return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
  });
}

function decode(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/\r?\n$/, '');
  } catch {
    return undefined;
  }
}

/** The system's code only: its message would repeat the path. */
function reasonCode(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'invalid path';
}
