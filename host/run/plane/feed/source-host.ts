/** What a source needs from the data plane. */
import type { Kernel } from '../../../../kernels/api.js';
import type { AllowedPaths } from '../../../base/files/allowed-paths.js';
import type { Logger } from '../../../base/log/log.js';
import type { Loss } from '../../../model/losses.js';
import type { Barrier } from '../acknowledge/barrier.js';
import type { Gathering } from '../acknowledge/gathering.js';
import type { Reconnects } from '../connect/reconnects.js';
import type { Starvation, Starved } from '../memory/starvation.js';
import type { InputAtWork, RunningRule, RunningSource } from '../running/running.js';

export interface SourceHost {
  readonly kernel: Kernel;
  readonly log: Logger;
  readonly coalesceMs: number;
  readonly reconnects: Reconnects;
  /** Time of rows and windows, epoch ms. */
  now(): number;
  readonly paths: AllowedPaths;
  shared<T>(key: string, make: () => T): T;
  /** Runs work of the kernel and what follows from it; `whose` names the rules it is for. */
  work(whose: ReadonlySet<RunningRule>, call: () => void, input?: InputAtWork): void;
  /** The first attempt to connect is over, whatever came of it. */
  tried(source: RunningSource): void;
  /** The source can't run at all. */
  refused(source: RunningSource, reason: string): void;
  /** Something that was safe is lost. */
  lost(loss: Loss): void;
  ended(source: RunningSource): void;
  /** The node keeps messages of a source unacknowledged. */
  gathers(gathering: Gathering): void;
  /** Nodes of these rules in which rows wait for answers hold the barrier. */
  holdWaiting(barrier: Barrier, rules: ReadonlySet<RunningRule>): void;
  /** Sinks keep the source waiting. */
  waits(): void;
  /** The kernel has no room for input of the source, and did not when it was tried last. */
  starves(source: Starved): Starvation;
}
