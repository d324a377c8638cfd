/** Configuration keys as clients see them: secrets masked, and kept when a client sends the mask back. */

import { asKind, HaumeaError, reasonOf } from '../../base/errors.js';
import { parse, type Spec, unknownIn } from '../../base/fields/field.js';
import { unmask } from '../../base/secrets/unmask.js';
import { isObject } from '../../base/structures/is-object.js';
import { nearest } from '../../base/text/nearest.js';
import { formatDuration } from '../../base/time/duration.js';
import type { Connector, NamedFiles } from '../../connectors/define.js';
import { connectorOf } from '../../connectors/index.js';
import type { ConfKeyRepository, KeyOwner } from '../../meta/definitions/conf-keys.js';
import type { Access } from '../../model/engine.js';
import { allSinkProps } from '../../run/planning/warnings.js';
import { checkFiles } from '../../run/props/access.js';
import { resolveProps } from '../../run/props/secret-props.js';
import { Outcome } from '../body/outcome.js';
import { sourceErrors } from '../errors/sources.js';
import { maskProps } from '../secrets/props.js';

type Props = Record<string, unknown>;

export interface ConfKeyOptions {
  readonly keys: ConfKeyRepository;
  /** Names of the connectors that are built in. */
  readonly connectors: (owner: KeyOwner) => readonly string[];
  /** Declarations of all connectors. */
  readonly declarations: readonly Connector[];
  /** Secrets and files that properties may refer to. */
  readonly access: Access;
  /** Names of the streams and tables that read their properties under the key of a source. */
  readonly usersOf: (connector: string, key: string) => readonly string[];
  /** Called when the properties of a source's key have changed. */
  readonly changed?: (connector: string, key: string) => void;
}

export class ConfKeyService {
  readonly #keys: ConfKeyRepository;
  readonly #connectors: ConfKeyOptions['connectors'];
  readonly #declarations: ConfKeyOptions['declarations'];
  readonly #usersOf: ConfKeyOptions['usersOf'];
  readonly #access: Access;

  readonly #changed: (connector: string, key: string) => void;

  constructor({ keys, connectors, declarations, usersOf, access, changed = () => {} }: ConfKeyOptions) {
    this.#changed = changed;
    this.#keys = keys;
    this.#connectors = connectors;
    this.#declarations = declarations;
    this.#usersOf = usersOf;
    this.#access = access;
  }

