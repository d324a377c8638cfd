/** The rule of a sink. */

import type { HostColumns } from '../../../../kernels/api.js';
import type { AllowedPaths } from '../../../base/files/allowed-paths.js';
import type { Logger } from '../../../base/log/log.js';
import type { PipedProgram } from '../../../base/structures/piped-program.js';
import type { MakeMessages } from '../../../plugins/define.js';
import type { Reconnects } from '../connect/reconnects.js';
import type { RuleOfCache } from './retry/retry-queue.js';

export interface SinkHost extends RuleOfCache {
  readonly id: string;
  readonly log: Logger;
  debug(line: () => string): void;
  /** Times are measured for histograms. */
  readonly measuresAll?: boolean;
  readonly reconnects?: Reconnects;
  readonly paths: AllowedPaths;
  shared<T>(key: string, make: () => T): T;
  /** Runs a user function over messages. */
  callUser(number: number, columns: HostColumns): void;
  /** See `UserCalls`. */
  makerOf?(number: number): MakeMessages | undefined;
  /** A program of a plugin by its number, as it is now. */
  programOf?(number: number | undefined): PipedProgram | undefined;
  /** The sink takes no more, or does again. */
  sinkIsFull(isFull: boolean): void;
  /** The first attempt to connect is over, whatever came of it. */
  tried?(): void;
  /** Checkpoints of the rule rely on the output that its sinks hold. */
  readonly isSynced?: boolean;
  /** Messages were lost for good. */
  messagesLost?(): void;
  /** The sink can't work. */
  sinkFailed(reason: string): void;
  /** A source of the rule has had messages that are to be acknowledged. */
  readonly isAcknowledged?: boolean;
}
