/** How the candidates of a step are found. */
export namespace Way {
  /** There are no candidates, or they were added already. */
  export const NONE: u32 = 0;
  /** All pairs are candidates. */
  export const LOOP: u32 = 1;
  /** Candidates are found by the hash of their keys (join/message/hash.ts). */
  export const HASH: u32 = 2;
  /** Candidates are the matches (join/message/equal.ts). */
  export const EQUAL: u32 = 3;
  /** The way is decided when the index of the hashes is made. */
  export const INDEX: u32 = 4;
}
