/**
 * Modules that call a function of numbers once for each row of a batch: from Wasm to Wasm, no JavaScript for each row. One
 * is generated for a signature; it reads the arguments from the kernel's columns and writes the results into them.
 *
 * It runs between the host and the guest, so a trap unwinds the wrapper and the guest alone. The global `at` says in which
 * row that was; the host gives that row its error and has the batch go on behind it.
 */
import { argument, Tag } from '../../../../kernels/gen/layouts.js';
import { Code } from './code.js';
import { WasmError } from './error.js';
import { Instructions } from './instructions.js';
import { Op } from './opcodes.js';
import type { PureFunction } from './pure.js';
import { ByteReader } from './reader.js';
import { type ArgumentLocals, prepareRuns, type RunShape, writeRuns } from './runs.js';
import { headBytes, SectionId, version } from './sections.js';
import { numberTypes, type Signature, signatureText, type ValueType, valueTypeByte } from './types.js';
import { ByteWriter } from './writer.js';

/** What a wrapper exports; globals are `WebAssembly.Global`s. */
export interface WrapperExports {
  /**
   * Calls the function for the rows `from` to `count` (exclusive) of the selection; the other arguments are those of the
   * kernel's host call. Returns how many rows got a mark instead of a result, because an argument does not fit (`markOf`).
   */
  run(from: number, count: number, sel: number, table: number, vals: number, tags: number): number;
  /** Place in the selection of the row under way. */
  readonly at: { readonly value: number };
  /** Fuel that one call may use. */
  readonly callFuel: { value: bigint };
  /** Fuel left for the batch. A call that traps has used all that it was given. */
  readonly batchFuel: { value: bigint };
}

/** Why an argument does not fit its parameter. */
export const Misfit = { type: 1, fraction: 2, range: 3 } as const;

/** Most arguments of a host call. */
const maxParams = 64;
const bitsOfArgument = 8;

/** Why a function can't be called by a wrapper, or undefined when it can. */
export function reasonAgainst(signature: Signature): string | undefined {
  const { params, results } = signature;
  const odd = [...params, ...results].find((type) => !numberTypes.has(type));
  if (odd !== undefined) return `${odd} is no number`;
  if (results.length !== 1) return `it gives ${results.length === 0 ? 'no result' : `${results.length} results`}`;
  if (params.length > maxParams) return `it has ${params.length} parameters, at most ${maxParams} are allowed`;
  return undefined;
}

/**
 * Makes the wrapper of a signature: numbers, one result. It imports the memory of the kernel (`kernel.memory`), the function
 * (`guest.call`) and the global that holds the fuel of its module (`guest.fuel`, a mutable i64); `WrapperExports` is what it exports.
 *
 * Rows with a NULL or missing argument are NULL, rows with an error
 * as argument keep that error; the function is not called for them. Arguments are converted where nothing is lost:
 *
 *     parameter   int64                    double                        boolean
 *     i32         from -2^31 to 2^31-1     whole numbers of that range   0 or 1
 *     i64         as it is                 whole numbers of its range    0 or 1
 *     f32, f64    nearest                  f32: nearest                  no
 *
 * A function that only computes may stand in the wrapper itself (`pure`): a row then needs neither a call nor fuel. One that charges
 * nothing (`isFree`) has the fuel of a call for all rows.
 *
 * A row of which an argument does not fit has tag ERROR and a mark for its payload until the host writes the error.
 */
export function wrapperFor(signature: Signature, pure?: PureFunction, isFree = false): Uint8Array<ArrayBuffer> {
  const reason = reasonAgainst(signature);
  if (reason !== undefined) throw new WasmError(`${signatureText(signature)} can't be called for each row: ${reason}`);
  return new Wrapper(signature, pure, isFree).module();
}

/** What a mark says: the low half of a payload; undefined when it is no mark. */
export function markOf(payload: number): { readonly argument: number; readonly misfit: number } | undefined {
  const misfit = payload & ((1 << bitsOfArgument) - 1);
  return misfit === 0 ? undefined : { argument: payload >>> bitsOfArgument, misfit };
}

/** Functions, then globals, by index. */
const callFunction = 0;
const runFunction = 1;
const Global = { fuel: 0, at: 1, callFuel: 2, batchFuel: 3 } as const;

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
  firstOfArguments: 20,
} as const;
const runParams = 6;
const variables: readonly ValueType[] = [
  ...(['i32', 'i32', 'i32', 'i32', 'i32', 'i64', 'f64', 'i64', 'i64', 'i64'] as const),
  ...(['i32', 'i32', 'i32', 'i64'] as const),
];

/** Variables of an argument (`ArgumentLocals`), in their order. */
const variablesOf = (type: ValueType): ValueType[] => ['i32', 'i32', 'i32', type, 'i32', 'i32', 'i64'];
const perArgument = 7;

/** Bounds of int64 as doubles: the upper one is exclusive. */
const int64Bound = 2 ** 63;

