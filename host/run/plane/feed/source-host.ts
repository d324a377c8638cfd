/** The part of the data plane that a source uses. */

import type { PipedProgram } from '../../../base/structures/piped-program.js';
import type { LoadedCode, MakeMessages } from '../../../plugins/define.js';
import type { Barrier } from '../acknowledge/barrier.js';
import type { Gathering } from '../acknowledge/gathering.js';
import type { Reconnects } from '../connect/reconnects.js';
import type { Starvation, Starved } from '../memory/starvation.js';
import type { PlaneHost, RunningRule, RunningSource } from '../running/running.js';

export interface SourceHost extends PlaneHost {
  readonly coalesceMs: number;
  readonly reconnects: Reconnects;
  readonly userCalls: {
    decoderOf(number: number): LoadedCode | undefined;
    makerOf(number: number | undefined): MakeMessages | undefined;
    programOf(number: number | undefined): PipedProgram | undefined;
  };
  /** The first attempt to connect is over, whatever came of it. */
  tried(source: RunningSource): void;
  /** The source can't run at all. */
  refused(source: RunningSource, reason: string): void;
  ended(source: RunningSource): void;
  /** The node keeps messages of a source unacknowledged. */
  gathers(gathering: Gathering): void;
  /** Nodes of these rules in which rows wait for answers hold the barrier. */
  holdWaiting(barrier: Barrier, rules: ReadonlySet<RunningRule>): void;
  /** To be called when a failure outside of the kernel is to be logged. */
  noteLoss(): void;
  /** Sinks keep the source waiting. */
  waits(): void;
  /** The kernel has no room for input of the source, and did not when it was tried last. */
  starves(source: Starved): Starvation;
}
