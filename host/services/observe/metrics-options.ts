/** Where figures for monitoring come from. */
import type { Logger } from '../../base/log/log.js';
import type { RuleCpuTime, RuleNumbers } from '../../model/engine.js';
import type { ExportFigures, PlaneMemory, RuleLatencies } from '../../model/figures.js';
import type { InterfaceFigures } from '../external/figures.js';
import type { ConnectionState } from './metrics-text.js';

export interface MetricsOptions {
  ids(): readonly string[];
  /** Figures of the rules, without those that are gone. */
  figures(ids: readonly string[]): Promise<readonly RuleNumbers[]>;
  /** Processor time of the rules. */
  cpuTimes(): Promise<readonly Pick<RuleCpuTime, 'id' | 'cpuUs'>[]>;
  /** Memory of the rules. */
  memory(): Promise<readonly { id: string; bytes: number }[]>;
  /** Memory of the threads that run rules. */
  planes(): Promise<readonly PlaneMemory[]>;
  /** Times that operators took; none where they are not measured. */
  latencies(): Promise<readonly ({ id: string } & Pick<RuleLatencies, 'operators' | 'io'>)[]>;
  /** Named connections. */
  connections(): Promise<readonly { id: string; status: ConnectionState }[]>;
  /** Calls of the interfaces of external services. */
  services(): Promise<readonly InterfaceFigures[]>;
  /** What became of traces and metrics for a collector. */
  exports(): readonly ExportFigures[];
  /** Losses that nobody has acknowledged. */
  losses(): number;
  /** Folder of the copies. */
  readonly folder: string;
  /** Copies older than this are removed, milliseconds. */
  readonly retainedMs: number;
  readonly log: Logger;
}
