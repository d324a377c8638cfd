/** Configuration keys as exports and imports see them: connectors with the JSON of their keys. */

import { inContext, reasonOf } from '../../base/errors.js';
import { unmask } from '../../base/secrets/unmask.js';
import { isObject } from '../../base/structures/is-object.js';
import type { ConfKeyRepository, KeyOwner } from '../definitions/conf-keys.js';
import type { RecordRepository } from '../definitions/records.js';
import { checkId } from '../ids.js';
import { transferErrors } from './errors.js';
import type { Exportable, Prepared } from './exportable.js';

type Properties = Record<string, unknown>;

export class ConfKeyItems implements Exportable {
  readonly #keys: ConfKeyRepository;
  readonly #owner: KeyOwner;

  constructor(keys: ConfKeyRepository, owner: KeyOwner) {
    this.#keys = keys;
    this.#owner = owner;
  }

  export(): Record<string, string> {
    return groupedText(this.#keys.registered(this.#owner));
  }

  check(connector: string, value: string): Prepared {
    const changes = readKeys(connector, value).map(([key, properties]) => {
      // A mask that a client read and sends back stands for what is stored.
      const stored = this.#keys.get(this.#owner, connector, key);
      const whole = inContext(key, () => unmask(properties, stored));
      return this.#keys.change(this.#owner, connector, key, whole);
    });
    return { changes };
  }

  /** Keys of a connector that is part of the import go as well: those it has are written after this. */
  clear(): Prepared {
    const keys = this.#keys.names(this.#owner);
    return { changes: keys.map(([connector, key]) => this.#keys.change(this.#owner, connector, key, null)) };
  }
}

interface ConnectionRecord {
  readonly typ: string;
  readonly props: Readonly<Properties>;
}

/** Named connections, and configuration keys of connections: types with the JSON of their connections. */
export class ConnectionItems implements Exportable {
  readonly #connections: RecordRepository<ConnectionRecord>;
  readonly #keys: ConfKeyRepository;

  constructor(connections: RecordRepository<ConnectionRecord>, keys: ConfKeyRepository) {
    this.#connections = connections;
    this.#keys = keys;
  }

  export(): Record<string, string> {
    const named = this.#connections
      .list()
      .map(([id, { typ, props }]): [string, string, Properties] => [typ, id, props]);
    return groupedText([...this.#keys.registered('connections'), ...named]);
  }

  /** All of them become named connections: configuration keys are found by the same name. */
  check(typ: string, value: string): Prepared {
    const changes = readKeys(typ, value).map(([id, properties]) => {
      const props = inContext(id, () => unmask(properties, this.#connections.get(id)?.props));
      return this.#connections.change(id, { typ, props });
    });
    return { changes };
  }

  clear(): Prepared {
    const keys = this.#keys.names('connections');
    return {
      changes: [
        ...this.#connections.names().map((id) => this.#connections.change(id, null)),
        ...keys.map(([connector, key]) => this.#keys.change('connections', connector, key, null)),
      ],
    };
  }
}

function groupedText(entries: readonly (readonly [group: string, name: string, properties: Properties])[]) {
  const groups = new Map<string, [string, Properties][]>();
  for (const [group, name, properties] of entries) {
    const members = groups.get(group) ?? [];
    groups.set(group, members);
    members.push([name, properties]);
  }
  const texts = [...groups].map(([group, members]) => [group, JSON.stringify(Object.fromEntries(members))] as const);
  return Object.fromEntries(texts);
}

function readKeys(group: string, value: string): [name: string, properties: Properties][] {
  checkId(group);
  let tree: unknown;
  try {
    tree = JSON.parse(value);
  } catch (error) {
    throw transferErrors.keysNotJson(group, reasonOf(error), { cause: error });
  }
  if (!isObject(tree)) throw transferErrors.keysNotObject(group);
  return Object.entries(tree).map(([name, properties]) => {
    checkId(name);
    if (!isObject(properties)) {
      throw transferErrors.keyProps(name, group);
    }
    return [name, properties];
  });
}
