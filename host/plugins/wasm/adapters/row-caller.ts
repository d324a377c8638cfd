/**
 * Modules that call a function of numbers once for each row of a batch, from Wasm to Wasm. One is generated for a
 * signature; it reads arguments from the kernel's columns and writes results into them.
 *
 * The caller runs between host and guest, so a trap unwinds these two alone. The global `at` has the row in which that
 * was; the host gives that row its error, and the batch goes on behind it.
 */
import { argument, Tag } from '../../../../kernels/gen/layouts.js';
import { Code } from '../binary/code.js';
import { WasmError } from '../binary/error.js';
import { Instructions } from '../binary/instructions.js';
import { Op } from '../binary/opcodes.js';
import { ByteReader } from '../binary/reader.js';
import { headBytes, SectionId, version } from '../binary/sections.js';
import { type Signature, signatureText, type ValueType, valueTypeByte } from '../binary/types.js';
import { ByteWriter } from '../binary/writer.js';
import type { InlineFunction } from '../passes/pass.js';
import { unrolledRows, unrolledSignature } from '../passes/unroll.js';
import { type ArgumentLocals, type DenseShape, prepareDense, writeDense } from './dense-rows.js';
import { bitsOfArgument, Misfit, type RowCallerShape, reasonAgainst } from './row-caller-form.js';

/**
 * Makes the row caller of a signature: numbers, one result. It imports the memory of the kernel (`kernel.memory`), the
 * function (`guest.call`) and the global that holds the fuel of its module (`guest.fuel`, a mutable i64);
 * `RowCallerExports` is what it exports.
 *
 * Rows with a NULL or missing argument are NULL, rows with an error as argument keep it; neither is a call. Arguments
 * are converted where nothing is lost:
 *
 *     parameter   int64                    double                        boolean
 *     i32         from -2^31 to 2^31-1     whole numbers of that range   0 or 1
 *     i64         as it is                 whole numbers of its range    0 or 1
 *     f32, f64    nearest                  f32: nearest                  no
 *
 * A row of which an argument does not fit has tag ERROR and a mark for its payload until the host writes the error.
 */
export function rowCallerFor(signature: Signature, how: RowCallerShape = {}): Uint8Array<ArrayBuffer> {
  const reason = reasonAgainst(signature);
  if (reason !== undefined) throw new WasmError(`${signatureText(signature)} can't be called for each row: ${reason}`);
  return new RowCaller(signature, how).module();
}

/** Functions by index: imported ones first. */
const callFunction = 0;
const unrolledFunction = 1;
/** Globals by index: the fuel, results of the unrolled function, then its own. */
const fuelGlobal = 0;
const ownGlobals = ['at', 'inUnrolled', 'callFuel', 'batchFuel', 'pauseAt'] as const;
type OwnGlobal = (typeof ownGlobals)[number];
const ownTypes: readonly ValueType[] = ['i32', 'i32', 'i64', 'i64', 'i64'];

/** Parameters of `run`, then its variables; those of the arguments follow. */
const Local = {
  k: 0,
  count: 1,
  sel: 2,
  table: 3,
  vals: 4,
  tags: 5,
  row: 6,
  marked: 7,
  mark: 8,
  cell: 9,
  tag: 10,
  whole: 11,
  double: 12,
  callFuel: 13,
  left: 14,
  given: 15,
  to: 16,
  next: 17,
  place: 18,
  pair: 19,
  pauseAt: 20,
  firstOfArguments: 21,
} as const;
const runParams = 6;
const variables: readonly ValueType[] = [
  ...(['i32', 'i32', 'i32', 'i32', 'i32', 'i64', 'f64', 'i64', 'i64', 'i64'] as const),
  ...(['i32', 'i32', 'i32', 'i64', 'i64'] as const),
];

/** Variables of an argument (`ArgumentLocals`), in their order. */
const variablesOf = (type: ValueType): ValueType[] => ['i32', 'i32', 'i32', type, 'i32', 'i32', 'i64'];
const perArgument = 7;

/** Bounds of int64 as doubles: the upper one is exclusive. */
const int64Bound = 2 ** 63;

