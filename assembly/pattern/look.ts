// Columns of the programs of a pattern: values of rows of a match, or of rows beside them, for one partial match, or
// one row of the result, after the other.
import { noteUniform } from '../batch/stage';
import { Tag, setAt } from '../mem/layout';
import { LookKind, PatternLook, PatternProgram } from '../gen/pattern-layouts';
import { aggregate } from './aggregates';
import {
  currentRow,
  finalTime,
  find,
  foundRow,
  foundVariable,
  setName,
  setNumber,
  setValue,
  shifted,
  spec,
} from './match';
import { lookAt, numberAt } from './spec';

/** Fills row `to` of the columns that a program reads, but those of aggregates that runs have. */
export function lookAll(program: PatternProgram, cols: usize, to: u32): void {
  const reads = program.reads;
  for (let i: u32 = 0; i < reads; i++) {
    const number = numberAt(spec, program.readsAt, i);
    lookOne(number, lookAt(spec, number), <usize>load<u32>(cols + ((<usize>number) << 2)), to);
  }
}

/** As `lookAll` for a condition, which has the aggregates that stand in runs by `sumsOf`. */
export function lookAtMatch(program: PatternProgram, cols: usize, to: u32): void {
  const reads = program.reads;
  for (let i: u32 = 0; i < reads; i++) {
    const number = numberAt(spec, program.readsAt, i);
    const look = lookAt(spec, number);
    if (!look.place) lookOne(number, look, <usize>load<u32>(cols + ((<usize>number) << 2)), to);
  }
}

/** Number behind the furthest row that a program looks at, at least `end`. */
export function lookFurthest(program: PatternProgram, end: u32): u32 {
  let furthest = end;
  for (let i: u32 = 0; i < program.reads; i++) {
    const look = lookAt(spec, numberAt(spec, program.readsAt, i));
    if (look.kind != LookKind.ROW || look.shift <= 0 || !find(look)) continue;
    const behind = foundRow + <u32>look.shift + 1;
    if (<i32>(behind - furthest) > 0) furthest = behind;
  }
  return furthest;
}

/** Notes the tags of the columns that a program reads, of `n` rows. */
export function lookDone(program: PatternProgram, cols: usize, n: u32): void {
  const reads = program.reads;
  for (let i: u32 = 0; i < reads; i++) {
    noteUniform(<usize>load<u32>(cols + ((<usize>numberAt(spec, program.readsAt, i)) << 2)), n);
  }
}

function lookOne(number: u32, look: PatternLook, block: usize, to: u32): void {
  const kind = look.kind;
  if (kind == LookKind.ROW) {
    if (find(look)) setValue(block, to, foundRow + <u32>look.shift, look.column);
    else setAt(block, to, Tag.NULL, 0);
  } else if (kind == LookKind.CURRENT) setValue(block, to, currentRow, look.column);
  else if (kind == LookKind.MATCH_NUMBER) setNumber(block, to);
  else if (kind == LookKind.TIME) setAt(block, to, Tag.I64, <u64>(<i64>finalTime));
  else if (kind == LookKind.CLASSIFIER) {
    if (find(look) && shifted(look.shift)) setName(block, to, foundVariable);
    else setAt(block, to, Tag.NULL, 0);
  } else aggregate(number, look, block, to);
}
