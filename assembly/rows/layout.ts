// A store of rows that wait (rows/store.ts).
//
//   rows (48)   0   first u32 | last u32 | count u32 | acct u32        pages (rows/page.ts); rows held
//               16  columns u32 | flags u32 | most u32 | 0 u32     `most`: rows that it held when it was cleared last
//               32  numbers 16                                         rows/number.ts

import { Page } from './page';
export const ROWS_SIZE: u32 = 48;
/** A store of rows (rows/store.ts). */
// @ts-ignore: decorator
@unmanaged
export class Rows {
  first: Page;
  last: Page;
  count: u32;
  account: usize;
  columns: u32;
  flags: u32;
  most: u32;
  private gap28: u32;
  numbers: usize;
  numbersFrom: u32;
  numbersTo: u32;
  numbersCapacity: u32;
}

export namespace RowsFlag {
  /** Flag: each row has a time (epoch ms), and rows come in the order of their times. */
  export const TIMES: u32 = 1;
  /** Flag: rows leave in the order in which they came, and are found by their number. */
  export const NUMBERED: u32 = 2;
  /** Flag: rows leave all at once, so pages are as large as the next input, or as the rows held the last time. */
  export const AT_ONCE: u32 = 4;
  /** Flag: payloads refer to memory elsewhere that outlives the rows; rows of such a store are not saved. */
  export const REFERS: u32 = 8;
}

/** Rows of the smallest page; a power of 2, as all pages have. */
export const MIN_PAGE: u32 = 8;
/** Rows of the smallest page of a store whose rows have numbers: one entry finds that many. */
export const MIN_NUMBERED_PAGE: u32 = 16;
