/**
 * The loop of a row caller over dense rows: their places follow one another, and their arguments have the tag of the
 * parameter. Eight are checked together; the loop over those that pass only loads, calls and stores.
 */
import { Tag } from '../../../../kernels/gen/layouts.js';
import type { Code } from '../binary/code.js';
import { Op } from '../binary/opcodes.js';
import type { Signature, ValueType } from '../binary/types.js';

/** Locals of the row caller: parameters of `run` first. */
export interface RowLocals {
  readonly k: number;
  readonly count: number;
  readonly sel: number;
  readonly vals: number;
  readonly tags: number;
  readonly row: number;
  readonly whole: number;
  /** Place behind the dense rows. */
  readonly to: number;
  /** Place from which eight rows are checked again. */
  readonly next: number;
  readonly place: number;
  readonly cell: number;
  readonly tag: number;
  /** Two adjacent entries of the selection. */
  readonly pair: number;
}

/** Locals of an argument. */
export interface ArgumentLocals {
  /** Address of the first value of the argument. */
  readonly vals: number;
  /** Address of the first tag of the argument. */
  readonly tags: number;
  /** Bits of a row number that count: none of a constant. */
  readonly mask: number;
  /** Value for the call. */
  readonly value: number;
  /** Address of the value of the row under way. */
  readonly at: number;
  /** Bytes from value to value: 8, of a constant 0. */
  readonly step: number;
  /** Tags of eight rows of a constant. */
  readonly constTags: number;
}

/** Parts of a row caller that the loop uses. */
export interface DenseShape {
  readonly signature: Signature;
  readonly locals: RowLocals;
  argument(i: number): ArgumentLocals;
  /** The function may trap: the row has to be known, and rows behind it run again. */
  readonly canTrap: boolean;
  /** The global with the place of the row under way. */
  readonly at: number;
  /** Calls the function with the values of the arguments; `store` takes what puts the result onto the stack. */
  call(store: (result: () => void) => void): void;
  /** Calls the unrolled function, stores results from `cell` on; without fuel for eight it leaves for label 1. */
  readonly callUnrolled: (() => void) | undefined;
  /** Local of argument i of one of eight rows. */
  unrolledValue(i: number, row: number): number;
}

const together = 8;
const isFloat = (type: ValueType | undefined) => type === 'f32' || type === 'f64';
const tagOf = (type: ValueType | undefined): number => (isFloat(type) ? Tag.f64 : Tag.i64);
const high = 2 ** 32;

/** Writes what stands before the loop over the rows. */
export function prepareDense(code: Code, { signature, argument }: DenseShape): void {
  signature.params.forEach((_type, i) => {
    const { tags, mask, step, constTags } = argument(i);
    code.get(mask).i32(8).op(Op.i32And).set(step);
    splat(code.get(tags).memory(Op.i32Load8U, 0).op(Op.i64ExtendI32U)).set(constTags);
  });
}

/** A byte in all eight bytes. */
function splat(code: Code): Code {
  return code
    .i64(0x01010101)
    .op(Op.i64Mul)
    .i64(high + 1)
    .op(Op.i64Mul);
}

/** Writes the begin of the loop over the rows, which label 0 leads back to; other rows go through the rest of it. */
export function writeDense(code: Code, shape: DenseShape): void {
  const { k, next, to } = shape.locals;
  code.get(k).get(next).op(Op.i32GeU);
  code.if(() => {
    findDense(code, shape);
    code.get(to).get(k).op(Op.i32GtU);
    code.if(() => {
      code.block(() => callDense(code, shape));
      code.get(k).i32(together).op(Op.i32Add).set(next);
      code.at(Op.br, 2);
    });
    code.get(k).i32(together).op(Op.i32Add).set(next);
  });
}

/** Sets `to` behind the dense rows from k on. */
function findDense(code: Code, { signature, locals, argument }: DenseShape): void {
  const { k, count, sel, row, to, place, cell, pair } = locals;
  code.get(sel).get(k).i32(2).op(Op.i32Shl, Op.i32Add).memory(Op.i32Load, 2).set(row);
  code.get(k).set(to);
  code.block(() => {
    code.loop(() => {
      code.get(to).i32(together).op(Op.i32Add).get(count).op(Op.i32GtU).at(Op.brIf, 1);
      code.get(row).get(to).get(k).op(Op.i32Sub, Op.i32Add).set(place);
      code.get(sel).get(to).i32(2).op(Op.i32Shl, Op.i32Add).set(cell);
      code
        .get(place)
        .op(Op.i64ExtendI32U)
        .i64(high + 1)
        .op(Op.i64Mul)
        .i64(high)
        .op(Op.i64Add)
        .set(pair);
      for (let i = 0; i < together / 2; i++) {
        code
          .get(cell)
          .memory(Op.i64Load, 2, 8 * i)
          .get(pair)
          .op(Op.i64Sub);
        code.i64(2 * i * (high + 1)).op(Op.i64Sub);
        if (i > 0) code.op(Op.i64Or);
      }
      code.op(Op.i64Eqz, Op.i32Eqz).at(Op.brIf, 1);
      signature.params.forEach((type, i) => {
        const { tags, mask, constTags } = argument(i);
        code.get(tags).get(place).get(mask).op(Op.i32And, Op.i32Add).memory(Op.i64Load, 0);
        code.get(constTags).get(mask).op(Op.select);
        splat(code.i64(tagOf(type)))
          .op(Op.i64Ne)
          .at(Op.brIf, 1);
      });
      code.get(to).i32(together).op(Op.i32Add).set(to).at(Op.br, 0);
    });
  });
}

