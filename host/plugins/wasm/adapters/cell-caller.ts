/**
 * Modules that call a function of a guest for each row of a batch, from Wasm to Wasm. Arguments and results are cells
 * in a memory (kernels/calls/cells.ts). One module is generated for a signature and a convention.
 *
 * As with `row-caller.ts` a trap unwinds this and the guest alone, and the global `at` says in which row that was.
 */
import { Code } from '../binary/code.js';
import { Op } from '../binary/opcodes.js';
import { headBytes, SectionId, version } from '../binary/sections.js';
import { type ValueType, valueTypeByte } from '../binary/types.js';
import { ByteWriter } from '../binary/writer.js';

/**
 * How a value goes over the border: a number, a text as address and length, or as an object of AssemblyScript's run
 * time.
 */
export type Lowered = 'i32' | 'i64' | 'f32' | 'f64' | 'boolean' | 'span' | 'string' | 'buffer';

/** A value, or `none` for a function without a result. */
export type LoweredResult = Lowered | 'none';

export type CallerKind = 'pointers' | 'assemblyscript' | 'extism';

export interface CellCallerShape {
  readonly kind: CallerKind;
  readonly params: readonly Lowered[];
  readonly result: LoweredResult;
  /** Whether the guest has a function that frees results. */
  readonly frees?: boolean;
}

/** Exports of a cell caller; globals are `WebAssembly.Global`s. */
export interface CellCallerExports {
  /**
   * Calls the function for the rows `from` to `to` (exclusive). `table` has the addresses of the cells of each
   * argument, of the results, and of their states. Texts of results are copied to `out`, up to `outEnd`. Returns the
   * row to go on with: it stops behind a text that has no room, whose cell has its place in the guest until the next
   * call.
   */
  run(from: number, to: number, table: number, out: number, outEnd: number): number;
  readonly at: { readonly value: number };
  /** Fuel of one call, and fuel left for the batch; a call that traps has used all of its own. */
  readonly callFuel: { value: bigint };
  readonly batchFuel: { value: bigint };
  /** Fuel below which `run` returns before the next row. */
  readonly pauseAt: { value: bigint };
}

/** States of results beside those of `CellState`, which guests write. */
export const CallState = { outside: 3, kind: 4, failed: 5 } as const;

/** Classes of AssemblyScript's run time. */
const classOf = { string: 2, buffer: 1 } as const;
/** In front of an object stand its class and its length. */
const classAt = 8;
const lengthAt = 4;

/** Functions by index: those that are imported, then `run`. */
interface Functions {
  readonly call: number;
  readonly more: Readonly<Record<string, number>>;
  readonly run: number;
}

const Global = { fuel: 0, outcome: 1, at: 2, callFuel: 3, batchFuel: 4, pending: 5, pauseAt: 6 } as const;

const Local = {
  k: 0,
  to: 1,
  table: 2,
  out: 3,
  outEnd: 4,
  cells: 5,
  states: 6,
  off: 7,
  len: 8,
  callFuel: 9,
  left: 10,
  given: 11,
  packed: 12,
  pauseAt: 13,
  first: 14,
} as const;
const variables: readonly ValueType[] = ['i32', 'i32', 'i32', 'i32', 'i64', 'i64', 'i64', 'i64', 'i64'];
const runParams = 5;
const perArgument = 2;

type Imported = readonly [name: string, params: readonly ValueType[], results: readonly ValueType[]];

const runtimeImports: readonly Imported[] = [
  ['new', ['i32', 'i32'], ['i32']],
  ['pin', ['i32'], ['i32']],
  ['unpin', ['i32'], []],
];
const freeImports: readonly Imported[] = [['free', ['i32', 'i32'], []]];
const inputImports: readonly Imported[] = [
  ['begin', ['i32', 'i32'], []],
  ['output', [], ['i64']],
  ['error', [], ['i64']],
  ['isFull', [], ['i32']],
];

/** Types of the parameters of a guest. */
function guestParams({ kind, params }: CellCallerShape): ValueType[] {
  if (kind === 'extism') return [];
  return params.flatMap((one): ValueType[] => (one === 'span' ? ['i32', 'i32'] : [plain(one)]));
}

function guestResults({ kind, result }: CellCallerShape): ValueType[] {
  if (kind === 'extism') return ['i32'];
  if (result === 'none') return [];
  return [result === 'span' ? 'i64' : plain(result)];
}

function plain(one: Lowered): ValueType {
  return one === 'i64' || one === 'f32' || one === 'f64' ? one : 'i32';
}

