/** Everything REST handlers may call. */
import type { Gate } from '../base/structures/gate.js';
import type { ConfKeyService } from '../services/conf-keys.js';
import type { ConfigsService } from '../services/configs.js';
import type { CpuUsageService } from '../services/cpu-usage.js';
import type { LossService } from '../services/losses.js';
import type { MetadataService } from '../services/metadata.js';
import type { MetricsService } from '../services/metrics.js';
import type { RuleTagService } from '../services/rule-tags.js';
import type { RuleTestService } from '../services/rule-tests.js';
import type { RuleService } from '../services/rules.js';
import type { ScanTableService } from '../services/scan-tables.js';
import type { SourceService } from '../services/sources.js';
import type { StoredServices } from '../services/stored.js';
import type { SystemService } from '../services/system.js';
import type { TaskService } from '../services/tasks.js';
import type { TraceService } from '../services/traces.js';
import type { TransferService } from '../services/transfer.js';
import type { BatchService } from './batch.js';
import type { TicketService } from './tickets.js';

export interface Services extends StoredServices {
  /** Changes of definitions pass it together, imports alone. */
  readonly gate: Gate;
  readonly batch: BatchService;
  readonly system: SystemService;
  readonly losses: LossService;
  readonly sources: SourceService;
  readonly confKeys: ConfKeyService;
  readonly rules: RuleService;
  /** Read with the first question. */
  readonly metadata: () => Promise<MetadataService>;
  readonly metrics: MetricsService;
  readonly configs: ConfigsService;
  readonly ruleTags: RuleTagService;
  readonly scanTables: ScanTableService;
  readonly cpuUsage: CpuUsageService;
  /** Read when the first import or export asks for it. */
  readonly transfer: () => Promise<TransferService>;
  readonly tasks: TaskService;
  readonly ruleTests: () => Promise<RuleTestService>;
  readonly tickets: TicketService;
  readonly traces: TraceService;
}
