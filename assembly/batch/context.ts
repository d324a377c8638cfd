// The batch under way. One kernel instance works on one batch at a time, so these are plain globals: operators read
// and narrow them, `emit` (emit/emit.ts) saves and restores them around each child.
import { Pool, poolInit, poolReset } from '../mem/pool';
import { alloc, WORKSPACE } from '../mem/alloc';
import { COL_SIZE, REGISTER_COUNT } from '../mem/layout';

/** Address of a u32 array: the column blocks of the current batch, by column index. */
export let cols: usize = 0;
/** Rows of the batch, 0 … BATCH_ROWS. Row numbers in `sel` are below this. */
export let rows: u32 = 0;
/** Address of a u32 array: the selected row numbers, ascending. */
export let sel: usize = 0;
export let selLen: u32 = 0;
/**
 * Column block whose tag is ERROR at rows that failed (and still travel, to be reported at their place); 0 when none
 * did.
 */
export let rowErrors: usize = 0;
/** Input by which the batch, or signal, came to the node with several inputs that is nearest above: set by ports. */
export let branch: u32 = 0;
/** Wall clock of the batch, epoch milliseconds. */
export let nowMs: f64 = 0;

/** Text and nested values computed while the current batch is worked on; reset with each batch of a source. */
export const scratch: Pool = changetype<Pool>(memory.data(32, 16));
/** Bytes of the values that programs computed on the way from the source to the node at work (ops/result.ts). */
export let computed: u64 = 0;
/** Rows that operators have worked on since the last look at the clock; long values count as many rows. */
export let worked: u32 = 0;
/** Register file: REGISTER_COUNT column blocks. */
export let registers: usize = 0;

export function contextInit(): void {
  poolInit(scratch, 65536, WORKSPACE);
  registers = alloc(REGISTER_COUNT * COL_SIZE, WORKSPACE);
}

export function scratchReset(): void {
  poolReset(scratch);
  computed = 0;
}

// @ts-ignore: decorator
@inline export function addWork(rows: u32): void {
  worked += rows;
}

export function resetWork(): void {
  worked = 0;
}

/** Lends other column blocks to the operations as registers; returns the blocks used before. */
export function setRegisters(blocks: usize): usize {
  const before = registers;
  registers = blocks;
  return before;
}

export function setComputed(bytes: u64): void {
  computed = bytes;
}

export function setBatch(newCols: usize, newRows: u32, newSel: usize, newSelLen: u32, newRowErrors: usize): void {
  cols = newCols;
  rows = newRows;
  sel = newSel;
  selLen = newSelLen;
  rowErrors = newRowErrors;
}

export function setSelection(newSel: usize, newSelLen: u32): void {
  sel = newSel;
  selLen = newSelLen;
}

export function setRowErrors(col: usize): void {
  rowErrors = col;
}

export function setBranch(number: u32): void {
  branch = number;
}

export function setNow(ms: f64): void {
  nowMs = ms;
}
