// Result of an aggregate: written by the function in agg/functions/, read by its caller right after.
import { Tag } from '../../mem/layout';

export let resultTag: u8 = 0;
export let resultVal: u64 = 0;

// @ts-ignore: decorator
@inline export function giveResult(tag: u8, payload: u64): void {
  resultTag = tag;
  resultVal = payload;
}

/** Sets the value of a state as the result; null when no value was taken. */
// @ts-ignore: decorator
@inline export function giveValue(tag: u8, payload: u64): void {
  giveResult(tag == Tag.MISSING ? Tag.NULL : tag, payload);
}
