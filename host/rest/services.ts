/** Everything REST handlers may call. */
import type { Gate } from '../base/structures/gate.js';
import type { ExternalServices } from '../services/external/services.js';
import type { UploadService } from '../services/files/uploads.js';
import type { NativeKind, NativePlugins } from '../services/installed/native-plugins.js';
import type { PortablePlugins } from '../services/installed/portable-plugins.js';
import type { ScriptService } from '../services/installed/scripts.js';
import type { UdfService } from '../services/installed/udfs.js';
import type { MetadataService } from '../services/metadata/metadata.js';
import type { CpuUsageService } from '../services/observe/cpu-usage.js';
import type { MetricsService } from '../services/observe/metrics.js';
import type { TraceService } from '../services/observe/traces.js';
import type { RuleService } from '../services/rules/rules.js';
import type { ScanTableService } from '../services/rules/scan-tables.js';
import type { RuleTagService } from '../services/rules/tags.js';
import type { RuleTestService } from '../services/rules/tests.js';
import type { SchemaService } from '../services/schemas/schemas.js';
import type { ConfigsService } from '../services/server/configs.js';
import type { LossService } from '../services/server/losses.js';
import type { SystemService } from '../services/server/system.js';
import type { TaskService } from '../services/server/tasks.js';
import type { ConfKeyService } from '../services/sources/conf-keys.js';
import type { ConnectionService } from '../services/sources/connections.js';
import type { SourceService } from '../services/sources/sources.js';
import type { TransferService } from '../services/transfer/transfer.js';
import type { WasmPlugins } from '../services/wasm/plugins.js';
import type { BatchService } from './batch.js';
import type { TicketService } from './guard/tickets.js';

export interface Services {
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
  readonly schemas: SchemaService;
  readonly uploads: UploadService;
  readonly connections: ConnectionService;
  readonly externalServices: ExternalServices;
  readonly nativePlugins: Readonly<Record<NativeKind, NativePlugins>>;
  readonly portablePlugins: PortablePlugins;
  readonly wasmPlugins: WasmPlugins;
  readonly udfs: UdfService;
  readonly scripts: ScriptService;
}
