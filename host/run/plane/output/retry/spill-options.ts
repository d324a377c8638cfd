/** What a spill queue goes by, whom it tells what becomes of its messages, and what it counts. */
import type { Histogram } from '../../../../../kernels/values/histogram.js';
import type { WhenFull } from '../../stage/stage.js';

export interface SpillOptions {
  /** Of spilled messages; without one they stay in memory. */
  readonly folder: string | undefined;
  readonly isSynced: boolean;
  readonly pageMessages: number;
  /** What may wait in memory before it is written, whatever its age. */
  readonly memoryMessages: number;
  readonly memoryBytes: number;
  /** What of it is kept where the oldest may go and the disk takes nothing. */
  readonly keptBytes: number;
  /** What may be spilled: messages, and bytes of those in memory. */
  readonly maxMessages: number;
  readonly maxBytes: number;
  /** Bytes of files, and what stays free on their disk; Infinity and 0: as much as there is. */
  readonly maxDiskBytes: number;
  readonly minFreeBytes: number;
  /** At the bound nothing more is taken, or the oldest pages go. */
  readonly whenFull: WhenFull;
  readonly fileBytes?: number;
}

/** Hears what becomes of the messages. */
export interface SpillOwner {
  /** The sink has no connection. */
  readonly isAway: boolean;
  /** What is in the way of its messages, a sentence. */
  readonly trouble: string;
  /** What came with a ticket is on disk, or out. */
  safe(): void;
  /** There may be more to hand over. */
  ready(): void;
  /** Messages were spilled. */
  spilled(): void;
  /** Counts messages that are lost. */
  lost(messages: number, reason: string): void;
  /** Counts messages that were safe on disk and are damaged; undefined: an unknown number. */
  damaged(messages: number | undefined, reason: string): void;
  warn(line: string): void;
  info(line: string): void;
}

export interface CacheCounts {
  /** Messages written to disk, and passed on from there. */
  added: number;
  popped: number;
  /** Writes and reads. */
  flushes: number;
  loads: number;
  /** Messages that were dropped since there was no more room. */
  dropped: number;
  /** Messages that could not be read any more. */
  damaged: number;
  /**
   * Messages cut off at the end of what an earlier run left: nobody was told that they are safe, unless the disk has
   * damaged them since.
   */
  cutOff: number;
}

export interface CacheTimes {
  readonly flush: Histogram;
  readonly load: Histogram;
}
