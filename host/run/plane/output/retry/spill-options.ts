/** Settings of a spill queue, the owner that it reports to, and its counters. */
import type { Histogram } from '../../../../../kernels/values/histogram.js';
import type { WhenFull } from '../../stage/stage.js';

export interface SpillOptions {
  /** Folder of spilled messages; undefined when they stay in memory. */
  readonly folder: string | undefined;
  readonly isSynced: boolean;
  readonly pageMessages: number;
  /** Bounds of messages in memory, beyond which they are written whatever their age. */
  readonly memoryMessages: number;
  readonly memoryBytes: number;
  /** Bytes kept in memory where the oldest may be dropped and the disk takes nothing. */
  readonly keptBytes: number;
  /** Most spilled messages, and most waiting bytes of a queue in memory. */
  readonly maxMessages: number;
  readonly maxBytes: number;
  /** Most bytes of files (Infinity: no bound), and bytes that stay free on their disk. */
  readonly maxDiskBytes: number;
  readonly minFreeBytes: number;
  /** Whether a full queue takes nothing more, or drops its oldest pages. */
  readonly whenFull: WhenFull;
  readonly fileBytes?: number;
}

/** Hears what becomes of the messages. */
export interface SpillOwner {
  /** The sink has no connection. */
  readonly isAway: boolean;
  /** Sentence on the fault that holds up the messages. */
  readonly trouble: string;
  /** To be called when messages with a ticket are on disk or sent. */
  safe(): void;
  /** To be called when there may be more messages to hand over. */
  ready(): void;
  /** To be called when messages were spilled. */
  spilled(): void;
  /** Counts messages that are lost. */
  lost(messages: number, reason: string): void;
  /** Counts damaged messages that were safe on disk; undefined for an unknown number. */
  damaged(messages: number | undefined, reason: string): void;
  warn(line: string): void;
  info(line: string): void;
}

export interface CacheCounts {
  /** Messages written to disk, and messages passed on from there. */
  added: number;
  popped: number;
  /** Number of writes and reads. */
  flushes: number;
  loads: number;
  /** Messages that were dropped since there was no more room. */
  dropped: number;
  /** Messages that could not be read any more. */
  damaged: number;
  /**
   * Messages cut off at the end of an earlier run's files: nobody was told that they were safe, unless the disk has
   * damaged them since.
   */
  cutOff: number;
}

export interface CacheTimes {
  readonly flush: Histogram;
  readonly load: Histogram;
}
