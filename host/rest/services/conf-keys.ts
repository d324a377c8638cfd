/** Configuration keys as clients see them: secrets masked, and kept when a client sends the mask back. */
import { HaumeaError } from '../../base/errors.js';
import { unmask } from '../../base/field.js';
import { maskByName } from '../../base/secrets.js';
import type { ConfKeyRepository, KeyOwner } from '../../meta/conf-keys.js';

export class ConfKeyService {
  readonly #keys: ConfKeyRepository;
  readonly #connectors: (owner: KeyOwner) => readonly string[];

  /** `connectors` names those that are built in. */
  constructor(keys: ConfKeyRepository, connectors: (owner: KeyOwner) => readonly string[]) {
    this.#keys = keys;
    this.#connectors = connectors;
  }

  list(owner: KeyOwner, connector: string): unknown {
    const keys = this.#keys.list(owner, connector);
    if (keys === undefined && !this.#connectors(owner).includes(connector)) throw this.#unknown(owner, connector);
    return maskByName(keys ?? {});
  }

  /** `properties` reads the body; what is wrong with it is a failure of the configuration. */
  async put(
    owner: KeyOwner,
    connector: string,
    key: string,
    properties: () => Record<string, unknown>,
  ): Promise<undefined> {
    let given: Record<string, unknown>;
    try {
      given = properties();
    } catch (error) {
      if (error instanceof HaumeaError) throw new HaumeaError('config', error.message, { cause: error });
      throw error;
    }
    await this.#keys.put(owner, connector, key, unmask(given, this.#keys.get(owner, connector, key)));
  }

  async delete(owner: KeyOwner, connector: string, key: string): Promise<undefined> {
    if (this.#keys.list(owner, connector) === undefined && !this.#connectors(owner).includes(connector)) {
      throw this.#unknown(owner, connector);
    }
    if (!(await this.#keys.delete(owner, connector, key))) {
      throw new HaumeaError('config', `delete configuration key error: ${key} of ${connector} is not found`);
    }
  }

  #unknown(owner: KeyOwner, connector: string): HaumeaError {
    return new HaumeaError('config', `configuration keys error: no such ${owner.slice(0, -1)}: ${connector}`);
  }
}
