// Functions that look back and are asked: the other side gets the states of the partitions with their rows, and gives
// them back with the answer. What it keeps itself counts for nothing, so saved state has all of it.
//
// One call is under way at a time, since the next one needs the states that it gives back; rows that have come
// meanwhile go together in the next call. The columns of a call are those of assembly/ops/call/states.ts: rows first,
// groups behind them, which are the partitions of the rows.
//
//   keys of an entry   partition by | arguments | WHEN, where there is a condition
//   calls              entry of each row of the call u32[rows] | first entry of each group u32[groups]
import * as ctx from '../../batch/context';
import { alloc, free } from '../../mem/alloc';
import { MEMBER_KEY_LEN, MEMBER_KEY_OFF, MEMBER_SIZE, MEMBER_TAG, Tag, lenOf, offOf, span } from '../../mem/layout';
import { Pool, poolAlloc } from '../../mem/pool';
import { accountOf, exhaust } from '../../node/node';
import { clearDeadline, setDeadline } from '../../node/timers';
import { LookupSpec } from '../../gen/lookup-layouts';
import { Node } from '../../gen/node-layouts';
import { keep, keptTag, keptVal, setSlotPlace, slotOwn, slotPlace } from '../../partitions/slot';
import { plainError } from '../../value/error';
import {
  Answer,
  EntryState,
  answersShapes,
  entryAdd,
  entryDone,
  entryFail,
  entryFirst,
  entryState,
  entryTag,
  entryVal,
} from './answers';
import { hasWhen, lastOf, partitionOf, stateOf, statesFree } from './partitions';
import { answersOf, requestsOf, roundOf, specOf, statesOf } from './asking';
import { Record, recordNew, recordShape, recordTag, recordVal } from '../record';
import {
  Request,
  askHost,
  requestCount,
  requestDeadline,
  requestDrop,
  requestEntry,
  requestSetDeadline,
  requestsFirst,
  requestsJoin,
} from './requests';
import { shapeCount } from '../shape';
import { fieldAt } from '../spec';

/** Rows of a call at most. */
const CALL_ROWS: u32 = 1024;

/** Frees what a node keeps of its states. */
export function askStatesFree(node: Node): void {
  const round = roundOf(node);
  if (round.calls) free(round.calls, round.size, accountOf(node));
  statesFree(node);
}

/** The function does not take the row in: WHEN is false. */
function isLeftOut(spec: LookupSpec, entry: Answer): bool {
  if (!hasWhen(spec)) return false;
  const keys = spec.keys;
  return entryTag(entry, keys, keys - 1) == Tag.BOOL && entryVal(entry, keys - 1) == 0;
}

/** Asks for the rows that wait, as many as go in one call, unless a call is under way. False without memory. */
export function askStates(node: Node): bool {
  const requests = requestsOf(node);
  const round = roundOf(node);
  const acct = accountOf(node);
  while (!round.calls && requestsFirst(requests)) {
    requestsJoin(requests, CALL_ROWS, acct);
    const request = requestsFirst(requests);
    if (!begin(node, request)) return false;
    if (!round.calls) endStates(node, request);
  }
  return arm(node);
}

/** Asks for the rows of a request that the function takes in; none is under way when there are none. */
function begin(node: Node, request: Request): bool {
  const spec = specOf(node);
  const keys = spec.keys;
  const args = spec.args;
  const count = requestCount(request);
  const most = count << 1;
  const table = poolAlloc(ctx.scratch, (args + 1) << 3);
  const vals = poolAlloc(ctx.scratch, ((args + 1) * most) << 3);
  const tags = poolAlloc(ctx.scratch, (args + 1) * most);
  const slots = poolAlloc(ctx.scratch, count << 2);
  const calls = alloc(most << 2, accountOf(node));
  if (!table || !vals || !tags || !slots || !calls) {
    if (calls) free(calls, most << 2, accountOf(node));
    return false;
  }
  for (let c: u32 = 0; c <= args; c++) {
    store<u32>(table + ((<usize>c) << 3), <u32>(vals + ((<usize>(c * most)) << 3)));
    store<u32>(table + ((<usize>c) << 3), <u32>(tags + <usize>(c * most)), 4);
  }
  const groupVals = vals + ((<usize>(args * most)) << 3);
  const groupTags = tags + <usize>(args * most);
  let rows: u32 = 0;
  let groups: u32 = 0;
  let isWhole = true;
  for (let i: u32 = 0; i < count && isWhole; i++) {
    const entry = requestEntry(request, i);
    if (isLeftOut(spec, entry)) continue;
    const partition = partitionOf(node, entry);
    isWhole = !!partition;
    if (!isWhole) break;
    const slot = stateOf(partition);
    if (!slotPlace(slot)) {
      store<u32>(slots + ((<usize>groups) << 2), changetype<u32>(slot));
      store<u32>(calls + ((<usize>(count + groups)) << 2), changetype<u32>(entry));
      setSlotPlace(slot, ++groups);
    }
    for (let a: u32 = 0; a < args; a++) {
      store<u64>(vals + ((<usize>(a * most + rows)) << 3), entryVal(entry, spec.partitions + a));
      store<u8>(tags + <usize>(a * most + rows), entryTag(entry, keys, spec.partitions + a));
    }
    store<u64>(groupVals + ((<usize>rows) << 3), slotPlace(slot) - 1);
    store<u8>(groupTags + rows, Tag.I64);
    store<u32>(calls + ((<usize>rows) << 2), changetype<u32>(entry));
    rows++;
  }
  for (let g: u32 = 0; g < groups; g++) {
    const slot = changetype<Pool>(load<u32>(slots + ((<usize>g) << 2)));
    setSlotPlace(slot, 0);
    for (let a: u32 = 0; a < args; a++) store<u8>(tags + <usize>(a * most + rows + g), Tag.MISSING);
    store<u64>(groupVals + ((<usize>(rows + g)) << 3), keptVal(slot));
    store<u8>(groupTags + rows + g, keptTag(slot));
  }
  if (!rows || !isWhole) {
    free(calls, most << 2, accountOf(node));
    return isWhole;
  }
  const round = roundOf(node);
  round.calls = calls;
  round.size = most << 2;
  round.rows = rows;
  round.groups = groups;
  requestSetDeadline(request, ctx.nowMs + spec.timeout);
  askHost(node, request, rows + groups, table, args + 1);
  return true;
}