  list(owner: KeyOwner, connector: string): unknown {
    const keys = this.#keys.list(owner, connector);
    if (keys === undefined && !this.#isKnown(owner, connector)) throw this.#unknown(owner, connector);
    return shownKeys(owner, connector, keys ?? {});
  }

  /**
   * `properties` reads the body; what is wrong with it is a failure of the configuration. Resolves with the warnings,
   * empty as a rule.
   */
  async put(
    owner: KeyOwner,
    connector: string,
    key: string,
    properties: () => Record<string, unknown>,
  ): Promise<string | Outcome> {
    let given: Record<string, unknown>;
    try {
      given = properties();
    } catch (error) {
      if (error instanceof HaumeaError) throw asKind('config', error);
      throw error;
    }
    const declared = this.#declarations.find(({ name }) => name === connector);
    const whole = unmask(given, this.#keys.list(owner, connector)?.[key]);
    const spec = declared && specOf(owner, declared);
    const where = `configuration key ${key} of ${connector}`;
    if (declared === undefined || spec === undefined) {
      await this.#keys.put(owner, connector, key, whole);
      if (connectorOf(connector)?.plugin === undefined) return new Outcome('', [], this.#unknownType(owner, connector));
      if (owner === 'sources') this.#changed(connector, key);
      return new Outcome('', []);
    }
    // A secret that is missing so far shows in the status of the rules that need it.
    const { value } = resolveProps(whole, where, spec, this.#access.secrets, true);
    checkGiven(spec, whole, where);
    await this.#keys.put(owner, connector, key, whole);
    if (owner === 'sources') this.#changed(connector, key);
    return new Outcome('', [
      ...unknownIn(spec, whole).map((text) => `the property ${text}`),
      ...this.#closedFiles(owner, declared, value, where),
    ]);
  }

  /**
   * Properties with paths that rules are refused, a sentence each: a warning, since the DATASOURCE of a stream may lead
   * elsewhere and the configuration may allow them later.
   */
  #closedFiles(owner: KeyOwner, { connection, source, sink }: Connector, props: Props, where: string): string[] {
    let named: NamedFiles;
    try {
      const own = owner === 'sources' ? source?.files?.(props, '') : owner === 'sinks' ? sink?.files?.(props) : {};
      named = { ...connection?.files?.(props), ...own };
    } catch {
      // The rest of the properties is missing.
      return [];
    }
    return Object.entries(named).flatMap(([name, file]) => {
      if (!Object.hasOwn(props, name)) return [];
      try {
        checkFiles({ [name]: file }, this.#access, where);
        return [];
      } catch (error) {
        return [reasonOf(error)];
      }
    });
  }

  async delete(owner: KeyOwner, connector: string, key: string): Promise<undefined> {
    if (this.#keys.list(owner, connector) === undefined && !this.#isKnown(owner, connector)) {
      throw this.#unknown(owner, connector);
    }
    const users = owner === 'sources' ? this.#usersOf(connector, key) : [];
    if (users.length > 0) {
      const reason = `${key} of ${connector} is used by ${users.join(', ')}`;
      throw sourceErrors.keyRefused(reason);
    }
    if (!(await this.#keys.delete(owner, connector, key))) {
      throw sourceErrors.keyMissing(key, connector);
    }
  }

  #isKnown(owner: KeyOwner, connector: string): boolean {
    return this.#connectors(owner).includes(connector) || connectorOf(connector)?.plugin !== undefined;
  }

  /** A plugin may bring the type later: only the header says that there is none. */
  #unknownType(owner: KeyOwner, connector: string): string[] {
    const known = this.#connectors(owner);
    if (known.includes(connector)) return [];
    const meant = nearest(connector, known);
    const hint = meant === undefined ? '' : `, did you mean ${meant}?`;
    return [`nothing reads the key: there is no ${owner.slice(0, -1)} ${connector}${hint}`];
  }

  #unknown(owner: KeyOwner, connector: string): HaumeaError {
    return sourceErrors.noKeyOwner(owner.slice(0, -1), connector);
  }
}

/** Keys as clients see them: secrets masked, and durations that were given in milliseconds as texts, `10s`. */
export function shownKeys(
  owner: KeyOwner,
  connector: string,
  keys: Readonly<Record<string, Record<string, unknown>>>,
): Record<string, unknown> {
  const shown = Object.entries(keys).map(([key, properties]) => [
    key,
    maskProps(owner, connector, durationsAsText(properties)),
  ]);
  return Object.fromEntries(shown);
}

const durationNames: ReadonlySet<string> = new Set(['interval', 'timeout', 'expiration', 'cacheTtl']);

function durationsAsText(properties: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, value]) => {
      if (durationNames.has(name) && typeof value === 'number') return [name, formatDuration(value)];
      return [name, name === 'lookup' && isObject(value) ? durationsAsText(value) : value];
    }),
  );
}

function specOf(owner: KeyOwner, { connection, source, lookup, sink }: Connector): Spec {
  if (owner === 'connections') return connection?.props ?? {};
  return owner === 'sources' ? (source?.props ?? lookup?.asked?.props ?? {}) : allSinkProps(sink?.props ?? {});
}

/** Checks the properties that are there: others may come with the stream, the action or a connection. */
function checkGiven(spec: Spec, given: Record<string, unknown>, where: string): void {
  const own = Object.entries(given).filter(([name, value]) => Object.hasOwn(spec, name) && !isReference(value));
  const wanted = Object.fromEntries(own.map(([name]) => [name, spec[name]])) as Spec;
  parse(wanted, Object.fromEntries(own), { where, isStored: true });
}

/** Tells whether a value has a reference to a variable or a file, which is resolved only when the key is used. */
function isReference(value: unknown): boolean {
  return JSON.stringify(value ?? null).match(/(env|file):\/\//) !== null;
}
