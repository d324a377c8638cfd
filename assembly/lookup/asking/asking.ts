// The state of a lookup that asks the host.
import { LookupSpec } from '../../gen/lookup-layouts';
import { Node } from '../../gen/node-layouts';
import { TABLE_SIZE } from '../../partitions/table';
import { PartitionTable } from '../../partitions/table-slots';
import { Answers, ANSWERS_SIZE } from './answers';
import { NamesIndex } from '../names-index';
import { QUEUE_SIZE } from './queue';
import { Requests, REQUESTS_SIZE } from './requests';
import { Look } from '../spec';

/** Places of the partitions of a function that looks back, and of its call under way (states.ts). */
const STATES_AT: u32 = QUEUE_SIZE + REQUESTS_SIZE + ANSWERS_SIZE;
const ROUND_AT: u32 = STATES_AT + TABLE_SIZE;
export const ASKING_SIZE: u32 = ROUND_AT + 24;

/** The call under way of a function that looks back. */
// @ts-ignore: decorator
@unmanaged
class Round {
  /** Partitions that were forgotten. */
  forgotten: u64;
  /** 0: no call is under way. */
  calls: usize;
  size: u32;
  rows: u32;
  groups: u32;
}

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

// @ts-ignore: decorator
@inline export function statesOf(node: Node): PartitionTable {
  return changetype<PartitionTable>(changetype<usize>(askingOf(node)) + STATES_AT);
}

// @ts-ignore: decorator
@inline export function roundOf(node: Node): Round {
  return changetype<Round>(changetype<usize>(askingOf(node)) + ROUND_AT);
}
