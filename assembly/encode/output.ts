// Bytes on their way to the host. All encode nodes write into one region; what a node writes is a segment. Segments are
// handed out in one host call when the region is full and at the end of each feed and tick, so a thousand rules with a
// few rows each cost one call. A segment holds complete messages only.
import { alloc } from '../mem/alloc';
import { hostOutput } from '../batch/host';
import { Segment, ERROR_BIT, SEGMENT_SIZE_OF } from '../gen/encode-layouts';
import { Node } from '../gen/node-layouts';

export const OUT_SIZE: u32 = 1 << 20;
const MAX_SEGMENTS: u32 = 4096;
const MAX_ENDS: u32 = 1 << 16;
/** Room behind the region for wide stores of the writers. */
const SLACK: u32 = 64;

let region: usize = 0;
let position: usize = 0;
let segments: Segment = changetype<Segment>(0);
let segmentCount: u32 = 0;
let ends: usize = 0;
let endCount: u32 = 0;

/** End of the region; writers stay below it. */
export let outLimit: usize = 0;

export function outputInit(): bool {
  region = alloc(OUT_SIZE + SLACK, 0);
  segments = changetype<Segment>(alloc(MAX_SEGMENTS * SEGMENT_SIZE_OF, 0));
  ends = alloc(MAX_ENDS * 4, 0);
  position = region;
  outLimit = region + OUT_SIZE;
  return region != 0 && segments && ends != 0;
}

/** Hands everything written so far to the host. */
export function outFlush(): void {
  if (segmentCount) hostOutput(segments, segmentCount);
  segmentCount = 0;
  endCount = 0;
  position = region;
}

/** Opens a segment for messages of the node, going on with its last one where possible, and returns where to write. */
export function outOpen(node: Node, hasEnds: bool): usize {
  if (segmentCount) {
    const last = changetype<Segment>(changetype<usize>(segments) + (segmentCount - 1) * SEGMENT_SIZE_OF);
    if (last.node == node && position < outLimit) return position;
    if (segmentCount == MAX_SEGMENTS || position == outLimit) outFlush();
  }
  const at = changetype<Segment>(changetype<usize>(segments) + segmentCount++ * SEGMENT_SIZE_OF);
  at.node = node;
  at.host = node.host;
  at.off = <u32>position;
  at.len = 0;
  at.ends = hasEnds ? <u32>(ends + ((<usize>endCount) << 2)) : 0;
  store<u64>(changetype<usize>(at), 0, offsetof<Segment>('messages'));
  at.errors = 0;
  return position;
}

/** True when the list of ends has no room for `more` messages. */
// @ts-ignore: decorator
@inline export function outEndsFull(more: u32): bool {
  return endCount + more > MAX_ENDS;
}

/** Notes that a message of the open segment ends before `end`. */
// @ts-ignore: decorator
@inline export function outEnd(end: usize): void {
  const at = changetype<Segment>(changetype<usize>(segments) + (segmentCount - 1) * SEGMENT_SIZE_OF);
  store<u32>(ends + ((endCount++ as usize) << 2), <u32>end - at.off);
}

/** As `outEnd` for a message that is the text of an error. */
export function outErrorEnd(end: usize): void {
  const at = changetype<Segment>(changetype<usize>(segments) + (segmentCount - 1) * SEGMENT_SIZE_OF);
  store<u32>(ends + ((endCount++ as usize) << 2), (<u32>end - at.off) | ERROR_BIT);
  at.errors++;
}

/**
 * Closes the segment that was opened last: bytes up to `end` are written, with `messages` more messages and `rows` more
 * rows.
 */
export function outClose(end: usize, messages: u32, rows: u32): void {
  const at = changetype<Segment>(changetype<usize>(segments) + (segmentCount - 1) * SEGMENT_SIZE_OF);
  position = end;
  at.len = <u32>end - at.off;
  at.messages += messages;
  at.rows += rows;
  if (!messages && !at.len) segmentCount--;
}

/**
 * Hands out bytes that stand elsewhere, after everything before them. `endsPtr`: as in a segment, with so many errors.
 */
export function outDirect(
  node: Node,
  off: usize,
  len: u32,
  endsPtr: usize,
  messages: u32,
  rows: u32,
  errors: u32 = 0,
): void {
  outFlush();
  const at = segments;
  at.node = node;
  at.host = node.host;
  at.off = <u32>off;
  at.len = len;
  at.ends = <u32>endsPtr;
  at.messages = messages;
  at.rows = rows;
  at.errors = errors;
  segmentCount = 1;
  outFlush();
}
