// The kernel as it ships, built for the tests when its sources have changed.
export * from '../index';

import { operatorOf } from '../node/operator';

/** Functions that a kind of operator has: a bit for each in the order of its record. */
export function operatorFunctions(kind: u32): u32 {
  const record = changetype<usize>(operatorOf(kind));
  let functions: u32 = 0;
  for (let i: u32 = 0; i < 7; i++) if (load<u32>(record + ((<usize>i) << 2))) functions |= 1 << i;
  return functions;
}
