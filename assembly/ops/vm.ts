// Programs in memory and the loop that runs them. An op works on all selected rows before the next one starts.
import { alloc, free } from '../mem/alloc';
import { Tag, SLOT_SIZE, SLOT_TAG, MEMBER_SIZE, MEMBER_KEY_OFF, offOf, lenOf } from '../mem/layout';
import { dispatch } from './gen/dispatch';
import * as ctx from '../batch/context';
import { setAt, COL_HAS_RAW, COL_UNIFORM } from '../mem/layout';
import { plainError } from '../value/error';
import { textFound, textLost } from '../value/text';
import { setRun } from './list/each';
import { dstOf } from './row-loops';
import { OP_SIZE, program, setProgram } from './operand';
import { Program, Operation } from '../gen/ops-layouts';

setRun(dispatch);

/**
 * Copies an encoded program (kernels/plan/program.ts) of `len` bytes and makes its offsets absolute. The bytes are
 * charged to the counter at `acct`, which must live as long as the program. Returns 0 when memory is exhausted.
 */
export function programNew(ptr: usize, len: u32, acct: usize): Program {
  const made = changetype<Program>(alloc(len, acct));
  if (!made) return changetype<Program>(0);
  memory.copy(changetype<usize>(made), ptr, len);
  made.ops += changetype<u32>(made);
  made.consts += changetype<u32>(made);
  made.args += changetype<u32>(made);
  made.size = len;
  made.acct = acct;
  const consts = made.consts;
  const count = made.constCount;
  for (let i: u32 = 0; i < count; i++) relocate(consts + (i << 4), made);
  return made;
}

/** Adds `base` to the offsets of the value in a slot or member and of everything below it. */
function relocate(slot: usize, base: Program): void {
  const tag = load<u8>(slot, SLOT_TAG);
  if (tag < Tag.STR || tag == Tag.TIME) return;
  store<u32>(slot, load<u32>(slot) + changetype<usize>(base));
  const payload = load<u64>(slot);
  const off = offOf(payload);
  const n = lenOf(payload);
  if (tag == Tag.ARRAY) {
    for (let i: u32 = 0; i < n; i++) relocate(off + i * SLOT_SIZE, base);
  } else if (tag == Tag.OBJECT) {
    for (let i: u32 = 0; i < n; i++) {
      const member = off + i * MEMBER_SIZE;
      store<u32>(member, load<u32>(member, MEMBER_KEY_OFF) + changetype<usize>(base), MEMBER_KEY_OFF);
      relocate(member, base);
    }
  }
}

export function programFree(made: Program): void {
  if (made) free(changetype<usize>(made), made.size, made.acct);
}

/** Runs all ops of the program over the selected rows of the current batch (batch/context.ts). */
export function vmRun(made: Program): void {
  const outer = program;
  setProgram(made);
  let op = made.ops;
  const end = op + made.opCount * OP_SIZE;
  textFound();
  ctx.addWork(ctx.selLen);
  while (op < end) {
    dispatch(changetype<Operation>(op));
    if (textLost) lose(changetype<Operation>(op));
    op += OP_SIZE;
  }
  setProgram(outer);
}

/** A text that the op needed was not to be had: which of its results are right is not known. */
function lose(op: Operation): void {
  const dst = dstOf(op);
  const error = plainError('memory is exhausted');
  for (let i: u32 = 0; i < ctx.selLen; i++) setAt(dst, load<u32>(ctx.sel + ((<usize>i) << 2)), Tag.ERROR, error);
  store<u8>(dst, Tag.ERROR, COL_UNIFORM);
  store<u8>(dst, 0, COL_HAS_RAW);
  textFound();
}
