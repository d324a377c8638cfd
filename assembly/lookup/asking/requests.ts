// Requests to the host: the keys of one batch that nobody has asked for yet, each once. Each is answered once, or given
// up when it has taken too long.
//
//   requests   0   first u32 | last u32 | number u32 (of the last one) | 0 u32
//   request    0   next u32 | number u32 | count u32 | 0 u32
//              16  deadline f64 (epoch ms)
//              24  entries u32[count]
import * as ctx from '../../batch/context';
import { alloc, free } from '../../mem/alloc';
import { poolAlloc } from '../../mem/pool';
import { Answer, entryTag, entryVal } from './answers';
import { Node } from '../../gen/node-layouts';

/** Requests that have no answer yet. */
// @ts-ignore: decorator
@unmanaged
export class Requests {
  first: Request;
  last: Request;
  number: u32;
}

export const REQUESTS_SIZE: u32 = 16;
/** Keys that the host was asked for at once. */
// @ts-ignore: decorator
@unmanaged
export class Request {
  next: Request;
  number: u32;
  count: u32;
  deadline: f64;
}

const REQUEST_ENTRIES: u32 = 24;

/**
 * Says that the node asks for `count` lists of values: `keys` {vals u32, tags u32}, of each value of the list all of
 * them side by side. The host reads them now and answers later, in a call of its own. `isEach`: each list is that of
 * one row.
 */
// @ts-ignore: decorator
@external("host", "ask")
declare function hostAsk(node: Node, number: u32, count: u32, keys: usize, keyCount: u32, isEach: bool): void;

/** Has the host read the columns of one call, which has states (states.ts). */
export function askHost(node: Node, request: Request, count: u32, table: usize, columns: u32): void {
  hostAsk(node, request.number, count, table, columns, true);
}

/** Makes a request for the entries at u32 `entries[0 … count)`; 0 when memory is exhausted. */
export function requestNew(requests: Requests, entries: usize, count: u32, acct: usize): Request {
  const request = changetype<Request>(alloc(REQUEST_ENTRIES + (count << 2), acct));
  if (!request) return changetype<Request>(0);
  const number = requests.number + 1;
  requests.number = number;
  request.next = changetype<Request>(0);
  request.number = number;
  request.count = count;
  request.deadline = 0;
  memory.copy(changetype<usize>(request) + REQUEST_ENTRIES, entries, count << 2);
  const last = requests.last;
  if (last) last.next = request;
  else requests.first = request;
  requests.last = request;
  return request;
}

/** Gives the host the request of the node, lists of `keys` values; false when memory is exhausted. */
export function requestSend(request: Request, node: Node, keys: u32, isEach: bool): bool {
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
  hostAsk(node, request.number, count, table, keys, isEach);
  return true;
}

/** Makes one request of the first ones, as far as that has no more than `most` entries. */
export function requestsJoin(requests: Requests, most: u32, acct: usize): void {
  const first = requests.first;
  let last = first;
  let count = first.count;
  for (let next = first.next; next && count + next.count <= most; next = next.next) {
    count += next.count;
    last = next;
  }
  if (last == first) return;
  const joined = changetype<Request>(alloc(REQUEST_ENTRIES + (count << 2), acct));
  // Without memory they go one by one.
  if (!joined) return;
  const after = last.next;
  joined.next = after;
  joined.number = first.number;
  joined.count = count;
  joined.deadline = 0;
  let to = changetype<usize>(joined) + REQUEST_ENTRIES;
  for (let request = first; request != after; ) {
    const next = request.next;
    const size = request.count << 2;
    memory.copy(to, changetype<usize>(request) + REQUEST_ENTRIES, size);
    to += size;
    free(changetype<usize>(request), REQUEST_ENTRIES + size, acct);
    request = next;
  }
  requests.first = joined;
  if (!after) requests.last = joined;
}

// @ts-ignore: decorator
@inline export function requestsFirst(requests: Requests): Request {
  return requests.first;
}

// @ts-ignore: decorator
@inline export function requestDeadline(request: Request): f64 {
  return request.deadline;
}

// @ts-ignore: decorator
@inline export function requestSetDeadline(request: Request, deadline: f64): void {
  request.deadline = deadline;
}

// @ts-ignore: decorator
@inline export function requestCount(request: Request): u32 {
  return request.count;
}

// @ts-ignore: decorator
@inline export function requestEntry(request: Request, i: u32): Answer {
  return changetype<Answer>(load<u32>(changetype<usize>(request) + ((<usize>i) << 2), REQUEST_ENTRIES));
}

/** The request of that number, 0 when it was answered or given up. */
export function requestOf(requests: Requests, number: u32): Request {
  let request = requestsFirst(requests);
  while (request && request.number != number) request = request.next;
  return request;
}

/** Takes a request out and frees it. */
export function requestDrop(requests: Requests, request: Request, acct: usize): void {
  let before: Request = changetype<Request>(0);
  for (let at = requestsFirst(requests); at != request; at = at.next) before = at;
  const next = request.next;
  if (before) before.next = next;
  else requests.first = next;
  if (!next) requests.last = before;
  free(changetype<usize>(request), REQUEST_ENTRIES + (requestCount(request) << 2), acct);
}

/** Moves the deadlines of all requests `ms` milliseconds back. */
export function requestsSetBack(requests: Requests, ms: f64): void {
  for (let request = requestsFirst(requests); request; request = request.next) {
    request.deadline -= ms;
  }
}

export function requestsFree(requests: Requests, acct: usize): void {
  while (requestsFirst(requests)) requestDrop(requests, requestsFirst(requests), acct);
}
