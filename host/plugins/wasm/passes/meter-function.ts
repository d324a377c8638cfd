/** Writes fuel into the code of one function. */

import { instructionsOf } from '../binary/bodies.js';
import { Code } from '../binary/code.js';
import type { Instructions } from '../binary/instructions.js';
import { checkLimit, type ModuleLimits } from '../binary/limits.js';
import type { Body, WasmModule } from '../binary/module.js';
import { Op } from '../binary/opcodes.js';
import { ByteReader } from '../binary/reader.js';
import { valueTypeByte } from '../binary/types.js';
import { ByteWriter } from '../binary/writer.js';
import type { FunctionCost } from './cost.js';

/** The module around a function. */
export interface Place {
  /** The global that holds the fuel. */
  readonly fuel: number;
  /** The function that asks for more. */
  readonly refuel: number;
  /** Parameters of the function. */
  readonly params: number;
  /** Tells whether a function, by its index, charges nothing. */
  isUncharged(index: number): boolean;
  /** Writes the type of a block with the results of the function. */
  resultType(): Uint8Array;
  readonly limits: ModuleLimits;
}

/**
 * Operations whose last operand says how much they do: what one costs is the operand, shifted by so many bits to the
 * right or left.
 */
const perLength = new Map<number, { readonly right?: number; readonly left?: number }>([
  [Op.memoryFill, { right: 2 }],
  [Op.memoryCopy, { right: 2 }],
  [Op.memoryInit, { right: 2 }],
  [Op.tableFill, { left: 8 }],
  [Op.tableCopy, { left: 8 }],
  [Op.tableInit, { left: 8 }],
]);

/** Fuel of a growth: the operating system is asked, and clears new memory when it is first touched. */
const growCost = 4_000;
const pageCost = 1_024;
const entryCost = 64;

const noResult = 0x40;
/** Blocks that are put around a loop. */
const blocksOfLoop = 3;

/**
 * Rewrites a function. One without loops charges the global when it begins. One with loops keeps the fuel in a
 * variable, which costs a loop two instructions of the machine: it takes it from the global when it begins, and puts it
 * back when it ends and around calls. So that all ways to the end put it back, the code stands in a block, and a return
 * leaves that.
 */
export function meterFunction(module: WasmModule, i: number, cost: FunctionCost, place: Place): Uint8Array {
  return new Rewriting(module, i, cost, place).write();
}

class Rewriting {
  readonly #body: Body;
  readonly #code = new Code();
  readonly #instructions: Instructions;
  /** Locals: the fuel, and for few functions a length and a result. */
  readonly #local: number;
  readonly #length: number;
  readonly #result: number;
  #needsLengths = false;
  /** Place up to which the code is copied. */
  #copied: number;
  /** Number of blocks that were added to each block around the instruction. */
  readonly #around: number[] = [];
  /** Fuel that a loop charges, by the number of blocks around it. */
  readonly #heads: (number | undefined)[] = [];
  #loops = 0;

