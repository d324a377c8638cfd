/** Writes instructions. */
import { numericBase, numericPrefix, Op, vectorBase, vectorPrefix } from './opcodes.js';
import { type ValueType, valueTypeByte } from './types.js';
import { ByteWriter } from './writer.js';

const noResult = 0x40;

export class Code extends ByteWriter {
  /** Instructions without immediates. */
  op(...ops: number[]): this {
    for (const op of ops) {
      if (op >= vectorBase) this.byte(vectorPrefix).u32(op - vectorBase);
      else if (op >= numericBase) this.byte(numericPrefix).u32(op - numericBase);
      else this.byte(op);
    }
    return this;
  }

  /** An instruction with an index: of a local, a global, a function, a label. */
  at(op: number, index: number): this {
    return this.op(op).u32(index);
  }

  get(local: number): this {
    return this.at(Op.localGet, local);
  }

  set(local: number): this {
    return this.at(Op.localSet, local);
  }

  tee(local: number): this {
    return this.at(Op.localTee, local);
  }

  i32(value: number): this {
    return this.op(Op.i32Const).signed(value);
  }

  i64(value: number): this {
    return this.op(Op.i64Const).signed(value);
  }

  double(value: number): this {
    return this.op(Op.f64Const).f64(value);
  }

  zero(type: ValueType): this {
    if (type === 'f64') return this.double(0);
    if (type === 'f32') return this.op(Op.f32Const).byte(0, 0, 0, 0);
    return type === 'i64' ? this.i64(0) : this.i32(0);
  }

  /** A load or store with its alignment, as a power of two, and its offset. */
  memory(op: number, alignment: number, offset = 0): this {
    return this.op(op).u32(alignment).u32(offset);
  }

  block(write: () => void): this {
    return this.#nested(Op.block, write);
  }

  loop(write: () => void): this {
    return this.#nested(Op.loop, write);
  }

  if(write: () => void, otherwise?: () => void): this {
    this.op(Op.if).byte(noResult);
    write();
    if (otherwise !== undefined) {
      this.op(Op.else);
      otherwise();
    }
    return this.op(Op.end);
  }

  /** Bytes of a function: its variables, one of each type given, then the code. */
  body(locals: readonly ValueType[]): Uint8Array {
    const body = new ByteWriter().u32(locals.length);
    for (const type of locals) body.u32(1).byte(valueTypeByte[type]);
    return body.raw(this.view()).byte(Op.end).take();
  }

  #nested(op: number, write: () => void): this {
    this.op(op).byte(noResult);
    write();
    return this.op(Op.end);
  }
}
