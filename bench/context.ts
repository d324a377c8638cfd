/** Options of one run, and the context of its measuring. */
import type { EngineUnderTest } from './engine.js';
import type { Generator } from './generator.js';
import type { RunResult } from './result.js';
import type { Workload } from './workloads/workload.js';

export interface RunOptions {
  workload: string;
  /** Program and arguments that run this harness again in another role. */
  role: string[];
  /** Our own server's command line (after the node binary). */
  command: string[];
  /** Another engine's address and process; empty: ours. */
  engineUrl: string;
  enginePid: number;
  dataSet: string;
  perMessage: boolean;
  /** Messages per second, 0: as fast as possible. */
  rate: number;
  seconds: number;
  /** Rules of the `rules` workload. */
  rules: number;
  /** Whether each rule has a threshold of its own, so that no rule can share the work of another. */
  distinct: boolean;
  schemaless: boolean;
  sinkProps: Record<string, unknown>;
  sourceProps: Record<string, unknown>;
  env: Record<string, string>;
  sql: string;
  payloads: string[] | undefined;
}

/** Name of the rule of a run. */
export const RULE = 'bench';

/** Context for measuring one run. */
export interface Run {
  readonly workload: Workload;
  readonly options: RunOptions;
  readonly engine: EngineUnderTest;
  readonly generator: Generator;
  /** Temporary folder of the run. */
  readonly folder: string;
  /** Takes the figures. */
  readonly result: RunResult;
}
