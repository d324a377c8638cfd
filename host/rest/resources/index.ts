/** The list of resources: one line adds one, and one of contracts.ts what its routes take and give. */
import { batch } from './batch.js';
import { confKeys } from './conf-keys.js';
import { connections } from './connections.js';
import { cpuUsage } from './cpu-usage.js';
import { losses } from './losses.js';
import { metadata } from './metadata.js';
import { metrics } from './metrics.js';
import { plugins } from './plugins.js';
import { ruleTags } from './rule-tags.js';
import { ruleTests } from './rule-tests.js';
import { rules } from './rules.js';
import { scanTables } from './scan-tables.js';
import { schemas } from './schemas.js';
import { scripts } from './scripts.js';
import { services } from './services.js';
import { streams } from './streams.js';
import { system } from './system.js';
import { tables } from './tables.js';
import { traces } from './traces.js';
import { transfer } from './transfer.js';
import { uploads } from './uploads.js';

export const resources = [
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
