/** Options of a data plane. */
import type { HostCalls, HostColumns, Kernel } from '../../../kernels/api.js';
import type { AllowedPaths } from '../../base/files/allowed-paths.js';
import type { Logger } from '../../base/log/log.js';
import type { AskedPart } from '../../connectors/define.js';
import type { Heartbeat } from '../link/heartbeat.js';
import type { Notice } from '../link/protocol.js';
import type { RunningRule } from './running/running.js';
import type { Shares } from './schedule/share-watch.js';

export interface PlaneOptions {
  /** Makes the kernel, which hands its output to `calls`. */
  kernel: (calls: HostCalls) => Promise<Kernel> | Kernel;
  /** Host functions of expressions. */
  call: (fn: number, args: HostColumns) => void;
  /** Offset of local time from UTC in a zone at a time, ms. */
  zoneOffset?: (zone: string, at: number) => number;
  /** Tells the control plane something. */
  tell: (notice: Notice) => void;
  log: Logger;
  /** Takes the lines about a run; `log` takes them without it. */
  logOf?: (run: number) => Logger;
  heartbeat: Heartbeat;
  /** Times are measured for histograms; by default they are not. */
  measuresAll?: boolean;
  coalesceMs: number;
  flushTimeoutMs: number;
  /** Bytes that all code of users may have together; 0 or nothing: a part of the machine's memory. */
  maxUserMemoryBytes?: number;
  /** Number of data planes, which divide that among them. */
  planes?: number;
  /** Longest time between two attempts to connect, ms. */
  maxReconnectMs?: number;
  /** Most connections to one database; 0: as its driver has it. */
  maxSqlConnections?: number;
  /** Files that connectors may open; any without it. */
  paths?: AllowedPaths;
  /** Finds what is asked for the rows of tables of a type; the connectors' without it. */
  askedPart?: (type: string) => AskedPart;
  /** Sees who takes the time; by what the kernel has measured without it. */
  shares?: (rules: ReadonlySet<RunningRule>, kernel: () => Kernel, moving: () => void) => Shares;
  /** The kernel broke: nothing in it can be trusted any more. */
  broken: (error: unknown) => void;
}
