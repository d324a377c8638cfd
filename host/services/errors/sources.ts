/** Refusals of streams, tables, configuration keys and connections. */
import { errorTable } from '../../base/errors.js';

export const sourceErrors = errorTable('source', {
  noStatement: ['stream', 'the property sql is missing, it holds the statement'],
  otherStatement: ['stream', 'the statement must be CREATE, SHOW, DESCRIBE, EXPLAIN or DROP'],
  exists: ['stream', (kind: string, name: string) => `create ${kind} fails: ${name} already exists`],
  missing: ['stream', (kind: string, name: string) => `${kind} ${name} is not found`],
  dropMissing: ['stream', (kind: string, name: string) => `drop ${kind} fails: ${name} is not found`],
  dropNotFound: ['notFound', (kind: string, name: string) => `drop ${kind} fails: ${name} is not found`],
  inUse: [
    'general',
    (kind: string, name: string, rules: string) => `${kind} ${name} has been referenced by other rules: ${rules}`,
  ],
  replacesOther: [
    'stream',
    (name: string, kind: string) => `replace ${name} fails: the sql statement must create the ${kind} ${name}`,
  ],
  keyRefused: ['config', (reason: string) => `delete configuration key error: ${reason}`],
  keyMissing: [
    'config',
    (key: string, connector: string) => `delete configuration key error: ${key} of ${connector} is not found`,
  ],
  noKeyOwner: [
    'config',
    (owner: string, connector: string) => `configuration keys error: no such ${owner}: ${connector}`,
  ],
  noForm: ['config', (owner: string, name: string) => `metadata error: no such ${owner}: ${name}`],
  connectionExists: ['general', (id: string) => `connection ${id} already exists`],
  connectionMissing: ['general', (id: string) => `connection ${id} is not found`],
  connectionInUse: [
    'general',
    (id: string, change: string, rules: string) =>
      `connection ${id} can't be ${change} due to rule references: ${rules}`,
  ],
  connectionProps: ['config', (where: string, missing: string) => `${where}: ${missing}`],
  connectionType: ['general', (typ: string, types: string) => `unknown connection type ${typ}, there are ${types}`],
  connectionNotOpened: ['connection', (typ: string) => `connections of type ${typ} can't be opened by this server`],
  connectionFails: ['connection', (reason: string) => reason],
  noPart: ['general', (part: string, type: string) => `${part} ${type} is not known`],
  noPing: ['general', (part: string, type: string) => `${part} ${type} doesn't support ping connection`],
  pingFails: ['general', (reason: string) => reason],
});