/** Rows and groups of the call under way. */
export function calledCount(node: Node): u32 {
  const round = roundOf(node);
  return round.rows + round.groups;
}

/** The entry of row `i` of the call; 0: there is no such row. */
export function calledEntry(node: Node, i: u32): Answer {
  const round = roundOf(node);
  return changetype<Answer>(round.calls && i < round.rows ? load<u32>(round.calls + ((<usize>i) << 2)) : 0);
}

/** True for a row that the function takes in. */
export function isCalled(node: Node, entry: Answer): bool {
  return !isLeftOut(specOf(node), entry);
}

/** Takes the value that the answer has for place `i` of the call, if that is a group: its state from now on. */
export function takeState(node: Node, i: u32, tag: u8, payload: u64): void {
  const round = roundOf(node);
  if (!round.calls || i < round.rows || i - round.rows >= round.groups) return;
  // Anything else: the state stays as it was.
  if (tag != Tag.BYTES && tag != Tag.NULL) return;
  const at = (round.size >> 3) + i - round.rows;
  const partition = partitionOf(node, changetype<Answer>(load<u32>(round.calls + ((<usize>at) << 2))));
  if (!partition) exhaust(node);
  else if (tag == Tag.NULL) keep(stateOf(partition), Tag.MISSING, 0);
  else own(node, stateOf(partition), tag, payload);
}

/** Keeps a copy of the value. */
function own(node: Node, slot: Pool, tag: u8, payload: u64): void {
  if (keep(slot, tag, payload) && !slotOwn(changetype<usize>(slot), accountOf(node))) exhaust(node);
}

/** The answer of a request is there, or it is given up: rows that were left out get the last result before them. */
export function endStates(node: Node, request: Request): void {
  const spec = specOf(node);
  const acct = accountOf(node);
  const round = roundOf(node);
  if (round.calls) free(round.calls, round.size, acct);
  round.calls = 0;
  const count = requestCount(request);
  for (let i: u32 = 0; i < count; i++) {
    const entry = requestEntry(request, i);
    if (entryState(entry) != EntryState.WAITING) continue;
    if (hasWhen(spec)) settleLast(node, spec, entry);
    entryDone(answersOf(node), entry, false, false, 0, acct);
  }
  requestDrop(requestsOf(node), request, acct);
}

function settleLast(node: Node, spec: LookupSpec, entry: Answer): void {
  const partition = partitionOf(node, entry);
  if (!partition) {
    exhaust(node);
    return;
  }
  const last = lastOf(partition);
  if (!isLeftOut(spec, entry)) {
    const record = entryFirst(entry);
    if (record && shapeCount(recordShape(record))) own(node, last, recordTag(record, 0), recordVal(record, 0));
    return;
  }
  const member = poolAlloc(ctx.scratch, MEMBER_SIZE);
  let record = changetype<Record>(0);
  if (member) {
    const field = fieldAt(spec, 0);
    const tag = keptTag(last);
    store<u64>(member, keptVal(last));
    store<u32>(member, tag == Tag.MISSING ? Tag.NULL : tag, MEMBER_TAG);
    store<u32>(member, field.nameLen, MEMBER_KEY_LEN);
    store<u32>(member, changetype<u32>(spec) + <u32>field.nameAt, MEMBER_KEY_OFF);
    store<u32>(member, 0, MEMBER_KEY_OFF + 4);
    record = recordNew(answersShapes(answersOf(node)), span(member, 1), accountOf(node));
  }
  if (record) entryAdd(entry, record);
  else {
    const text = plainError('memory is exhausted');
    entryFail(answersOf(node), entry, offOf(text), lenOf(text), accountOf(node));
  }
}

/** Sets the deadline of the node: when the call under way is given up, or the oldest partition forgotten. */
function arm(node: Node): bool {
  const ttl = specOf(node).stateTtl;
  const request = requestsFirst(requestsOf(node));
  const oldest = statesOf(node).first;
  let at: f64 = request && roundOf(node).calls ? requestDeadline(request) : Infinity;
  if (ttl > 0 && oldest) at = min(at, oldest.seen + ttl);
  if (at < Infinity) return setDeadline(node, at);
  clearDeadline(node);
  return true;
}
