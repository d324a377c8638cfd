// Bytes on their way to the host. All encode nodes write into one region; what a node writes is a segment. Segments are
// handed out in one host call when the region is full and at the end of each feed and tick, so a thousand rules with a
// few rows each cost one call. A segment holds complete messages only.
import { alloc } from '../mem/alloc';
import { N_HOST } from '../node/node';
import { hostOutput } from '../batch/host';
import {
  ERROR_BIT,
  SEGMENT_ENDS,
  SEGMENT_ERRORS,
  SEGMENT_HOST,
  SEGMENT_LEN,
  SEGMENT_MESSAGES,
  SEGMENT_NODE,
  SEGMENT_OFF,
  SEGMENT_ROWS,
  SEGMENT_SIZE_OF,
} from '../gen/encode-layouts';

export const OUT_SIZE: u32 = 1 << 20;
const MAX_SEGMENTS: u32 = 4096;
const MAX_ENDS: u32 = 1 << 16;
/** Room behind the region for wide stores of the writers. */
const SLACK: u32 = 64;

let region: usize = 0;
let position: usize = 0;
let segments: usize = 0;
let segmentCount: u32 = 0;
let ends: usize = 0;
let endCount: u32 = 0;

/** End of the region; writers stay below it. */
export let outLimit: usize = 0;

export function outputInit(): bool {
  region = alloc(OUT_SIZE + SLACK, 0);
  segments = alloc(MAX_SEGMENTS * SEGMENT_SIZE_OF, 0);
  ends = alloc(MAX_ENDS * 4, 0);
  position = region;
  outLimit = region + OUT_SIZE;
  return region != 0 && segments != 0 && ends != 0;
}

/** Hands everything written so far to the host. */
export function outFlush(): void {
  if (segmentCount) hostOutput(segments, segmentCount);
  segmentCount = 0;
  endCount = 0;
  position = region;
}

/** Opens a segment for messages of the node, going on with its last one where possible, and returns where to write. */
export function outOpen(node: usize, hasEnds: bool): usize {
  if (segmentCount) {
    const last = segments + (segmentCount - 1) * SEGMENT_SIZE_OF;
    if (<usize>load<u32>(last, SEGMENT_NODE) == node && position < outLimit) return position;
    if (segmentCount == MAX_SEGMENTS || position == outLimit) outFlush();
  }
  const at = segments + segmentCount++ * SEGMENT_SIZE_OF;
  store<u32>(at, <u32>node, SEGMENT_NODE);
  store<u32>(at, load<u32>(node, N_HOST), SEGMENT_HOST);
  store<u32>(at, <u32>position, SEGMENT_OFF);
  store<u32>(at, 0, SEGMENT_LEN);
  store<u32>(at, hasEnds ? <u32>(ends + ((<usize>endCount) << 2)) : 0, SEGMENT_ENDS);
  store<u64>(at, 0, SEGMENT_MESSAGES);
  store<u32>(at, 0, SEGMENT_ERRORS);
  return position;
}

/** True when so many more messages do not fit the list of ends. */
// @ts-ignore: decorator
@inline export function outEndsFull(more: u32): bool {
  return endCount + more > MAX_ENDS;
}

/** Notes that a message of the open segment ends before `end`. */
// @ts-ignore: decorator
@inline export function outEnd(end: usize): void {
  const at = segments + (segmentCount - 1) * SEGMENT_SIZE_OF;
  store<u32>(ends + ((endCount++ as usize) << 2), <u32>end - load<u32>(at, SEGMENT_OFF));
}

/** The same of a message that is the text of an error. */
export function outErrorEnd(end: usize): void {
  const at = segments + (segmentCount - 1) * SEGMENT_SIZE_OF;
  store<u32>(ends + ((endCount++ as usize) << 2), (<u32>end - load<u32>(at, SEGMENT_OFF)) | ERROR_BIT);
  store<u32>(at, load<u32>(at, SEGMENT_ERRORS) + 1, SEGMENT_ERRORS);
}

/** Closes the segment that was opened last: bytes up to `end` are written, with so many more messages and rows. */
export function outClose(end: usize, messages: u32, rows: u32): void {
  const at = segments + (segmentCount - 1) * SEGMENT_SIZE_OF;
  position = end;
  store<u32>(at, <u32>end - load<u32>(at, SEGMENT_OFF), SEGMENT_LEN);
  store<u32>(at, load<u32>(at, SEGMENT_MESSAGES) + messages, SEGMENT_MESSAGES);
  store<u32>(at, load<u32>(at, SEGMENT_ROWS) + rows, SEGMENT_ROWS);
  if (!messages && !load<u32>(at, SEGMENT_LEN)) segmentCount--;
}

/**
 * Hands out bytes that stand elsewhere, after everything before them. `endsPtr`: as in a segment, with so many errors.
 */
export function outDirect(
  node: usize,
  off: usize,
  len: u32,
  endsPtr: usize,
  messages: u32,
  rows: u32,
  errors: u32 = 0,
): void {
  outFlush();
  const at = segments;
  store<u32>(at, <u32>node, SEGMENT_NODE);
  store<u32>(at, load<u32>(node, N_HOST), SEGMENT_HOST);
  store<u32>(at, <u32>off, SEGMENT_OFF);
  store<u32>(at, len, SEGMENT_LEN);
  store<u32>(at, <u32>endsPtr, SEGMENT_ENDS);
  store<u32>(at, messages, SEGMENT_MESSAGES);
  store<u32>(at, rows, SEGMENT_ROWS);
  store<u32>(at, errors, SEGMENT_ERRORS);
  segmentCount = 1;
  outFlush();
}
