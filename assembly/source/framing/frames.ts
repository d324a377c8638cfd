// Framing by lines and by length prefixes.
import * as message from './message';
import { Packet } from './mqtt';
import { Source } from '../columns/state';

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

function countOversized(state: Source): void {
  state.oversized++;
}

/** Finds the line at `p`. */
export function nextLine(state: Source, p: usize, end: usize): u32 {
  const feed = findLineFeed(p, end);
  const most = <usize>state.maxMessage;
  if (feed == end) {
    if (end - p <= most + 1 && !message.skipsUnfinished) return Packet.INCOMPLETE;
    countOversized(state);
    state.skip = u64.MAX_VALUE;
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
export function nextFrame(state: Source, p: usize, end: usize): u32 {
  if (p + 8 > end) return Packet.INCOMPLETE;
  const payloadLen = <u64>load<u32>(p);
  const metaLen = <u64>load<u32>(p, 4);
  const total = 8 + payloadLen + metaLen;
  const most = <u64>state.maxMessage;
  const there = <u64>(end - p);
  if (payloadLen > most || metaLen > most || (message.skipsUnfinished && there < total)) {
    countOversized(state);
    if (total > there) {
      state.skip = total - there;
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
export function skipRest(state: Source, p: usize, end: usize): usize {
  const left = state.skip;
  if (left == u64.MAX_VALUE) {
    const feed = findLineFeed(p, end);
    if (feed == end) return end;
    state.skip = 0;
    return feed + 1;
  }
  const n = min(left, <u64>(end - p));
  state.skip = left - n;
  return p + <usize>n;
}
