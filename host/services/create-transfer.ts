/** Puts together what imports and exports reach: one line for each map of the document. */

import type { Gate } from '../base/structures/gate.js';
import type { ConfKeyRepository } from '../meta/conf-keys.js';
import type { RecordRepository } from '../meta/records.js';
import type { RuleJson } from '../meta/rule-definition.js';
import type { RuleRepository } from '../meta/rules.js';
import type { SourceRepository } from '../meta/sources.js';
import type { Store } from '../meta/store.js';
import { ConfKeyItems, ConnectionItems } from '../meta/transfer/config-items.js';
import { PrefixedItems } from '../meta/transfer/prefixed-items.js';
import { SourceItems } from '../meta/transfer/source-items.js';
import type { Catalog } from '../model/engine.js';
import type { ConnectionRecord } from './connections.js';
import { ruleErrors } from './errors/rules.js';
import type { ResourceFiles } from './resource-files.js';
import { StoredRuleItems } from './rule-items.js';
import type { RuleKeeper } from './rule-keeper.js';
import type { StoredServices } from './stored.js';
import { TransferService } from './transfer.js';

export interface TransferParts {
  readonly store: Store;
  readonly stored: StoredServices;
  readonly files: ResourceFiles;
  readonly gate: Gate;
  readonly catalog: Catalog;
  readonly sources: SourceRepository;
  readonly confKeys: ConfKeyRepository;
  readonly connections: RecordRepository<ConnectionRecord>;
  readonly keeper: RuleKeeper;
  readonly stop: () => void;
}

/** Makes the service of imports, exports and rulesets over the repositories and services given. */
export function createTransfer(parts: TransferParts): TransferService {
  const { store, stored, confKeys, sources, keeper } = parts;
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
        uploads: stored.uploads,
        scripts: stored.scripts,
      },
      rules: new StoredRuleItems(keeper),
    },
    files: parts.files,
    gate: parts.gate,
    lookup: parts.catalog,
    rule: (id) => definitionOf(keeper.rules, id),
    stop: parts.stop,
  });
}

function definitionOf(rules: RuleRepository, id: string): RuleJson {
  const rule = rules.get(id);
  if (rule === undefined) throw ruleErrors.missing(id, '');
  return rule;
}