function isText(one: LoweredResult): one is 'span' | 'string' | 'buffer' {
  return one === 'span' || one === 'string' || one === 'buffer';
}

/**
 * Makes the module. It imports from `guest` the memory with the cells, `call`, the globals `fuel` (i64) and `outcome`
 * (i32: a state that the host sets while the guest runs), and what the convention needs: `new`, `pin`, `unpin`; `free`;
 * `begin`, `output`, `error`, `isFull`.
 */
export function cellCallerFor(shape: CellCallerShape): Uint8Array<ArrayBuffer> {
  return new Caller(shape).module();
}

class Caller {
  readonly #code = new Code();
  readonly #imports: readonly Imported[];
  readonly #functions: Functions;

  constructor(private readonly shape: CellCallerShape) {
    const { kind, frees = false } = shape;
    const more =
      kind === 'assemblyscript' ? runtimeImports : kind === 'extism' ? inputImports : frees ? freeImports : [];
    this.#imports = [['call', guestParams(shape), guestResults(shape)], ...more];
    const numbers = Object.fromEntries(more.map(([name], i) => [name, i + 1]));
    this.#functions = { call: 0, more: numbers, run: this.#imports.length };
  }

  module(): Uint8Array<ArrayBuffer> {
    const types = (list: readonly ValueType[]) => Uint8Array.from(list, (type) => valueTypeByte[type]);
    const module = new ByteWriter().raw(Uint8Array.of(0x00, 0x61, 0x73, 0x6d)).raw(Uint8Array.from(version));
    if (module.length !== headBytes) throw new Error('the head of a module has another size');
    const run: Imported = ['run', new Array(runParams).fill('i32'), ['i32']];
    module.section(SectionId.type, (body) => {
      body.u32(this.#imports.length + 1);
      for (const [, params, results] of [...this.#imports, run])
        body.byte(0x60).sized(types(params)).sized(types(results));
    });
    module.section(SectionId.import, (body) => {
      body.u32(this.#imports.length + 3);
      body.name('guest').name('memory').byte(0x02, 0x00, 0x00);
      body.name('guest').name('fuel').byte(0x03, valueTypeByte.i64, 0x01);
      body.name('guest').name('outcome').byte(0x03, valueTypeByte.i32, 0x01);
      this.#imports.forEach(([name], i) => {
        body.name('guest').name(name).byte(0x00).u32(i);
      });
    });
    module.section(SectionId.function, (body) => body.u32(1).u32(this.#functions.run));
    module.section(SectionId.global, (body) => {
      body.u32(5);
      body.byte(valueTypeByte.i32, 0x01).raw(new Code().i32(0).op(Op.end).take());
      for (let i = 0; i < 4; i++) body.byte(valueTypeByte.i64, 0x01).raw(new Code().i64(0).op(Op.end).take());
    });
    module.section(SectionId.export, (body) => {
      body.u32(5).name('run').byte(0x00).u32(this.#functions.run);
      for (const name of ['at', 'callFuel', 'batchFuel', 'pauseAt'] as const)
        body.name(name).byte(0x03).u32(Global[name]);
    });
    this.#run();
    const { params, result } = this.shape;
    const locals = [...variables, ...params.flatMap((): ValueType[] => ['i32', 'i32'])];
    if (result !== 'none') locals.push(guestResults(this.shape)[0] as ValueType);
    const body = this.#code.body(locals);
    module.section(SectionId.code, (out) => out.u32(1).sized(body));
    return module.take();
  }

  #argument(i: number): { cells: number; object: number } {
    const first = Local.first + i * perArgument;
    return { cells: first, object: first + 1 };
  }

  get #result(): number {
    return Local.first + this.shape.params.length * perArgument;
  }

  #more(name: string): this {
    this.#code.at(Op.call, this.#functions.more[name] as number);
    return this;
  }

  #run(): void {
    const code = this.#code;
    const { params } = this.shape;
    const bases = [...params.map((_param, i) => this.#argument(i).cells), Local.cells, Local.states];
    bases.forEach((local, i) => {
      code
        .get(Local.table)
        .memory(Op.i32Load, 2, i * 4)
        .set(local);
    });
    code.at(Op.globalGet, Global.callFuel).set(Local.callFuel);
    code.at(Op.globalGet, Global.batchFuel).set(Local.left);
    code.at(Op.globalGet, Global.pauseAt).set(Local.pauseAt);
    if (this.shape.frees) this.#freePending();
    code.block(() => {
      code.loop(() => {
        code.get(Local.k).get(Local.to).op(Op.i32GeU).at(Op.brIf, 1);
        code.get(Local.left).get(Local.pauseAt).op(Op.i64LtS).at(Op.brIf, 1);
        // Labels from inside: 0 the end of the row, 1 the next row, 2 the end of all.
        code.block(() => this.#row());
        code.get(Local.k).i32(1).op(Op.i32Add).set(Local.k);
        if (this.shape.kind === 'extism') {
          this.#more('isFull');
          code.at(Op.brIf, 1);
        }
        code.at(Op.br, 0);
      });
    });
    code.get(Local.left).at(Op.globalSet, Global.batchFuel);
    code.get(Local.k);
  }

  /** Frees a text that the host has read since the last call; the guest gets fuel for that. */
  #freePending(): void {
    const code = this.#code;
    code.at(Op.globalGet, Global.pending).i64(0).op(Op.i64Ne);
    code.if(() => {
      code.at(Op.globalGet, Global.pending).set(Local.packed);
      code.i64(0).at(Op.globalSet, Global.pending);
      this.#give();
      this.#unpack();
      code.get(Local.off).get(Local.len);
      this.#more('free');
      this.#take();
    });
  }

  /** Gives the guest the fuel of a call. */
  #give(): void {
    const { callFuel, left, given } = Local;
    const code = this.#code;
    code.get(callFuel).get(left).get(callFuel).get(left).op(Op.i64LtS, Op.select).tee(given);
    code.at(Op.globalSet, Global.fuel);
    code.get(left).get(given).op(Op.i64Sub).at(Op.globalSet, Global.batchFuel);
  }

  /**
   * Takes back what the guest has left of its fuel. The host may have given it more meanwhile, out of that for the
   * batch.
   */
  #take(): void {
    this.#code.at(Op.globalGet, Global.batchFuel).at(Op.globalGet, Global.fuel).op(Op.i64Add).set(Local.left);
  }

  #row(): void {
    const code = this.#code;
    const { kind, params, result } = this.shape;
    code.get(Local.k).at(Op.globalSet, Global.at);
    this.#give();
    if (kind === 'extism') {
      this.#argumentCell(0, Op.i32Load, 0);
      this.#argumentCell(0, Op.i32Load, 4);
      this.#more('begin');
    } else {
      params.forEach((param, i) => {
        if (param === 'string' || param === 'buffer') this.#object(i, classOf[param]);
      });
      params.forEach((param, i) => {
        this.#push(param, i);
      });
    }
    code.at(Op.call, this.#functions.call);
    if (result !== 'none') code.set(this.#result);
    params.forEach((param, i) => {
      if (param !== 'string' && param !== 'buffer') return;
      code.get(this.#argument(i).object);
      this.#more('unpin');
    });
    // Freeing a result charges fuel as well, so texts are read first.
    code.at(Op.globalGet, Global.outcome);
    code.if(() => {
      this.#setState(() => code.at(Op.globalGet, Global.outcome));
      code.i32(0).at(Op.globalSet, Global.outcome);
      this.#take();
      code.at(Op.br, 1);
    });
    if (kind === 'extism') this.#outputOfKit();
    else if (isText(result)) this.#text(result);
    else if (result !== 'none') this.#number(result);
    this.#take();
  }

  /** Makes an object of the run time with the text of an argument, pinned until the call is over. */
  #object(i: number, type: number): void {
    const code = this.#code;
    const { object } = this.#argument(i);
    this.#argumentCell(i, Op.i32Load, 4);
    code.i32(type);
    this.#more('new');
    code.tee(object);
    this.#argumentCell(i, Op.i32Load, 0);
    this.#argumentCell(i, Op.i32Load, 4);
    code.op(Op.memoryCopy).byte(0, 0);
    code.get(object);
    this.#more('pin');
    code.op(Op.drop);
  }

  #push(param: Lowered, i: number): void {
    const code = this.#code;
    switch (param) {
      case 'string':
      case 'buffer':
        code.get(this.#argument(i).object);
        return;
      case 'span':
        this.#argumentCell(i, Op.i32Load, 0);
        this.#argumentCell(i, Op.i32Load, 4);
        return;
      case 'f64':
      case 'f32':
        this.#argumentCell(i, Op.f64Load, 0);
        if (param === 'f32') code.op(Op.f32DemoteF64);
        return;
      case 'i64':
        this.#argumentCell(i, Op.i64Load, 0);
        return;
      default:
        this.#argumentCell(i, Op.i32Load, 0);
    }
  }

  #argumentCell(i: number, load: number, offset: number): void {
    const code = this.#code;
    code.get(this.#argument(i).cells).get(Local.k).i32(3).op(Op.i32Shl, Op.i32Add);
    code.memory(load, load === Op.i32Load ? 2 : 3, offset);
  }

  #resultCell(): void {
    this.#code.get(Local.cells).get(Local.k).i32(3).op(Op.i32Shl, Op.i32Add);
  }

  #setState(write: () => void): void {
    const code = this.#code;
    code.get(Local.states).get(Local.k).op(Op.i32Add);
    write();
    code.memory(Op.i32Store8, 0);
  }

