/** The contracts of all resources, read with the first question for the OpenAPI document: one line adds one. */
import type { Contracts } from '../route/contract.js';
import { batch } from './batch.contract.js';
import { confKeys } from './conf-keys.contract.js';
import { connections } from './connections.contract.js';
import { cpuUsage } from './cpu-usage.contract.js';
import { losses } from './losses.contract.js';
import { metadata } from './metadata.contract.js';
import { metrics } from './metrics.contract.js';
import { plugins } from './plugins.contract.js';
import { ruleTags } from './rule-tags.contract.js';
import { ruleTests } from './rule-tests.contract.js';
import { rules } from './rules.contract.js';
import { scanTables } from './scan-tables.contract.js';
import { schemas } from './schemas.contract.js';
import { scripts } from './scripts.contract.js';
import { services } from './services.contract.js';
import { streams } from './streams.contract.js';
import { system } from './system.contract.js';
import { tables } from './tables.contract.js';
import { traces } from './traces.contract.js';
import { transfer } from './transfer.contract.js';
import { uploads } from './uploads.contract.js';

export const contracts: readonly Contracts[] = [
  metrics,
  system,
  losses,
  batch,
  transfer,
  streams,
  tables,
  confKeys,
  cpuUsage,
  scanTables,
  ruleTags,
  rules,
  ruleTests,
  traces,
  connections,
  schemas,
  uploads,
  services,
  scripts,
  plugins,
  metadata,
];
