// A join may come to work while another one is at work: it stands below the other, which has sent rows before it has
// seen all its pairs, with windows in between. The lower join suspends the run of the upper one, and resumes it at its
// own end. A join that stops in between is suspended in the same way (join/message/steps.ts).
//
// Rows of the output need not be saved: they have been written when a node below comes to work.
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

/** Suspends the run under way and returns its address; 0 when memory is exhausted, and the run goes on. */
export function suspendRun(): usize {
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

/** Resumes the run that is saved at `at`. */
export function resumeRun(at: usize): void {
  runRestore(at);
  pairsRestore(at + RUN_SIZE);
  stepsRestore(at + STEPS);
  hashRestore(at + HASH);
  equalRestore(at + EQUAL);
  outputBegin();
  free(at, SIZE, WORKSPACE);
}
