// The state of a lookup that asks the host, and its request for the keys without an entry.
import * as ctx from '../batch/context';
import { accountOf } from '../node/node';
import { setDeadline } from '../node/timers';
import { LookupSpec, LookupFlag } from '../gen/lookup-layouts';
import { toF64 } from '../value/number';
import { Answers, Answer, ANSWERS_SIZE, entryTag, entryVal } from './answers';
import { QUEUE_SIZE } from './queue';
import { Requests, REQUESTS_SIZE, requestNew, requestSend, requestSetDeadline, requestsFirst } from './requests';
import { Node } from '../gen/node-layouts';
import { Look } from './spec';
import { NamesIndex } from './names-index';

export const ASKING_SIZE: u32 = QUEUE_SIZE + REQUESTS_SIZE + ANSWERS_SIZE;

// @ts-ignore: decorator
@inline export function specOf(node: Node): LookupSpec {
  return changetype<LookupSpec>(node.spec);
}

// @ts-ignore: decorator
@inline export function askingOf(node: Node): NamesIndex {
  return changetype<Look>(node.state).index;
}

// @ts-ignore: decorator
@inline export function queueOf(node: Node): usize {
  return changetype<usize>(askingOf(node));
}

// @ts-ignore: decorator
@inline export function requestsOf(node: Node): Requests {
  return changetype<Requests>(changetype<usize>(askingOf(node)) + QUEUE_SIZE);
}

// @ts-ignore: decorator
@inline export function answersOf(node: Node): Answers {
  return changetype<Answers>(changetype<usize>(askingOf(node)) + QUEUE_SIZE + REQUESTS_SIZE);
}

// @ts-ignore: decorator
@inline export function hasFlag(spec: LookupSpec, flag: u32): bool {
  return (spec.flags & flag) != 0;
}

/** Entries of the batch that are to be asked for. */
export const FRESH: usize = memory.data(4 * 1024, 16);

/** Asks for the entries in FRESH. */
export function ask(node: Node, count: u32): bool {
  const spec = specOf(node);
  const requests = requestsOf(node);
  const isFirst = !requestsFirst(requests);
  const request = requestNew(requests, FRESH, count, accountOf(node));
  if (!request) return false;
  let deadline = ctx.nowMs + spec.timeout;
  if (hasFlag(spec, LookupFlag.IS_DELAY)) deadline = lastDue(count);
  else if (!requestSend(request, node, spec.keys, hasFlag(spec, LookupFlag.IS_EACH))) return false;
  requestSetDeadline(request, deadline);
  return !isFirst || setDeadline(node, deadline);
}

/**
 * Latest of the times that are the keys of the entries in FRESH; rows keep their order, so later rows wait for it as
 * well.
 */
function lastDue(count: u32): f64 {
  let last: f64 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const entry = changetype<Answer>(load<u32>(FRESH + ((<usize>i) << 2)));
    last = max(last, toF64(entryTag(entry, 1, 0), entryVal(entry, 0)));
  }
  return last;
}
