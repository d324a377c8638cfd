/**
 * Secret references: a property that is declared secret may name where its value is instead of holding it.
 *
 *     env://NAME         the environment variable NAME
 *     file://PATH        the content of a file, without its last line end
 *     {{env://NAME}}     either form inside a longer text, such as `user-{{env://HAUMEA_SECRET_SUFFIX}}`
 *
 * Only variables and folders that the operator allows are looked at, and no property but secret ones is resolved:
 * whoever may write properties must not read the server's files and environment by them.
 *
 * References are stored, exported and shown as they are; they are resolved when a connector opens, so that a changed
 * secret is picked up by a restart of the rule. No error text and no log line holds a resolved value.
 */

import { closeSync, fstatSync, readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HaumeaError } from '../errors.js';
import { findField, type Spec } from '../fields/field.js';
import { isSecretRef } from '../fields/secret-fields.js';
import { AllowedPaths } from '../files/allowed-paths.js';
import { isObject } from '../structures/is-object.js';
import { secretErrors } from './errors.js';
import { redactor } from './redact.js';

const wholeReference = /^(env|file):\/\/(\S.*)$/s;
const embeddedReference = /\{\{\s*((?:env|file):\/\/[^{}]*?)\s*\}\}/g;
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** A longer file is no secret but a mistake. */
const maxFileBytes = 64 * 1024;

/** Sources of secrets that references may name (`basic.secrets`). */
export interface SecretSources {
  /** Names of environment variables; a `*` at the end stands for all names that begin so. */
  readonly variables: readonly string[];
  /** Folders of secret files, absolute; a relative path is looked for in each, in this order. */
  readonly folders: readonly string[];
}

export interface SecretOptions {
  readonly sources: SecretSources;
  /** Owner of the properties, with which error texts begin: `mqtt source`. */
  readonly where?: string;
  /** Allowed references to missing secrets stay unresolved: for properties that are not used yet. */
  readonly mayMiss?: boolean;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** Properties with their references resolved. */
export interface Resolved<T> {
  readonly value: T;
  /** The resolved values. */
  readonly secrets: readonly string[];
  /** Masks every resolved value in a text, as for errors of libraries that got the values. */
  redact(text: string): string;
}

/**
 * Returns properties with the references in secret ones resolved, the same object when there are none. Throws a
 * `config` error that names the property and the reference, also for a reference in a property that is not secret.
 */
export function resolveSecrets<T extends Readonly<Record<string, unknown>>>(
  spec: Spec,
  props: T,
  options: SecretOptions,
): Resolved<T> {
  const found = new Set<string>();
  const value = new Resolver(options, found).object(spec, props, '') as T;
  const secrets = [...found].filter((text) => text !== '');
  return { value, secrets, redact: redactor(secrets) };
}

/** Reason why a reference has no value now. */
interface Missing {
  readonly missing: string;
}

class Resolver {
  constructor(
    private readonly options: SecretOptions,
    private readonly found: Set<string>,
  ) {}

  object(spec: Spec, props: Readonly<Record<string, unknown>>, path: string): Readonly<Record<string, unknown>> {
    let isChanged = false;
    const entries = Object.entries(props).map(([name, value]) => {
      const at = path === '' ? name : `${path}.${name}`;
      const declared = findField(spec, name)?.declared;
      let resolved = value;
      if (declared?.isSecret) resolved = this.#copy(value, at);
      else if (declared?.fields !== undefined && isObject(value)) resolved = this.object(declared.fields, value, at);
      else if (declared !== undefined && typeof value === 'string') this.#refuseReference(value, at);
      isChanged ||= resolved !== value;
      return [name, resolved] as const;
    });
    // Thousands of rules have no secrets: they share what was given.
    return isChanged ? Object.fromEntries(entries) : props;
  }

  /** A whole text that is a file URI may be meant literally, as the address of a file. */
  #refuseReference(text: string, path: string): void {
    const [embedded] = text.match(embeddedReference) ?? [];
    const reference = /^env:\/\/\S/.test(text) ? text : embedded;
    if (reference !== undefined) {
      throw this.#failure(path, reference, 'only properties declared secret, such as password, may refer to secrets');
    }
  }

  #copy(value: unknown, path: string): unknown {
    if (typeof value === 'string') return this.#text(value, path);
    if (Array.isArray(value)) return value.map((item, i) => this.#copy(item, `${path}[${i}]`));
    if (!isObject(value) || value instanceof Uint8Array) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, this.#copy(item, `${path}.${name}`)] as const),
    );
  }

  #text(text: string, path: string): string {
    if (isSecretRef(text)) return this.#lookUp(text, path);
    return text.replace(embeddedReference, (_all, reference: string) => this.#lookUp(reference, path));
  }

  #lookUp(reference: string, path: string): string {
    const fail = (reason: string): never => {
      throw this.#failure(path, reference, reason);
    };
    const [, scheme, target] = wholeReference.exec(reference) ?? fail('the name behind :// is missing');
    const value = scheme === 'env' ? this.#variable(target as string, fail) : this.#file(reference, fail);
    if (typeof value !== 'string') return this.options.mayMiss ? reference : fail(value.missing);
    this.found.add(value);
    return value;
  }

  #failure(path: string, reference: string, reason: string): HaumeaError {
    const where = this.options.where === undefined ? '' : `${this.options.where}: `;
    return secretErrors.reference(where, path, reference, reason);
  }

  #variable(name: string, fail: (reason: string) => never): string | Missing {
    if (!variableName.test(name)) return fail('this is no name of an environment variable');
    const { variables } = this.options.sources;
    const isAllowed = (pattern: string) =>
      pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
    if (!variables.some(isAllowed)) {
      return fail(`the variable is none of those that basic.secrets.variables allows (${variables.join(', ')})`);
    }
    return (this.options.env ?? process.env)[name] ?? { missing: 'the environment variable is not set' };
  }

  #file(reference: string, fail: (reason: string) => never): string | Missing {
    const { folders } = this.options.sources;
    const paths = folders.map((base) => new AllowedPaths({ base, folders, own: [], isOpen: false }));
    let handle: number | undefined;
    let missing: string | undefined;
    try {
      const path = pathOf(reference);
      for (const allowed of isAbsolute(path) ? paths.slice(0, 1) : paths) {
        try {
          handle = allowed.openSync(path, 'read');
          break;
        } catch (error) {
          if (!(error instanceof HaumeaError)) missing = `the file can't be read (${reasonCode(error)})`;
        }
      }
    } catch (error) {
      return fail(`the file can't be read (${reasonCode(error)})`);
    }
    if (handle === undefined) {
      if (missing !== undefined) return { missing };
      return fail(`the file is not in the folders that basic.secrets.folders allows (${folders.join(', ')})`);
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

/** `file:///etc/key` is a URI; anything else behind the two slashes is a path in a folder of secrets. */
function pathOf(reference: string): string {
  return reference.startsWith('file:///') ? fileURLToPath(reference) : join(reference.slice('file://'.length));
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
