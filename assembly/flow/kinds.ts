// What each kind of operator does when it is made, with a batch, with the begin and end of a message, with a timer and
// when it is freed. Adding a kind: a file of its own and one line in each switch.
import { NodeKind, N_KIND } from './node';
import { encodeFree, encodeOpen, encodePush } from './encode';
import { encodeBegin, encodeEnd, encodeFlush, encodeTick } from './gather';
import { filterBegin, filterEnd, filterFree, filterOpen, filterPush } from './filter';
import { limitBegin, limitEnd, limitPush } from './limit';
import { joinBegin, joinEnd, joinFree, joinOpen, joinPush } from '../join/join';
import { portFlush, portPush } from '../join/merge';
import { eventTimeFree, eventTimeOpen, eventTimePush } from '../window/event-time';
import { sortBegin, sortEnd, sortFree, sortOpen, sortPush } from '../window/sort';
import { messageBegin, messageEnd } from '../window/message';
import { windowFree, windowOpen, windowPush, windowTick } from '../window/window';

/** Makes the state of a new node from its spec; false when memory is exhausted. */
export function openOf(node: usize): bool {
  switch (load<u32>(node, N_KIND)) {
    case NodeKind.FILTER: return filterOpen(node);
    case NodeKind.ENCODE: return encodeOpen(node);
    case NodeKind.WINDOW: return windowOpen(node);
    case NodeKind.EVENT_TIME: return eventTimeOpen(node);
    case NodeKind.SORT: return sortOpen(node);
    case NodeKind.JOIN: return joinOpen(node);
    default: return true;
  }
}

/** Gives the current batch to the operator. */
export function pushTo(node: usize): void {
  switch (load<u32>(node, N_KIND)) {
    case NodeKind.FILTER: filterPush(node); break;
    case NodeKind.LIMIT: limitPush(node); break;
    case NodeKind.ENCODE: encodePush(node); break;
    case NodeKind.WINDOW: windowPush(node); break;
    case NodeKind.EVENT_TIME: eventTimePush(node); break;
    case NodeKind.SORT: sortPush(node); break;
    case NodeKind.PORT: portPush(node); break;
    case NodeKind.JOIN: joinPush(node); break;
    default: break;
  }
}

/** Tells the operator that a message begins. */
export function beginOf(node: usize): void {
  switch (load<u32>(node, N_KIND)) {
    case NodeKind.FILTER: filterBegin(node); break;
    case NodeKind.LIMIT: limitBegin(node); break;
    case NodeKind.ENCODE: encodeBegin(node); break;
    case NodeKind.SORT: sortBegin(node); break;
    case NodeKind.JOIN: joinBegin(node); break;
    case NodeKind.WINDOW: messageBegin(node); break;
    default: break;
  }
}

/** Tells the operator that the message ends; see `endMessage`. */
export function endOf(node: usize, failedOff: usize, failedLen: u32): void {
  switch (load<u32>(node, N_KIND)) {
    case NodeKind.FILTER: filterEnd(node, failedOff, failedLen); break;
    case NodeKind.LIMIT: limitEnd(node, failedOff, failedLen); break;
    case NodeKind.ENCODE: encodeEnd(node, failedOff, failedLen); break;
    case NodeKind.SORT: sortEnd(node, failedOff, failedLen); break;
    case NodeKind.JOIN: joinEnd(node, failedOff, failedLen); break;
    case NodeKind.WINDOW: messageEnd(node, failedOff, failedLen); break;
    default: break;
  }
}

/** Tells the operator that its deadline (flow/timers.ts) has come. */
export function tickOf(node: usize, now: f64): void {
  switch (load<u32>(node, N_KIND)) {
    case NodeKind.ENCODE: encodeTick(node); break;
    case NodeKind.WINDOW: windowTick(node); break;
    default: break;
  }
}

/** Lets the operator send what it holds back only to save messages. */
export function flushOf(node: usize): void {
  switch (load<u32>(node, N_KIND)) {
    case NodeKind.ENCODE: encodeFlush(node); break;
    case NodeKind.PORT: portFlush(node); break;
    default: break;
  }
}

/** Frees the state of the operator. */
export function freeOf(node: usize): void {
  switch (load<u32>(node, N_KIND)) {
    case NodeKind.FILTER: filterFree(node); break;
    case NodeKind.ENCODE: encodeFree(node); break;
    case NodeKind.WINDOW: windowFree(node); break;
    case NodeKind.EVENT_TIME: eventTimeFree(node); break;
    case NodeKind.SORT: sortFree(node); break;
    case NodeKind.JOIN: joinFree(node); break;
    default: break;
  }
}
