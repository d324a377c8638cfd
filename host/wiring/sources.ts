/** Streams and tables, the configuration keys of their connectors, and the forms that describe both. */
import { lazy } from '../base/structures/lazy.js';
import { allConnectors, connectorNames, pluginConnectors, userConnectors } from '../connectors/index.js';
import { functionDefinitions } from '../functions/registry.js';
import type { Engine } from '../model/engine.js';
import { libraryFunctions } from '../plugins/library/functions.js';
import type { RuleRegistry } from '../services/rules/registry.js';
import type { SchemaService } from '../services/schemas/schemas.js';
import { SourceService } from '../services/sources/sources.js';
import type { Definitions } from './definitions.js';
import type { Start } from './start.js';

export function sourceServices(
  { log }: Start,
  { sources, confKeys, connections, access }: Definitions,
  engine: Engine,
  registry: RuleRegistry,
  schemas: SchemaService,
) {
  return {
    sources: new SourceService(
      sources,
      {
        of: (name) => registry.usersOf(name),
        fieldsRead: (rule, name) => engine.fieldsRead(rule, name),
        warningsOf: (definition, given) => engine.warningsOf(definition, given),
      },
      async (type, schemaId) =>
        type === 'protobuf' ? schemas.protobuf.columns(schemaId) : schemas.columns(type, schemaId),
      log,
    ),
    confKeys: lazy(async () => {
      const { ConfKeyService } = await import('../services/sources/conf-keys.js');
      return new ConfKeyService({
        keys: confKeys,
        connectors: (owner) => connectorNames(owner === 'sinks' ? 'sink' : 'source'),
        declarations: allConnectors(),
        usersOf: (connector, key) => sources.usersOfKey(connector, key),
        access,
        changed: (connector, key) => engine.renew?.(sources.usersOfKey(connector, key)),
      });
    }),
    metadata: async () => {
      const { MetadataService } = await import('../services/metadata/metadata.js');
      // The build leaves them out of the declarations.
      const { examples } = await import('../functions/gen/examples.js');
      const shown = () => functionDefinitions().map((one) => ({ ...one, example: examples[one.name] ?? one.example }));
      return new MetadataService({
        connectors: () => [...userConnectors(), ...pluginConnectors()],
        functions: () => [...shown(), ...libraryFunctions],
        confKeys,
        connections,
      });
    },
  };
}
