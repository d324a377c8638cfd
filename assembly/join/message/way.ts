/** How the candidates of a step are found. */
export namespace Way {
  /** There are none, or they were added already. */
  export const NONE: u32 = 0;
  /** All pairs are. */
  export const LOOP: u32 = 1;
  /** By the hash of their keys (join/message/hash.ts). */
  export const HASH: u32 = 2;
  /** They are the matches (join/message/equal.ts). */
  export const EQUAL: u32 = 3;
  /** That is decided when the index of the hashes is made. */
  export const INDEX: u32 = 4;
}
