/**
 * Unrolls functions over numbers by eight. A call from module to module costs more than most of them do, so each gets a
 * second export in its own module that takes eight rows: it has the code eight times, or calls it eight times.
 */
import { type Added, append } from '../binary/append.js';
import { instructionsOf, localsOf } from '../binary/bodies.js';
import { Code } from '../binary/code.js';
import { noLimits } from '../binary/limits.js';
import { readModule, type WasmModule } from '../binary/module.js';
import { Op } from '../binary/opcodes.js';
import { SectionId } from '../binary/sections.js';
import { numberTypes, type Signature, type ValueType, valueTypeByte } from '../binary/types.js';
import type { ByteWriter } from '../binary/writer.js';
import { fuelExport, reserved } from './meter.js';
import type { Pass } from './pass.js';

export const unroll: Pass = {
  name: 'unroll',
  does: 'functions of numbers take eight rows in one call',
  stage: 'load',
  needs: ['meter', 'dense'],
  optional: 'a table lookup 6.3 → 3.8 ns a row, a loop of four 8.7 → 5.8',
  run(on) {
    const called = new Set(on.rowFunctions.filter((name) => !on.inlined.has(name)));
    const { bytes, exports } = addUnrolled(on.bytes, [...called].slice(0, maxFunctions), (name) =>
      on.uncharged.has(name),
    );
    return { ...on, bytes, unrolled: exports };
  },
};

/** Rows of a call. */
export const unrolledRows = 8;

/** Functions of a module that are unrolled. */
const maxFunctions = 64;
/** Parameters of one row. */
const maxParams = 8;
/** Bounds of code that is copied; longer code is called. */
const maxBytes = 256;
const maxLocals = 32;

/** Exported globals: the result of each row as 64 bits, the row under way, the fuel that rows before it took. */
export const resultExport = (row: number): string => `${reserved}result${row}`;
export const rowExport = `${reserved}row`;
export const spentExport = `${reserved}spent`;
const unrolledName = (name: string): string => `${reserved}unrolled ${name}`;

export interface WithUnrolled {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Names of the new exports, by the names of the functions. */
  readonly exports: ReadonlyMap<string, string>;
}

/**
 * The type of an unrolled function: the arguments row by row. One that charges also takes the fuel of a call, and
 * returns what all rows took.
 */
export function unrolledSignature({ params }: Signature, isUncharged: boolean): Signature {
  const all = Array.from({ length: unrolledRows }, () => params).flat();
  return isUncharged ? { params: all, results: [] } : { params: [...all, 'i64'], results: ['i64'] };
}

/** Adds an unrolled export for each of these functions of a metered module, where all is numbers with one result. */
export function addUnrolled(
  bytes: Uint8Array<ArrayBuffer>,
  names: readonly string[],
  isUncharged: (name: string) => boolean,
): WithUnrolled {
  const module = readModule(bytes, noLimits);
  const fuel = module.exports.find(({ name, kind }) => kind === 'global' && name === fuelExport)?.index;
  if (fuel === undefined) return { bytes, exports: new Map() };
  const made: UnrolledFunction[] = [];
  for (const name of names) {
    const found = module.exports.find((one) => one.kind === 'function' && one.name === name);
    const signature = module.types[module.functions[found?.index ?? -1] ?? -1];
    if (found === undefined || signature === undefined || !canHave(signature)) continue;
    const place = { fuel, results: module.globals.length };
    made.push(new UnrolledFunction(module, name, found.index, signature, isUncharged(name), place));
  }
  if (made.length === 0) return { bytes, exports: new Map() };
  return { bytes: withUnrolled(module, made), exports: new Map(made.map(({ name }) => [name, unrolledName(name)])) };
}

function canHave({ params, results }: Signature): boolean {
  if (params.length > maxParams || results.length !== 1) return false;
  return [...params, ...results].every((type) => numberTypes.has(type));
}

/** Globals by index: the fuel, the first result. */
interface Place {
  readonly fuel: number;
  readonly results: number;
}

class UnrolledFunction {
  readonly type: Signature;
  readonly #code = new Code();
  /** The local behind the arguments of all rows: fuel of a call. */
  readonly #given: number;
  readonly #spent: number;
  /** Place of the function whose code is copied; undefined: it is called. */
  readonly #copied: number | undefined;

  constructor(
    private readonly module: WasmModule,
    readonly name: string,
    private readonly index: number,
    private readonly signature: Signature,
    private readonly isUncharged: boolean,
    private readonly place: Place,
  ) {
    this.type = unrolledSignature(signature, isUncharged);
    this.#given = signature.params.length * unrolledRows;
    this.#spent = this.#given + 1;
    const i = index - (module.functions.length - module.bodies.length);
    const body = module.bodies[i];
    if (body !== undefined && body.to - body.code <= maxBytes && body.locals <= maxLocals && canCopy(module, i)) {
      this.#copied = i;
    }
  }

