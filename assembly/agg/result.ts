// The result of an aggregate: set by what computes it (agg/finish.ts), read by its caller right after.

export let resultTag: u8 = 0;
export let resultVal: u64 = 0;

// @ts-ignore: decorator
@inline export function giveResult(tag: u8, payload: u64): void {
  resultTag = tag;
  resultVal = payload;
}