class RowCaller {
  readonly #code = new Code();

  readonly #inlined: InlineFunction | undefined;
  readonly #isUncharged: boolean;
  readonly #hasDenseLoop: boolean;
  readonly #isUnrolled: boolean;

  constructor(
    private readonly signature: Signature,
    { inlined, isUncharged = false, hasDenseLoop = false, isUnrolled = false }: RowCallerShape,
  ) {
    this.#inlined = inlined;
    this.#isUncharged = isUncharged;
    this.#hasDenseLoop = hasDenseLoop;
    this.#isUnrolled = isUnrolled && hasDenseLoop && inlined === undefined;
  }

  module(): Uint8Array<ArrayBuffer> {
    const { params, results } = this.signature;
    const types = (list: readonly ValueType[]) => Uint8Array.from(list, (type) => valueTypeByte[type]);
    const i32 = (count: number): ValueType[] => new Array(count).fill('i32');
    const module = new ByteWriter().raw(Uint8Array.of(0x00, 0x61, 0x73, 0x6d)).raw(Uint8Array.from(version));
    if (module.length !== headBytes) throw new Error('the head of a module has another size');
    const runType: Signature = { params: i32(runParams), results: i32(1) };
    const unrolled = this.#isUnrolled ? [unrolledSignature(this.signature, this.#isUncharged)] : [];
    const functions = [{ params, results }, ...unrolled, runType];
    module.section(SectionId.type, (body) => {
      body.u32(functions.length);
      for (const one of functions) body.byte(0x60).sized(types(one.params)).sized(types(one.results));
    });
    module.section(SectionId.import, (body) => {
      body.u32(3 + (this.#isUnrolled ? 1 + unrolledRows : 0));
      body.name('kernel').name('memory').byte(0x02, 0x00, 0x00);
      body.name('guest').name('call').byte(0x00).u32(callFunction);
      body.name('guest').name('fuel').byte(0x03, valueTypeByte.i64, 0x01);
      if (!this.#isUnrolled) return;
      body.name('guest').name('unrolled').byte(0x00).u32(unrolledFunction);
      for (let row = 0; row < unrolledRows; row++) {
        body.name('guest').name(`result${row}`).byte(0x03, valueTypeByte.i64, 0x01);
      }
    });
    module.section(SectionId.function, (body) => body.u32(1).u32(functions.length - 1));
    module.section(SectionId.global, (body) => {
      body.u32(ownTypes.length);
      for (const type of ownTypes) body.byte(valueTypeByte[type], 0x01).raw(new Code().zero(type).op(Op.end).take());
    });
    module.section(SectionId.export, (body) => {
      body
        .u32(1 + ownGlobals.length)
        .name('run')
        .byte(0x00)
        .u32(functions.length - 1);
      for (const name of ownGlobals) body.name(name).byte(0x03).u32(this.#global(name));
    });
    this.#run();
    const unrolledValues = this.#isUnrolled
      ? params.flatMap((type) => new Array<ValueType>(unrolledRows).fill(type))
      : [];
    const locals = [...variables, ...params.flatMap(variablesOf), ...(this.#inlined?.locals ?? []), ...unrolledValues];
    const run = this.#code.body(locals);
    module.section(SectionId.code, (body) => body.u32(1).sized(run));
    return module.take();
  }

  #run(): void {
    const code = this.#code;
    this.signature.params.forEach((_type, i) => {
      const entry = i * argument.size;
      const from = this.#argument(i);
      code
        .get(Local.table)
        .memory(Op.i32Load, 2, entry + argument.at.vals)
        .set(from.vals);
      code
        .get(Local.table)
        .memory(Op.i32Load, 2, entry + argument.at.tags)
        .set(from.tags);
      // A constant has a stride of 0: its row is 0 for all.
      code
        .i32(0)
        .get(Local.table)
        .memory(Op.i32Load, 2, entry + argument.at.stride)
        .op(Op.i32Sub)
        .set(from.mask);
    });
    code.at(Op.globalGet, this.#global('callFuel')).set(Local.callFuel);
    code.at(Op.globalGet, this.#global('batchFuel')).set(Local.left);
    code.at(Op.globalGet, this.#global('pauseAt')).set(Local.pauseAt);
    if (this.#isUncharged && this.#inlined === undefined) this.#giveFuel();
    const dense = this.#hasDenseLoop ? this.#denseShape() : undefined;
    if (dense !== undefined) prepareDense(code, dense);
    code.block(() => {
      code.loop(() => {
        code.get(Local.k).get(Local.count).op(Op.i32GeU).at(Op.brIf, 1);
        if (this.#charges) this.#leaveForPause(1);
        if (dense !== undefined) writeDense(code, dense);
        this.#row();
        code.get(Local.k).i32(1).op(Op.i32Add).set(Local.k).at(Op.br, 0);
      });
    });
    if (this.#isUncharged && this.#inlined === undefined) this.#takeFuel();
    code.get(Local.left).at(Op.globalSet, this.#global('batchFuel'));
    code.get(Local.k).at(Op.globalSet, this.#global('at'));
    code.get(Local.marked);
  }

  /** Tells that each row takes from the fuel. */
  get #charges(): boolean {
    return !this.#isUncharged && this.#inlined === undefined;
  }

  #leaveForPause(label: number): void {
    this.#code.get(Local.left).get(Local.pauseAt).op(Op.i64LtS).at(Op.brIf, label);
  }

  #global(name: OwnGlobal): number {
    return fuelGlobal + 1 + (this.#isUnrolled ? unrolledRows : 0) + ownGlobals.indexOf(name);
  }

  #denseShape(): DenseShape {
    const { signature } = this;
    const inlined = this.#inlined;
    return {
      signature,
      locals: Local,
      argument: (i) => this.#argument(i),
      canTrap: inlined?.canTrap !== false,
      at: this.#global('at'),
      call: (store) => this.#call(store),
      callUnrolled: this.#isUnrolled ? () => this.#callUnrolled() : undefined,
      unrolledValue: (i, row) => this.#unrolledValue(i, row),
    };
  }

  /** The local of an argument of one of eight rows. */
  #unrolledValue(i: number, row: number): number {
    const { params } = this.signature;
    return this.#argument(params.length).vals + (this.#inlined?.locals.length ?? 0) + i * unrolledRows + row;
  }

  /**
   * Calls the unrolled function with the arguments of eight rows, and stores the results from `cell` on; leaves for
   * label 1 where the fuel may not do for all of them.
   */
  #callUnrolled(): void {
    const code = this.#code;
    const { callFuel, left, cell, k } = Local;
    if (this.#charges) {
      code.get(left).get(callFuel).i64(3).op(Op.i64Shl, Op.i64LtS).at(Op.brIf, 1);
      this.#leaveForPause(1);
      code.get(left).at(Op.globalSet, this.#global('batchFuel'));
    }
    code.get(k).at(Op.globalSet, this.#global('at'));
    code.i32(1).at(Op.globalSet, this.#global('inUnrolled'));
    for (let row = 0; row < unrolledRows; row++) {
      this.signature.params.forEach((_type, i) => {
        code.get(this.#unrolledValue(i, row));
      });
    }
    if (this.#charges) code.get(callFuel);
    code.at(Op.call, unrolledFunction);
    if (this.#charges) code.set(Local.given);
    code.i32(0).at(Op.globalSet, this.#global('inUnrolled'));
    if (this.#charges) code.at(Op.globalGet, this.#global('batchFuel')).get(Local.given).op(Op.i64Sub).set(left);
    for (let row = 0; row < unrolledRows; row++) {
      code
        .get(cell)
        .at(Op.globalGet, fuelGlobal + 1 + row)
        .memory(Op.i64Store, 3, 8 * row);
    }
  }

  #row(): void {
    const code = this.#code;
    if (this.#inlined?.canTrap !== false) code.get(Local.k).at(Op.globalSet, this.#global('at'));
    code.get(Local.sel).get(Local.k).i32(2).op(Op.i32Shl, Op.i32Add).memory(Op.i32Load, 2).set(Local.row);
    // Labels from inside: 0 what can't be called, 1 the end of the row.
    code.block(() => {
      code.block(() => {
        this.signature.params.forEach((type, i) => {
          this.#take(type, i);
        });
        this.#call((write) => this.#store(write));
        code.at(Op.br, 1);
      });
      this.#withoutCall();
    });
  }

  #argument(i: number): ArgumentLocals {
    const first = Local.firstOfArguments + i * perArgument;
    const own = { vals: first, tags: first + 1, mask: first + 2, value: first + 3 };
    return { ...own, at: first + 4, step: first + 5, constTags: first + 6 };
  }

  /** Finds the tag of an argument, and where its value is. */
  #find(i: number): void {
    const code = this.#code;
    const from = this.#argument(i);
    code.get(Local.row).get(from.mask).op(Op.i32And).tee(Local.cell);
    code.get(from.tags).op(Op.i32Add).memory(Op.i32Load8U, 0).set(Local.tag);
    code.get(from.vals).get(Local.cell).i32(3).op(Op.i32Shl, Op.i32Add).set(Local.cell);
  }

  #isTag(tag: number): void {
    this.#code.get(Local.tag).i32(tag).op(Op.i32Eq);
  }

  /** Puts an argument into its variable, or leaves for what can't be called: label 0 around this. */
  #take(type: ValueType, i: number): void {
    const code = this.#code;
    const { value } = this.#argument(i);
    this.#find(i);
    if (type === 'f32' || type === 'f64') {
      this.#isTag(Tag.f64);
      code.if(
        () => {
          code.get(Local.cell).memory(Op.f64Load, 3);
          if (type === 'f32') code.op(Op.f32DemoteF64);
          code.set(value);
        },
        () => {
          this.#isTag(Tag.i64);
          code.op(Op.i32Eqz).if(() => this.#leave(Misfit.type, i, 2));
          code.get(Local.cell).memory(Op.i64Load, 3);
          code.op(type === 'f32' ? Op.f32ConvertI64S : Op.f64ConvertI64S).set(value);
        },
      );
      return;
    }
    const whole = type === 'i64' ? value : Local.whole;
    this.#isTag(Tag.i64);
    code.if(
      () => {
        code.get(Local.cell).memory(Op.i64Load, 3).set(whole);
      },
      () => this.#wholeOf(i, whole),
    );
    if (type === 'i64') return;
    code
      .get(whole)
      .op(Op.i64Extend32S)
      .get(whole)
      .op(Op.i64Ne)
      .if(() => this.#leave(Misfit.range, i, 1));
    code.get(whole).op(Op.i32WrapI64).set(value);
  }

  /** A whole number of a double or a boolean; two blocks inside of what leaves. */
  #wholeOf(i: number, whole: number): void {
    const code = this.#code;
    this.#isTag(Tag.f64);
    code.if(
      () => {
        const { double } = Local;
        code.get(Local.cell).memory(Op.f64Load, 3).tee(double);
        code
          .get(double)
          .op(Op.f64Trunc, Op.f64Ne)
          .if(() => this.#leave(Misfit.fraction, i, 3));
        code.get(double).double(-int64Bound).op(Op.f64Lt);
        code
          .get(double)
          .double(int64Bound)
          .op(Op.f64Ge, Op.i32Or)
          .if(() => this.#leave(Misfit.range, i, 3));
        code.get(double).op(Op.i64TruncSatF64S).set(whole);
      },
      () => {
        this.#isTag(Tag.bool);
        code.op(Op.i32Eqz).if(() => this.#leave(Misfit.type, i, 3));
        code.get(Local.cell).memory(Op.i64Load, 3).set(whole);
      },
    );
  }

  #leave(misfit: number, i: number, label: number): void {
    this.#code
      .i32((i << bitsOfArgument) | misfit)
      .set(Local.mark)
      .at(Op.br, label);
  }

  #call(store: (write: () => void) => void): void {
    const code = this.#code;
    if (this.#inlined !== undefined) {
      store(() => this.#copy(this.#inlined as InlineFunction));
      return;
    }
    if (!this.#isUncharged) this.#giveFuel();
    store(() => {
      this.signature.params.forEach((_type, i) => {
        code.get(this.#argument(i).value);
      });
      code.at(Op.call, callFunction);
    });
    if (!this.#isUncharged) this.#takeFuel();
  }

  /** Gives the guest what a call may take, or what is left. */
  #giveFuel(): void {
    const { callFuel, left, given } = Local;
    const code = this.#code;
    code.get(callFuel).get(left).get(callFuel).get(left).op(Op.i64LtS, Op.select).tee(given);
    code.at(Op.globalSet, fuelGlobal);
    code.get(left).get(given).op(Op.i64Sub).at(Op.globalSet, this.#global('batchFuel'));
  }

  /** Takes back the rest, also of what the host has added meanwhile out of the fuel of the batch. */
  #takeFuel(): void {
    this.#code.at(Op.globalGet, this.#global('batchFuel')).at(Op.globalGet, fuelGlobal).op(Op.i64Add).set(Local.left);
  }

  /** Copies the code of the function with other numbers of locals, in a block that a return leaves. */
  #copy({ code: source, locals }: InlineFunction): void {
    const code = this.#code;
    const { params, results } = this.signature;
    const first = this.#argument(params.length).vals;
    locals.forEach((type, i) => {
      code.zero(type).set(first + i);
    });
    const instructions = new Instructions(new ByteReader(source, 0, source.length, 'the function'));
    let depth = 0;
    code.op(Op.block).byte(valueTypeByte[results[0] as ValueType]);
    while (instructions.next()) {
      const { op, start, end } = instructions;
      if (op === Op.localGet || op === Op.localSet || op === Op.localTee) {
        const local = instructions.index - params.length;
        code.at(op, local < 0 ? this.#argument(instructions.index).value : first + local);
      } else if (op === Op.return) code.at(Op.br, depth);
      else code.raw(source.subarray(start, end));
      if (op === Op.block || op === Op.if) depth++;
      if (op === Op.end) depth--;
    }
  }

  /** Stores the result that `write` puts onto the stack. */
  #store(write: () => void): void {
    const code = this.#code;
    const [result] = this.signature.results;
    const isFloat = result === 'f32' || result === 'f64';
    this.#cell(Local.vals, 3);
    write();
    if (result === 'i32') code.op(Op.i64ExtendI32S);
    if (result === 'f32') code.op(Op.f64PromoteF32);
    code.memory(isFloat ? Op.f64Store : Op.i64Store, 3);
    this.#tag(isFloat ? Tag.f64 : Tag.i64);
  }

  /** A row whose arguments can't be given to the function: an error among them counts first, then a NULL. */
  #withoutCall(): void {
    const code = this.#code;
    const each = (write: () => void) =>
      this.signature.params.forEach((_type, i) => {
        this.#find(i);
        write();
      });
    each(() => {
      this.#isTag(Tag.error);
      code.if(() => {
        this.#cell(Local.vals, 3);
        code.get(Local.cell).memory(Op.i64Load, 3).memory(Op.i64Store, 3);
        this.#tag(Tag.error);
        code.at(Op.br, 1);
      });
    });
    each(() => {
      code
        .get(Local.tag)
        .i32(Tag.null)
        .op(Op.i32GtU, Op.i32Eqz)
        .if(() => {
          this.#cell(Local.vals, 3);
          code.i64(0).memory(Op.i64Store, 3);
          this.#tag(Tag.null);
          code.at(Op.br, 1);
        });
    });
    this.#cell(Local.vals, 3);
    code.get(Local.mark).op(Op.i64ExtendI32U).memory(Op.i64Store, 3);
    this.#tag(Tag.error);
    code.get(Local.marked).i32(1).op(Op.i32Add).set(Local.marked);
  }

  /** Address of the row's cell in a result column whose cells have 2^shift bytes. */
  #cell(column: number, shift: number): void {
    const code = this.#code.get(column).get(Local.row);
    if (shift > 0) code.i32(shift).op(Op.i32Shl);
    code.op(Op.i32Add);
  }

  #tag(tag: number): void {
    this.#cell(Local.tags, 0);
    this.#code.i32(tag).memory(Op.i32Store8, 0);
  }
}