  constructor(
    private readonly module: WasmModule,
    i: number,
    private readonly cost: FunctionCost,
    private readonly place: Place,
  ) {
    this.#body = module.bodies[i] as Body;
    this.#instructions = instructionsOf(module, i);
    this.#local = place.params + this.#body.locals;
    this.#length = this.#local + 1;
    this.#result = this.#local + 2;
    this.#copied = this.#body.code;
    const index = module.functions.length - module.bodies.length + i;
    checkLimit(place.limits, 'locals', this.#result + 1, `function ${index} with its fuel`);
  }

  write(): Uint8Array {
    const code = this.#code;
    if (this.cost.hasLoops) {
      code.at(Op.globalGet, this.place.fuel).set(this.#local);
      this.#charge(() => code.i64(this.cost.heads[0] as number));
      code.op(Op.block).raw(this.place.resultType());
    } else if (this.cost.late === undefined) {
      this.#charge(() => code.i64(this.cost.heads[0] as number));
    }
    while (this.#instructions.next()) this.#instruction();
    this.#copyTo(this.#body.to);
    if (this.cost.hasLoops) {
      this.#putBack();
      code.op(Op.end);
    }
    const { bytes } = this.module;
    const locals = new ByteReader(bytes, this.#body.from, this.#body.code, 'variables');
    const out = new ByteWriter();
    out.u32(locals.u32() + (this.#needsLengths ? 2 : 1)).raw(bytes.subarray(locals.at, locals.end));
    out.u32(1).byte(valueTypeByte.i64);
    if (this.#needsLengths) out.u32(2).byte(valueTypeByte.i32);
    return out.raw(code.view()).take();
  }

  #instruction(): void {
    const { op, start, end } = this.#instructions;
    if (start === this.cost.late?.at) {
      this.#copyTo(start);
      this.#charge(() => this.#code.i64(this.cost.heads[0] as number));
    }
    switch (op) {
      case Op.block:
      case Op.if:
        this.#around.push(0);
        return;
      case Op.loop:
        this.#loop(start, end);
        return;
      case Op.end:
        this.#end(end);
        return;
      case Op.br:
      case Op.brIf:
      case Op.brTable:
        this.#jump(start, end);
        return;
      case Op.return:
        if (!this.cost.hasLoops) return;
        this.#copyTo(start);
        this.#copied = end;
        this.#code.at(Op.br, this.#labelOf(this.#around.length));
        return;
      case Op.call:
      case Op.callIndirect:
        this.#call(start, end);
        return;
      case Op.returnCall:
      case Op.returnCallIndirect:
        this.#copyTo(start);
        if (this.cost.hasLoops) this.#putBack();
        return;
      case Op.memoryGrow:
        this.#grow(start, end, pageCost);
        return;
      case Op.tableGrow:
        this.#grow(start, end, entryCost);
        return;
    }
    const shift = perLength.get(op);
    if (shift !== undefined) this.#chargeLength(start, shift);
  }

  /**
   * A loop that charges is left when there is no fuel, and begun again with more: inside of it a call would keep V8
   * from unrolling it and have it read where the memory is each time.
   *
   *     block, loop, block            which all loops have around them that charge
   *       loop                        as it was
   *         charge, out of the inner block without fuel
   *       br to the end of all
   *     ask for more, give back what was charged, br to the begin
   */
  #loop(start: number, end: number): void {
    const cost = this.cost.heads[++this.#loops] as number;
    const { blockType } = this.#instructions;
    const depth = this.#around.length;
    const code = this.#code;
    this.#heads[depth] = undefined;
    // Nothing leads to a loop without cost, or it never comes back.
    if (cost === 0) {
      this.#around.push(0);
      return;
    }
    const takes = 'type' in blockType && (this.module.types[blockType.type]?.params.length ?? 0) > 0;
    if (takes) {
      this.#copyTo(end);
      this.#around.push(0);
      this.#charge(() => code.i64(cost));
      return;
    }
    this.#copyTo(start);
    code.op(Op.block).raw(this.module.bytes.subarray(start + 1, end));
    code.op(Op.loop).byte(noResult).op(Op.block).byte(noResult);
    this.#copyTo(end);
    this.#around.push(blocksOfLoop);
    this.#heads[depth] = cost;
    code.get(this.#local).i64(cost).op(Op.i64Sub).tee(this.#local).i64(0).op(Op.i64LtS).at(Op.brIf, 1);
  }

  #end(end: number): void {
    this.#around.pop();
    const depth = this.#around.length;
    const cost = this.#heads[depth];
    if (cost === undefined) return;
    this.#heads[depth] = undefined;
    this.#copyTo(end);
    const code = this.#code.at(Op.br, 2).op(Op.end);
    this.#putBack();
    code.at(Op.call, this.place.refuel).at(Op.globalGet, this.place.fuel).i64(cost).op(Op.i64Add).set(this.#local);
    code.at(Op.br, 0).op(Op.end, Op.unreachable, Op.end);
  }

  /** New label of a block, with those that were added. */
  #labelOf(label: number): number {
    let more = 0;
    for (let i = 0; i < label; i++) more += this.#around[this.#around.length - 1 - i] ?? 0;
    return label + more;
  }

  #jump(start: number, end: number): void {
    const { op, index, labels } = this.#instructions;
    const before = op === Op.brTable ? labels : [index];
    const after = before.map((label) => this.#labelOf(label));
    if (after.every((label, i) => label === before[i])) return;
    this.#copyTo(start);
    this.#copied = end;
    this.#code.op(op);
    if (op === Op.brTable) this.#code.u32(after.length - 1);
    for (const label of after) this.#code.u32(label);
  }

  /** Writes a call; functions that charge nothing leave the fuel where it is. */
  #call(start: number, end: number): void {
    if (!this.cost.hasLoops || this.#isUncharged()) return;
    this.#copyTo(start);
    this.#putBack();
    this.#copyTo(end);
    this.#code.at(Op.globalGet, this.place.fuel).set(this.#local);
  }

  #isUncharged(): boolean {
    const { op, index } = this.#instructions;
    return op === Op.call && this.place.isUncharged(index);
  }

  #chargeLength(start: number, { right = 0, left = 0 }: { right?: number; left?: number }): void {
    this.#copyTo(start);
    this.#needsLengths = true;
    const code = this.#code.tee(this.#length);
    this.#charge(() => {
      code
        .get(this.#length)
        .op(Op.i64ExtendI32U)
        .i64(Math.max(right, left))
        .op(left > 0 ? Op.i64Shl : Op.i64ShrU);
    });
  }

  /** Charges for growth by its length; a growth that fails, with result -1, costs only the request. */
  #grow(start: number, end: number, each: number): void {
    this.#copyTo(start);
    this.#needsLengths = true;
    this.#code.tee(this.#length);
    this.#copyTo(end);
    const code = this.#code.tee(this.#result);
    this.#charge(() => {
      code.get(this.#length).op(Op.i64ExtendI32U).i64(each).op(Op.i64Mul);
      code.i64(0).get(this.#result).i32(-1).op(Op.i32Ne, Op.select).i64(growCost).op(Op.i64Add);
    });
  }

  /**
   * Takes from the fuel what `amount` puts onto the stack; without enough of it the function asks for more, or ends
   * here.
   */
  #charge(amount: () => void): void {
    const code = this.#code;
    const { hasLoops } = this.cost;
    if (hasLoops) code.get(this.#local);
    else code.at(Op.globalGet, this.place.fuel);
    amount();
    code.op(Op.i64Sub).tee(this.#local);
    if (!hasLoops) code.at(Op.globalSet, this.place.fuel).get(this.#local);
    code.i64(0).op(Op.i64LtS);
    code.if(() => {
      if (hasLoops) this.#putBack();
      code.at(Op.call, this.place.refuel);
      if (hasLoops) code.at(Op.globalGet, this.place.fuel).set(this.#local);
    });
  }

  #putBack(): void {
    this.#code.get(this.#local).at(Op.globalSet, this.place.fuel);
  }

  #copyTo(end: number): void {
    this.#code.raw(this.module.bytes.subarray(this.#copied, end));
    this.#copied = end;
  }
}
