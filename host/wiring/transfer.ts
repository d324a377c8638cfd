/** Puts together what imports and exports reach: one line for each map of the document. */

import type { Gate } from '../base/structures/gate.js';
import type { ConfKeyRepository } from '../meta/definitions/conf-keys.js';
import type { RecordRepository } from '../meta/definitions/records.js';
import type { RuleJson } from '../meta/definitions/rule-definition.js';
import type { RuleRepository } from '../meta/definitions/rules.js';
import type { SourceRepository } from '../meta/definitions/sources.js';
import type { Store } from '../meta/store.js';
import { ConfKeyItems, ConnectionItems } from '../meta/transfer/config-items.js';
import { PrefixedItems } from '../meta/transfer/prefixed-items.js';
import { SourceItems } from '../meta/transfer/source-items.js';
import type { Catalog } from '../model/engine.js';
import { ruleErrors } from '../services/errors/rules.js';
import type { ResourceFiles } from '../services/files/resource-files.js';
import { StoredRuleItems } from '../services/rules/items.js';
import type { RuleRegistry } from '../services/rules/registry.js';
import type { ConnectionRecord } from '../services/sources/connections.js';
import { TransferService } from '../services/transfer/transfer.js';
import type { StoredServices } from './stored.js';

export interface TransferParts {
  readonly store: Store;
  readonly stored: StoredServices;
  readonly files: ResourceFiles;
  readonly gate: Gate;
  readonly catalog: Catalog;
  readonly sources: SourceRepository;
  readonly confKeys: ConfKeyRepository;
  readonly connections: RecordRepository<ConnectionRecord>;
  readonly registry: RuleRegistry;
  readonly stop: () => void;
}

/** Makes the service of imports, exports and rulesets over the repositories and services given. */
export async function createTransfer(parts: TransferParts): Promise<TransferService> {
  const { store, stored, confKeys, sources, registry } = parts;
  return new TransferService({
    target: {
      store,
      sections: {
        streams: new SourceItems(sources, 'stream'),
        tables: new SourceItems(sources, 'table'),
        nativePlugins: new PrefixedItems({ ...stored.nativePlugins, wasm: stored.wasmPlugins }),
        portablePlugins: stored.portablePlugins,
        sourceConfig: new ConfKeyItems(confKeys, 'sources'),
        sinkConfig: new ConfKeyItems(confKeys, 'sinks'),
        connectionConfig: new ConnectionItems(parts.connections, confKeys),
        Service: stored.externalServices,
        Schema: stored.schemas,
        uploads: await stored.uploads(),
        scripts: stored.scripts,
      },
      rules: new StoredRuleItems(registry),
    },
    files: parts.files,
    gate: parts.gate,
    lookup: parts.catalog,
    rule: (id) => definitionOf(registry.rules, id),
    stop: parts.stop,
  });
}

function definitionOf(rules: RuleRepository, id: string): RuleJson {
  const rule = rules.get(id);
  if (rule === undefined) throw ruleErrors.missing(id, '');
  return rule;
}
