// A join that comes to work while another one is at work: it stands below that one, which has sent rows before it has
// seen all its pairs, with windows in between. It puts the run of the other aside and gives it back when its own is
// over. So is a join put aside that stops in between (join/message/steps.ts).
//
// Rows of the output need not be put aside: they have been written when a node below comes to work.
import { alloc, free, WORKSPACE } from '../../mem/alloc';
import { outputBegin } from './output';
import { EQUAL_SIZE, equalRestore, equalSave } from './equal';
import { HASH_SIZE, hashRestore, hashSave } from './hash';
import { PAIRS_SIZE, pairsRestore, pairsSave } from './pairs';
import { RUN_SIZE, runLeave, runRestore, runSave } from './run';
import { STEPS_SIZE, stepsRestore, stepsSave } from './steps';

const STEPS: usize = RUN_SIZE + PAIRS_SIZE;
const HASH: usize = STEPS + STEPS_SIZE;
const EQUAL: usize = HASH + HASH_SIZE;
const SIZE: u32 = <u32>EQUAL + EQUAL_SIZE;

/** Puts the run under way aside; returns where, 0 when memory is exhausted: it goes on then. */
export function putAside(): usize {
  const at = alloc(SIZE, WORKSPACE);
  if (!at) return 0;
  runSave(at);
  pairsSave(at + RUN_SIZE);
  stepsSave(at + STEPS);
  hashSave(at + HASH);
  equalSave(at + EQUAL);
  runLeave();
  return at;
}

/** Gives it back. */
export function takeBack(at: usize): void {
  runRestore(at);
  pairsRestore(at + RUN_SIZE);
  stepsRestore(at + STEPS);
  hashRestore(at + HASH);
  equalRestore(at + EQUAL);
  outputBegin();
  free(at, SIZE, WORKSPACE);
}
