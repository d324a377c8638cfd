/** Everything REST handlers may call. */
import type { Gate } from '../../base/gate.js';
import type { BatchService } from './batch.js';
import type { ConfKeyService } from './conf-keys.js';
import type { ConfigsService } from './configs.js';
import type { CpuUsageService } from './cpu-usage.js';
import type { MetadataService } from './metadata.js';
import type { MetricsService } from './metrics.js';
import type { RuleTagService } from './rule-tags.js';
import type { RuleTestService } from './rule-tests.js';
import type { RuleService } from './rules.js';
import type { ScanTableService } from './scan-tables.js';
import type { SourceService } from './sources.js';
import type { StoredServices } from './stored.js';
import type { SystemService } from './system.js';
import type { TaskService } from './tasks.js';
import type { TicketService } from './tickets.js';
import type { TraceService } from './traces.js';
import type { TransferService } from './transfer.js';

export interface Services extends StoredServices {
  /** Changes of definitions pass it together, imports alone. */
  readonly gate: Gate;
  readonly batch: BatchService;
  readonly system: SystemService;
  readonly sources: SourceService;
  readonly confKeys: ConfKeyService;
  readonly rules: RuleService;
  readonly metadata: MetadataService;
  readonly metrics: MetricsService;
  readonly configs: ConfigsService;
  readonly ruleTags: RuleTagService;
  readonly scanTables: ScanTableService;
  readonly cpuUsage: CpuUsageService;
  readonly transfer: TransferService;
  readonly tasks: TaskService;
  readonly ruleTests: RuleTestService;
  readonly tickets: TicketService;
  readonly traces: TraceService;
}
