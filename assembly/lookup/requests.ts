// Requests to the host: the keys of one batch that nobody has asked for yet, each once. Each is answered once, or given
// up when it has taken too long.
//
//   requests   0   first u32 | last u32 | number u32 (of the last one) | 0 u32
//   request    0   next u32 | number u32 | count u32 | 0 u32
//              16  deadline f64 (epoch ms)
//              24  entries u32[count]
import * as ctx from '../batch/context';
import { alloc, free } from '../mem/alloc';
import { poolAlloc } from '../mem/pool';
import { entryTag, entryVal } from './answers';

const FIRST: usize = 0;
const LAST: usize = 4;
const NUMBER: usize = 8;
export const REQUESTS_SIZE: u32 = 16;
const REQUEST_NUMBER: usize = 4;
const REQUEST_COUNT: usize = 8;
const REQUEST_DEADLINE: usize = 16;
const REQUEST_ENTRIES: u32 = 24;

/**
 * Says that the node asks for `count` lists of values: `keys` {vals u32, tags u32}, of each value of the list all of
 * them side by side. The host reads them now and answers later, in a call of its own. `isEach`: each list is that of
 * one row.
 */
// @ts-ignore: decorator
@external("host", "ask")
declare function hostAsk(node: usize, number: u32, count: u32, keys: usize, keyCount: u32, isEach: bool): void;

/** Makes a request for the entries at u32 `entries[0 … count)`; 0 when memory is exhausted. */
export function requestNew(requests: usize, entries: usize, count: u32, acct: usize): usize {
  const request = alloc(REQUEST_ENTRIES + (count << 2), acct);
  if (!request) return 0;
  const number = load<u32>(requests, NUMBER) + 1;
  store<u32>(requests, number, NUMBER);
  store<u32>(request, 0);
  store<u32>(request, number, REQUEST_NUMBER);
  store<u32>(request, count, REQUEST_COUNT);
  store<f64>(request, 0, REQUEST_DEADLINE);
  memory.copy(request + REQUEST_ENTRIES, entries, count << 2);
  const last = <usize>load<u32>(requests, LAST);
  if (last) store<u32>(last, <u32>request);
  else store<u32>(requests, <u32>request, FIRST);
  store<u32>(requests, <u32>request, LAST);
  return request;
}

/** Gives the host the request of the node, lists of `keys` values; false when memory is exhausted. */
export function requestSend(request: usize, node: usize, keys: u32, isEach: bool): bool {
  const count = requestCount(request);
  const table = poolAlloc(ctx.scratch, keys << 3);
  const vals = poolAlloc(ctx.scratch, (keys * count) << 3);
  const tags = poolAlloc(ctx.scratch, keys * count);
  if (!table || !vals || !tags) return false;
  for (let k: u32 = 0; k < keys; k++) {
    const toVals = vals + ((<usize>(k * count)) << 3);
    const toTags = tags + <usize>(k * count);
    store<u32>(table + ((<usize>k) << 3), <u32>toVals);
    store<u32>(table + ((<usize>k) << 3), <u32>toTags, 4);
    for (let i: u32 = 0; i < count; i++) {
      const entry = requestEntry(request, i);
      store<u64>(toVals + ((<usize>i) << 3), entryVal(entry, k));
      store<u8>(toTags + i, entryTag(entry, keys, k));
    }
  }
  hostAsk(node, load<u32>(request, REQUEST_NUMBER), count, table, keys, isEach);
  return true;
}

// @ts-ignore: decorator
@inline export function requestsFirst(requests: usize): usize {
  return <usize>load<u32>(requests, FIRST);
}

// @ts-ignore: decorator
@inline export function requestDeadline(request: usize): f64 {
  return load<f64>(request, REQUEST_DEADLINE);
}

// @ts-ignore: decorator
@inline export function requestSetDeadline(request: usize, deadline: f64): void {
  store<f64>(request, deadline, REQUEST_DEADLINE);
}

// @ts-ignore: decorator
@inline export function requestCount(request: usize): u32 {
  return load<u32>(request, REQUEST_COUNT);
}

// @ts-ignore: decorator
@inline export function requestEntry(request: usize, i: u32): usize {
  return <usize>load<u32>(request + ((<usize>i) << 2), REQUEST_ENTRIES);
}

/** The request of that number, 0 when it was answered or given up. */
export function requestOf(requests: usize, number: u32): usize {
  let request = requestsFirst(requests);
  while (request && load<u32>(request, REQUEST_NUMBER) != number) request = <usize>load<u32>(request);
  return request;
}

/** Takes a request out and frees it. */
export function requestDrop(requests: usize, request: usize, acct: usize): void {
  let before: usize = 0;
  for (let at = requestsFirst(requests); at != request; at = <usize>load<u32>(at)) before = at;
  const next = load<u32>(request);
  if (before) store<u32>(before, next);
  else store<u32>(requests, next, FIRST);
  if (!next) store<u32>(requests, <u32>before, LAST);
  free(request, REQUEST_ENTRIES + (requestCount(request) << 2), acct);
}

/** All are given up so many ms earlier. */
export function requestsSetBack(requests: usize, ms: f64): void {
  for (let request = requestsFirst(requests); request; request = <usize>load<u32>(request)) {
    store<f64>(request, load<f64>(request, REQUEST_DEADLINE) - ms, REQUEST_DEADLINE);
  }
}

export function requestsFree(requests: usize, acct: usize): void {
  while (requestsFirst(requests)) requestDrop(requests, requestsFirst(requests), acct);
}
