/** Rows and groups that are saved apart from the nodes that refer to them (state/snapshot.ts). */

/** Parameters of a snapshot. */
export interface SnapshotOrder {
  /** Snapshots of one chain write rows once; a number that no other chain of this kernel has or had, above 0. */
  readonly chain: number;
  /** Number of the snapshot in its chain, from 0 to 65,000: of the segment that it writes. */
  readonly segment: number;
  /** `serial` of the previous snapshot in the chain; 0 for the first. */
  readonly serial: number;
  /** Rows, and groups, that have so many values or bytes of text at most are saved at once. */
  readonly small: number;
  /** All groups are saved at once: no memory is needed to keep them as they were. */
  readonly atOnce?: boolean;
}

/** Rows and groups as they were at a cut; they are written later. A snapshot must be closed. */
export interface Snapshot {
  /** Pages of which rows are to be written, and runs of groups. */
  readonly pages: number;
  /** Numbers of the snapshot's sets of groups; those below the `serial` of its order are of earlier snapshots. */
  readonly sets: readonly number[];
  /** Number of the chain's next new page; `least` is the number of the oldest page of the snapshot. */
  readonly serial: number;
  readonly least: number;
  /** Number of the snapshot's pages and runs with rows in each segment of the chain; its own segment is last. */
  readonly live: Uint32Array;
  /**
   * Writes some more bytes than `most`, and says whether there is more. `changed`: the rows are not what they were, the
   * snapshot is worth nothing; `memory`: later there may be room.
   */
  write(most: number, write: (bytes: Uint8Array) => void): 'all' | 'more' | 'changed' | 'memory';
  close(): void;
}

/** What a snapshot has, in all segments of its chain. */
export interface SnapshotContent {
  /** Number of the oldest page, and count of the numbers from it on. */
  readonly least: number;
  readonly count: number;
  /** Numbers of its sets of groups. */
  readonly sets?: readonly number[];
  /** Of older checkpoints, in place of `sets`: the least number of a set. */
  readonly fresh?: number;
}

/** Pages of segments that were read, for nodes that are loaded then; to be closed. */
export interface LoadedSnapshot {
  /** Address in the kernel, 0 when it is closed. */
  readonly at: number;
  /** Reads `runs` runs of a segment; true when there are more. Throws what is wrong with it, and what `read` throws. */
  fill(runs: number, read: (into: Uint8Array) => number): boolean;
  /** Makes it ready for the segments that a later snapshot of the chain has beside those that were read. */
  moveOn(content: SnapshotContent): void;
  close(): void;
}
