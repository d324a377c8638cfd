// The host's side of requests: it gives the rows of an answer in columns, batch by batch, and closes it.
import * as ctx from '../../batch/context';
import { accountOf, exhaust } from '../../node/node';
import { stageAcquire, stageRelease } from '../../batch/stage';
import { clearDeadline, setDeadline } from '../../node/timers';
import { LookupFlag } from '../../gen/lookup-layouts';
import {
  MEMBER_KEY_LEN,
  MEMBER_KEY_OFF,
  MEMBER_SIZE,
  MEMBER_TAG,
  Tag,
  lenOf,
  offOf,
  span,
  tagAt,
  valAt,
} from '../../mem/layout';
import { poolAlloc } from '../../mem/pool';
import { plainError } from '../../value/error';
import {
  Answer,
  EntryState,
  answersShapes,
  askedIn,
  entryAdd,
  entryDone,
  entryFail,
  entryRows,
  entryState,
  foundIn,
} from './answers';
import { drain } from './ask';
import { hasStates } from './partitions';
import { askStates, calledCount, calledEntry, endStates, takeState } from './states';
import { answersOf, hasFlag, queueOf, requestsOf, specOf } from './asking';
import { Queue, itemNumber, queueBatches, queueFirst, queueNumber, queueWaiting } from './queue';
import { recordNew } from '../record';
import {
  Request,
  requestCount,
  requestDeadline,
  requestDrop,
  requestEntry,
  requestOf,
  requestsFirst,
} from './requests';
import { Node } from '../../gen/node-layouts';

let node: Node = changetype<Node>(0);
let request: Request = changetype<Request>(0);

/**
 * Begins the answer to a request; returns how many lists of values it asked for, 0 when nobody waits for it any more.
 */
export function answerBegin(to: Node, number: u32, now: f64): u32 {
  ctx.setNow(now);
  ctx.scratchReset();
  node = to;
  request = requestOf(requestsOf(to), number);
  return !request ? 0 : hasStates(to) ? calledCount(to) : requestCount(request);
}

/**
 * Blocks for a batch of rows: u32[count + 1], the first for the number of the list that a row answers, the others for
 * its columns. 0 when memory is exhausted.
 */
export function answerBlocks(count: u32): usize {
  return stageAcquire(count + 1);
}

/**
 * Takes the first `n` rows of the blocks; `names` {address u32, length u32}[count], ascending by bytes. Values that are
 * MISSING are no part of their row.
 */
export function answerRows(blocks: usize, names: usize, count: u32, n: u32): void {
  const acct = accountOf(node);
  const isSingle = hasFlag(specOf(node), LookupFlag.IS_SINGLE);
  const keepsStates = hasStates(node);
  const members = poolAlloc(ctx.scratch, count * MEMBER_SIZE);
  for (let row: u32 = 0; row < n && members; row++) {
    const list = <u32>valAt(<usize>load<u32>(blocks), row);
    const entry = entryAt(list);
    const value = count ? <usize>load<u32>(blocks + 4) : 0;
    if (keepsStates && !entry && value) takeState(node, list, tagAt(value, row), valAt(value, row));
    if (!entry || entryState(entry) != EntryState.WAITING) continue;
    if (isSingle && entryRows(entry)) {
      const text = plainError('the answer has several rows for one key');
      entryFail(answersOf(node), entry, offOf(text), lenOf(text), acct);
      continue;
    }
    if (keepsStates && value && tagAt(value, row) == Tag.ERROR) {
      // A row for which a function that looks back fails is an error row.
      entryFail(answersOf(node), entry, offOf(valAt(value, row)), lenOf(valAt(value, row)), acct);
      continue;
    }
    let held: u32 = 0;
    for (let c: u32 = 0; c < count; c++) {
      const block = <usize>load<u32>(blocks + ((<usize>(c + 1)) << 2));
      const tag = tagAt(block, row);
      if (tag == Tag.MISSING) continue;
      const member = members + <usize>(held++ * MEMBER_SIZE);
      store<u64>(member, valAt(block, row));
      store<u32>(member, <u32>tag, MEMBER_TAG);
      store<u32>(member, load<u32>(names + ((<usize>c) << 3), 4), MEMBER_KEY_LEN);
      store<u32>(member, load<u32>(names + ((<usize>c) << 3)), MEMBER_KEY_OFF);
      store<u32>(member, 0, MEMBER_KEY_OFF + 4);
    }
    const record = recordNew(answersShapes(answersOf(node)), span(members, held), acct);
    if (record) entryAdd(entry, record);
    else failNoRoom(entry);
  }
  stageRelease(count + 1);
  ctx.scratchReset();
}

/** The entry that value `i` of the answer is for; 0: there is none. */
function entryAt(i: u32): Answer {
  if (hasStates(node)) return calledEntry(node, i);
  return i < requestCount(request) ? requestEntry(request, i) : changetype<Answer>(0);
}

function failNoRoom(entry: Answer): void {
  const text = plainError('memory is exhausted');
  entryFail(answersOf(node), entry, offOf(text), lenOf(text), accountOf(node));
}

/** Fails the answer for list `i` with the text of an error. */
export function answerFail(i: u32, off: usize, len: u32): void {
  const entry = entryAt(i);
  if (entry) entryFail(answersOf(node), entry, off, len, accountOf(node));
}

/** Closes the answer and sends the rows that had waited for it. */
export function answerClose(): void {
  if (hasStates(node)) {
    endStates(node, request);
    request = changetype<Request>(0);
    if (!askStates(node)) exhaust(node);
    drain(node);
    return;
  }
  const spec = specOf(node);
  const acct = accountOf(node);
  const ttl = spec.ttl;
  const expires: f64 = ttl > 0 ? ctx.nowMs + ttl : 0;
  const count = requestCount(request);
  for (let i: u32 = 0; i < count; i++) {
    entryDone(
      answersOf(node),
      requestEntry(request, i),
      hasFlag(spec, LookupFlag.KEEPS),
      hasFlag(spec, LookupFlag.KEEPS_MISSES),
      expires,
      acct,
    );
  }
  const requests = requestsOf(node);
  requestDrop(requests, request, acct);
  request = changetype<Request>(0);
  const next = requestsFirst(requests);
  clearDeadline(node);
  if (next && !setDeadline(node, requestDeadline(next))) exhaust(node);
  drain(node);
}

/** Batches of rows that wait in a node. */
export function waitingBatches(asking: Node): u32 {
  return queueBatches(changetype<Queue>(queueOf(asking)));
}

/** Rows that wait in a node. */
export function waitingRows(asking: Node): u32 {
  return queueWaiting(changetype<Queue>(queueOf(asking)));
}

/** Number of the last item that came to wait in the node; 0 none. */
export function waitingLast(asking: Node): u32 {
  return queueNumber(changetype<Queue>(queueOf(asking)));
}

export function waitingFirst(asking: Node): u32 {
  const item = queueFirst(changetype<Queue>(queueOf(asking)));
  return item ? itemNumber(item) : 0;
}

export function answersFound(asking: Node): u64 {
  return foundIn(answersOf(asking));
}

export function answersAsked(asking: Node): u64 {
  return askedIn(answersOf(asking));
}
