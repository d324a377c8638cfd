// Framing by lines and by length prefixes.
import * as message from './message';
import { STREAM_MAX_MESSAGE, SOURCE_OVERSIZED, SOURCE_SKIP } from '../columns/state';
import { Packet } from './mqtt';

/** Position after the message found. */
export let frameEnd: usize = 0;

/** Position of the next line feed, `end` when there is none. */
function findLineFeed(p0: usize, end: usize): usize {
  for (let p = p0; p < end; p += 16) {
    const hits = <u32>i8x16.bitmask(i8x16.eq(v128.load(p), i8x16.splat(0x0a)));
    if (hits) return min(p + ctz(hits), end);
  }
  return end;
}

function countOversized(state: usize): void {
  store<u64>(state, load<u64>(state, SOURCE_OVERSIZED) + 1, SOURCE_OVERSIZED);
}

/** Finds the line at `p`. */
export function nextLine(state: usize, p: usize, end: usize): u32 {
  const feed = findLineFeed(p, end);
  const most = <usize>load<u32>(state, STREAM_MAX_MESSAGE);
  if (feed == end) {
    if (end - p <= most + 1 && !message.skipsUnfinished) return Packet.INCOMPLETE;
    countOversized(state);
    store<u64>(state, u64.MAX_VALUE, SOURCE_SKIP);
    frameEnd = end;
    return Packet.OTHER;
  }
  frameEnd = feed + 1;
  const stop = feed > p && load<u8>(feed - 1) == 0x0d ? feed - 1 : feed;
  if (stop - p > most) {
    countOversized(state);
    return Packet.OTHER;
  }
  message.setPayload(p, stop);
  message.setExtra(p, p);
  return Packet.MESSAGE;
}

/** Finds the frame at `p`: payload length u32, metadata length u32, metadata, payload. */
export function nextFrame(state: usize, p: usize, end: usize): u32 {
  if (p + 8 > end) return Packet.INCOMPLETE;
  const payloadLen = <u64>load<u32>(p);
  const metaLen = <u64>load<u32>(p, 4);
  const total = 8 + payloadLen + metaLen;
  const most = <u64>load<u32>(state, STREAM_MAX_MESSAGE);
  const there = <u64>(end - p);
  if (payloadLen > most || metaLen > most || (message.skipsUnfinished && there < total)) {
    countOversized(state);
    if (total > there) {
      store<u64>(state, total - there, SOURCE_SKIP);
      frameEnd = end;
    } else frameEnd = p + <usize>total;
    return Packet.OTHER;
  }
  if (there < total) return Packet.INCOMPLETE;
  const meta = p + 8;
  const payload = meta + <usize>metaLen;
  frameEnd = payload + <usize>payloadLen;
  message.setExtra(meta, payload);
  message.setPayload(payload, frameEnd);
  return Packet.MESSAGE;
}

/** Skips what is left of an oversized message; returns the position to go on from. */
export function skipRest(state: usize, p: usize, end: usize): usize {
  const left = load<u64>(state, SOURCE_SKIP);
  if (left == u64.MAX_VALUE) {
    const feed = findLineFeed(p, end);
    if (feed == end) return end;
    store<u64>(state, 0, SOURCE_SKIP);
    return feed + 1;
  }
  const n = min(left, <u64>(end - p));
  store<u64>(state, left - n, SOURCE_SKIP);
  return p + <usize>n;
}