  #number(result: Lowered): void {
    const code = this.#code;
    const isFloat = result === 'f32' || result === 'f64';
    this.#resultCell();
    code.get(this.#result);
    if (result === 'i32' || result === 'boolean') code.op(Op.i64ExtendI32S);
    if (result === 'f32') code.op(Op.f64PromoteF32);
    code.memory(isFloat ? Op.f64Store : Op.i64Store, 3);
  }

  /** Takes apart an address in the upper half and a length in the lower. */
  #unpack(): void {
    const code = this.#code;
    code.get(Local.packed).i64(32).op(Op.i64ShrU, Op.i32WrapI64).set(Local.off);
    code.get(Local.packed).op(Op.i32WrapI64).set(Local.len);
  }

  /** Ends a row with a state, from one block further in. */
  #leave(state: number): void {
    this.#setState(() => this.#code.i32(state));
    this.#take();
    this.#code.at(Op.br, 1);
  }

  #isOutside(write: () => void): void {
    const code = this.#code;
    write();
    code.op(Op.memorySize).byte(0).op(Op.i64ExtendI32U).i64(16).op(Op.i64Shl, Op.i64GtU);
  }

  #text(result: 'span' | 'string' | 'buffer'): void {
    const code = this.#code;
    if (result === 'span') {
      code.get(this.#result).tee(Local.packed).i64(0).op(Op.i64Eq);
      code.if(() => this.#leave(1));
      this.#unpack();
    } else {
      code.get(this.#result).tee(Local.off).op(Op.i32Eqz);
      code.if(() => this.#leave(1));
      code.get(Local.off).i32(classAt).op(Op.i32LtU);
      code.if(() => this.#leave(CallState.outside));
      this.#isOutside(() => code.get(Local.off).op(Op.i64ExtendI32U));
      code.if(() => this.#leave(CallState.outside));
      code.get(Local.off).i32(classAt).op(Op.i32Sub).memory(Op.i32Load, 0).i32(classOf[result]).op(Op.i32Ne);
      code.if(() => this.#leave(CallState.kind));
      code.get(Local.off).i32(lengthAt).op(Op.i32Sub).memory(Op.i32Load, 0).set(Local.len);
    }
    this.#isOutside(() => code.get(Local.off).op(Op.i64ExtendI32U).get(Local.len).op(Op.i64ExtendI32U, Op.i64Add));
    code.if(() => this.#leave(CallState.outside));
    code.get(Local.len).get(Local.outEnd).get(Local.out).op(Op.i32Sub, Op.i32GtU);
    code.if(() => {
      this.#resultCell();
      code.get(Local.off).memory(Op.i32Store, 2);
      this.#resultCell();
      code.get(Local.len).memory(Op.i32Store, 2, 4);
      if (this.shape.frees) code.get(Local.packed).at(Op.globalSet, Global.pending);
      this.#take();
      code.get(Local.left).at(Op.globalSet, Global.batchFuel);
      code.get(Local.k).i32(1).op(Op.i32Add, Op.return);
    });
    code.get(Local.out).get(Local.off).get(Local.len).op(Op.memoryCopy).byte(0, 0);
    this.#resultCell();
    code.get(Local.out).memory(Op.i32Store, 2);
    this.#resultCell();
    code.get(Local.len).memory(Op.i32Store, 2, 4);
    code.get(Local.out).get(Local.len).op(Op.i32Add).set(Local.out);
    if (this.shape.frees) {
      code.get(Local.off).get(Local.len);
      this.#more('free');
    }
  }

  /** Reads the result that the development kit has written into a memory of the engine. */
  #outputOfKit(): void {
    const code = this.#code;
    code.get(this.#result);
    code.if(() => {
      this.#resultCell();
      this.#more('error');
      code.memory(Op.i64Store, 3);
      this.#leave(CallState.failed);
    });
    this.#resultCell();
    this.#more('output');
    code.memory(Op.i64Store, 3);
  }
}