  /** Bytes of the function. */
  body(): Uint8Array {
    const own = this.#copied === undefined ? [] : localsOf(this.module, this.#copied);
    for (let row = 0; row < unrolledRows; row++) this.#row(row, own);
    if (!this.isUncharged) this.#code.get(this.#spent);
    return this.#code.body([...(this.isUncharged ? [] : (['i64'] as const)), ...own]);
  }

  #row(row: number, own: readonly ValueType[]): void {
    const code = this.#code;
    const { fuel, results } = this.place;
    const first = row * this.signature.params.length;
    const [result] = this.signature.results;
    code.i32(row).at(Op.globalSet, results + unrolledRows);
    if (!this.isUncharged) code.get(this.#given).at(Op.globalSet, fuel);
    if (this.#copied === undefined) {
      for (let i = 0; i < this.signature.params.length; i++) code.get(first + i);
      code.at(Op.call, this.index);
    } else this.#copy(this.#copied, row, own);
    if (result === 'i32') code.op(Op.i64ExtendI32S);
    if (result === 'f32') code.op(Op.f64PromoteF32);
    if (result === 'f32' || result === 'f64') code.op(Op.i64ReinterpretF64);
    code.at(Op.globalSet, results + row);
    if (this.isUncharged) return;
    code.get(this.#spent).get(this.#given).at(Op.globalGet, fuel).op(Op.i64Sub, Op.i64Add);
    code.tee(this.#spent).at(Op.globalSet, results + unrolledRows + 1);
  }

  /** Copies the code for a row: its own parameters, variables at zero, and a block that a return leaves. */
  #copy(copied: number, row: number, own: readonly ValueType[]): void {
    const code = this.#code;
    const { params, results } = this.signature;
    const firstOwn = this.#given + (this.isUncharged ? 0 : 2);
    own.forEach((type, i) => {
      code.zero(type).set(firstOwn + i);
    });
    const { bytes } = this.module;
    const instructions = instructionsOf(this.module, copied);
    let depth = 0;
    code.op(Op.block).byte(valueTypeByte[results[0] as ValueType]);
    while (instructions.next()) {
      const { op, index, start, end } = instructions;
      if (op === Op.localGet || op === Op.localSet || op === Op.localTee) {
        code.at(op, index < params.length ? row * params.length + index : firstOwn + index - params.length);
      } else if (op === Op.return) code.at(Op.br, depth);
      else code.raw(bytes.subarray(start, end));
      if (op === Op.block || op === Op.if || op === Op.loop) depth++;
      if (op === Op.end) depth--;
    }
  }
}

/** A tail call would leave the unrolled function. */
function canCopy(module: WasmModule, i: number): boolean {
  if (!localsOf(module, i).every((type) => numberTypes.has(type))) return false;
  const instructions = instructionsOf(module, i);
  while (instructions.next()) {
    if (instructions.op === Op.returnCall || instructions.op === Op.returnCallIndirect) return false;
  }
  return true;
}

function withUnrolled(module: WasmModule, made: readonly UnrolledFunction[]): Uint8Array<ArrayBuffer> {
  const constant = (type: ValueType) => new Code().zero(type).op(Op.end).view();
  const firstGlobal = module.globals.length;
  const types = (list: readonly ValueType[]) => Uint8Array.from(list, (type) => valueTypeByte[type]);
  const added: Added = new Map<number, readonly [count: number, write: (body: ByteWriter) => void]>([
    [
      SectionId.type,
      [
        made.length,
        (out) => {
          for (const { type } of made) out.byte(0x60).sized(types(type.params)).sized(types(type.results));
        },
      ],
    ],
    [SectionId.function, [made.length, (out) => void made.forEach((_one, i) => void out.u32(module.types.length + i))]],
    [
      SectionId.global,
      [
        unrolledRows + 2,
        (out) => {
          for (const type of globalTypes) out.byte(valueTypeByte[type], 1).raw(constant(type));
        },
      ],
    ],
    [
      SectionId.export,
      [
        made.length + globalTypes.length,
        (out) => {
          made.forEach(({ name }, i) => {
            out
              .name(unrolledName(name))
              .byte(0)
              .u32(module.functions.length + i);
          });
          for (let row = 0; row < unrolledRows; row++)
            out
              .name(resultExport(row))
              .byte(3)
              .u32(firstGlobal + row);
          out
            .name(rowExport)
            .byte(3)
            .u32(firstGlobal + unrolledRows);
          out
            .name(spentExport)
            .byte(3)
            .u32(firstGlobal + unrolledRows + 1);
        },
      ],
    ],
    [SectionId.code, [made.length, (out) => void made.forEach((one) => void out.sized(one.body()))]],
  ]);
  return append(module, added);
}

/** Types of the added globals: results, the row, the fuel. */
const globalTypes: readonly ValueType[] = [...new Array<ValueType>(unrolledRows).fill('i64'), 'i32', 'i64'];