class Wrapper {
  readonly #code = new Code();

  constructor(
    private readonly signature: Signature,
    private readonly pure: PureFunction | undefined,
    private readonly isFree: boolean,
  ) {}

  module(): Uint8Array<ArrayBuffer> {
    const { params, results } = this.signature;
    const types = (list: readonly ValueType[]) => Uint8Array.from(list, (type) => valueTypeByte[type]);
    const i32 = (count: number): ValueType[] => new Array(count).fill('i32');
    const module = new ByteWriter().raw(Uint8Array.of(0x00, 0x61, 0x73, 0x6d)).raw(Uint8Array.from(version));
    if (module.length !== headBytes) throw new Error('the head of a module has another size');
    module.section(SectionId.type, (body) =>
      body
        .u32(2)
        .byte(0x60)
        .sized(types(params))
        .sized(types(results))
        .byte(0x60)
        .sized(types(i32(runParams)))
        .sized(types(i32(1))),
    );
    module.section(SectionId.import, (body) =>
      body
        .u32(3)
        .name('kernel')
        .name('memory')
        .byte(0x02, 0x00, 0x00)
        .name('guest')
        .name('call')
        .byte(0x00, 0x00)
        .name('guest')
        .name('fuel')
        .byte(0x03, valueTypeByte.i64, 0x01),
    );
    module.section(SectionId.function, (body) => body.u32(1).u32(1));
    module.section(SectionId.global, (body) => {
      body.u32(3);
      body.byte(valueTypeByte.i32, 0x01).raw(new Code().i32(0).op(Op.end).take());
      for (let i = 0; i < 2; i++) body.byte(valueTypeByte.i64, 0x01).raw(new Code().i64(0).op(Op.end).take());
    });
    module.section(SectionId.export, (body) => {
      body.u32(4).name('run').byte(0x00).u32(runFunction);
      for (const name of ['at', 'callFuel', 'batchFuel'] as const) body.name(name).byte(0x03).u32(Global[name]);
    });
    this.#run();
    const locals = [...variables, ...params.flatMap(variablesOf), ...(this.pure?.locals ?? [])];
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
    code.at(Op.globalGet, Global.callFuel).set(Local.callFuel);
    code.at(Op.globalGet, Global.batchFuel).set(Local.left);
    if (this.isFree && this.pure === undefined) this.#giveFuel();
    const runs = this.#runs();
    prepareRuns(code, runs);
    code.block(() => {
      code.loop(() => {
        code.get(Local.k).get(Local.count).op(Op.i32GeU).at(Op.brIf, 1);
        writeRuns(code, runs);
        this.#row();
        code.get(Local.k).i32(1).op(Op.i32Add).set(Local.k).at(Op.br, 0);
      });
    });
    if (this.isFree && this.pure === undefined) this.#takeFuel();
    code.get(Local.left).at(Op.globalSet, Global.batchFuel);
    code.get(Local.marked);
  }

  #runs(): RunShape {
    const { signature, pure } = this;
    return {
      signature,
      locals: Local,
      argument: (i) => this.#argument(i),
      canTrap: pure?.canTrap !== false,
      at: Global.at,
      call: (store) => this.#call(store),
    };
  }

  #row(): void {
    const code = this.#code;
    if (this.pure?.canTrap !== false) code.get(Local.k).at(Op.globalSet, Global.at);
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
    if (this.pure !== undefined) {
      store(() => this.#compute(this.pure as PureFunction));
      return;
    }
    if (!this.isFree) this.#giveFuel();
    store(() => {
      this.signature.params.forEach((_type, i) => {
        code.get(this.#argument(i).value);
      });
      code.at(Op.call, callFunction);
    });
    if (!this.isFree) this.#takeFuel();
  }

  /** Gives the guest what a call may take, or what is left. */
  #giveFuel(): void {
    const { callFuel, left, given } = Local;
    const code = this.#code;
    code.get(callFuel).get(left).get(callFuel).get(left).op(Op.i64LtS, Op.select).tee(given);
    code.at(Op.globalSet, Global.fuel);
    code.get(left).get(given).op(Op.i64Sub).tee(left).at(Op.globalSet, Global.batchFuel);
  }

  /** Takes back what it has not used. */
  #takeFuel(): void {
    const { left } = Local;
    this.#code.get(left).at(Op.globalGet, Global.fuel).op(Op.i64Add).set(left);
  }

  /** The code of the function: its parameters and variables have other numbers, and a return leaves a block. */
  #compute({ code: source, locals }: PureFunction): void {
    const code = this.#code;
    const { params, results } = this.signature;
    const first = this.#argument(params.length).vals;
    locals.forEach((type, i) => {
      zero(code, type).set(first + i);
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

function zero(code: Code, type: ValueType): Code {
  if (type === 'f64') return code.double(0);
  if (type === 'f32') return code.op(Op.f32Const).byte(0, 0, 0, 0);
  return type === 'i64' ? code.i64(0) : code.i32(0);
}