/** Calls the function for the rows from k to `to`; leaves for label 0 with k at a row whose argument does not fit. */
function callDense(code: Code, shape: DenseShape): void {
  const { signature, locals, argument, canTrap } = shape;
  const { k, vals, tags, row, to, cell, tag } = locals;
  const { params, results } = signature;
  const [result] = results;
  // A row that may run again must keep the tag of its argument, which may stand where that of the result goes.
  const isCertain = !canTrap && !params.includes('i32');
  params.forEach((_type, i) => {
    const { vals: from, mask, at } = argument(i);
    code.get(from).get(row).get(mask).op(Op.i32And).i32(3).op(Op.i32Shl, Op.i32Add).set(at);
  });
  code.get(vals).get(row).i32(3).op(Op.i32Shl, Op.i32Add).set(cell);
  code.get(tags).get(row).op(Op.i32Add).set(tag);
  if (isCertain) {
    code.get(tag).i32(tagOf(result)).get(to).get(k).op(Op.i32Sub);
    code.op(Op.memoryFill).byte(0);
  }
  code.loop(() => {
    if (shape.callUnrolled !== undefined) {
      callUnrolled(code, shape, shape.callUnrolled);
      return;
    }
    if (canTrap) code.get(k).at(Op.globalSet, shape.at);
    params.forEach((type, i) => {
      load(code, type, argument(i), locals.whole);
    });
    shape.call((write) => {
      code.get(cell);
      write();
      if (result === 'i32') code.op(Op.i64ExtendI32S);
      if (result === 'f32') code.op(Op.f64PromoteF32);
      code.memory(isFloat(result) ? Op.f64Store : Op.i64Store, 3);
    });
    if (!isCertain) {
      code.get(tag).i32(tagOf(result)).memory(Op.i32Store8, 0);
      code.get(tag).i32(1).op(Op.i32Add).set(tag);
    }
    code.get(cell).i32(8).op(Op.i32Add).set(cell);
    params.forEach((_type, i) => {
      const { at, step } = argument(i);
      code.get(at).get(step).op(Op.i32Add).set(at);
    });
    code.get(k).i32(1).op(Op.i32Add).tee(k).get(to).op(Op.i32LtU).at(Op.brIf, 0);
  });
}

/** Calls the unrolled function for the next eight rows: dense rows come in eights. */
function callUnrolled(code: Code, shape: DenseShape, call: () => void): void {
  const { signature, locals, argument, unrolledValue } = shape;
  const { k, to, cell, tag, whole } = locals;
  const { params, results } = signature;
  params.forEach((type, i) => {
    const { at, step } = argument(i);
    const from = (each: number) => {
      for (let row = 0; row < together; row++) {
        load(code, type, { at, value: unrolledValue(i, row) }, whole, { offset: row * each, label: 2 });
      }
    };
    code.get(step).if(
      () => from(8),
      () => from(0),
    );
    code.get(at).get(step).i32(3).op(Op.i32Shl, Op.i32Add).set(at);
  });
  call();
  splat(code.get(tag).i64(tagOf(results[0]))).memory(Op.i64Store, 0);
  code.get(tag).i32(together).op(Op.i32Add).set(tag);
  code
    .get(cell)
    .i32(8 * together)
    .op(Op.i32Add)
    .set(cell);
  code.get(k).i32(together).op(Op.i32Add).tee(k).get(to).op(Op.i32LtU).at(Op.brIf, 0);
}

/** Loads an argument; one that does not fit leaves for the label. */
function load(
  code: Code,
  type: ValueType,
  { at, value }: { readonly at: number; readonly value: number },
  whole: number,
  { offset = 0, label = 1 } = {},
): void {
  code.get(at).memory(isFloat(type) ? Op.f64Load : Op.i64Load, 3, offset);
  if (type === 'f32') code.op(Op.f32DemoteF64);
  if (type === 'i32') {
    code.tee(whole).op(Op.i64Extend32S).get(whole).op(Op.i64Ne).at(Op.brIf, label);
    code.get(whole).op(Op.i32WrapI64);
  }
  code.set(value);
}
