/**
 * Rules on their way to another data plane, and their rows on disk, in files beside their checkpoints
 * (plane/state/checkpoint/segments.ts).
 */

/** A segment as checkpoints name it. */
export interface Segment {
  /** Name in the folder of the rule. */
  readonly file: string;
  readonly bytes: number;
  readonly digest: string;
}

/** The rows of a checkpoint. */
export interface SegmentedRows {
  /** Number of the oldest page, and count of the numbers from it on. */
  readonly least: number;
  readonly count: number;
  /**
   * First number of this checkpoint's sets of groups; smaller ones are of checkpoints before. Undefined without sets,
   * and where `sets` names them.
   */
  readonly fresh?: number;
  /** Numbers of the sets of groups, some of which were written for checkpoints before. */
  readonly sets?: readonly number[];
  readonly segments: readonly Segment[];
}

/** Rows of a rule that is about to move, as far as they are on disk. */
export interface RowsAhead {
  readonly run: number;
  /** Folder of the rule's checkpoints. */
  readonly folder: string;
  readonly rows: SegmentedRows;
}

export interface MovingRun {
  readonly run: number;
  /** Folder for the state of a rule without checkpoints; left out where none can be kept. */
  readonly saveTo: string | undefined;
}

/** What is read before rules come from another data plane. */
export interface AheadOfRules {
  /** Types of their sources and sinks. */
  readonly sources: readonly string[];
  readonly sinks: readonly string[];
  readonly rows: readonly RowsAhead[];
}
