/**
 * Functions of a module that take eight rows in one call. A call from module to module costs more than most functions
 * of numbers do; so each gets a sister in its own module, which calls it eight times or has its code in itself, with
 * memory, globals and tables at hand.
 */
import { type Added, append } from './append.js';
import { Code } from './code.js';
import { instructionsOf } from './cost.js';
import { noLimits } from './limits.js';
import { fuelExport, reserved } from './meter.js';
import { readModule, type WasmModule } from './module.js';
import { Op } from './opcodes.js';
import { localsOf } from './pure.js';
import { SectionId } from './sections.js';
import { numberTypes, type Signature, type ValueType, valueTypeByte } from './types.js';
import type { ByteWriter } from './writer.js';

/** Rows of a call. */
export const eight = 8;

/** Parameters of one row; those of all rows are parameters of the sister. */
const maxParams = 8;
/** Longer code is called: it stands there eight times otherwise. */
const maxBytes = 256;
const maxLocals = 32;

/**
 * Globals that are exported: the result of each row, as 64 bits; the row under way; what the rows before it have taken.
 */
export const resultExport = (row: number): string => `${reserved}result${row}`;
export const rowExport = `${reserved}row`;
export const spentExport = `${reserved}spent`;
const eightOf = (name: string): string => `${reserved}eight ${name}`;

export interface WithEights {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** By the name of a function: that of the export which takes eight rows. */
  readonly exports: ReadonlyMap<string, string>;
}

/**
 * The type of a sister: the arguments row by row, where it charges fuel behind them what a call may take; it returns
 * what all took.
 */
export function signatureOfEight({ params }: Signature, isFree: boolean): Signature {
  const all = Array.from({ length: eight }, () => params).flat();
  return isFree ? { params: all, results: [] } : { params: [...all, 'i64'], results: ['i64'] };
}

/**
 * Adds a sister for each of these exports of a module with fuel, where it can have one: numbers alone, one result.
 * @param isFree says that a function charges nothing: then nothing is counted
 */
export function addEights(
  bytes: Uint8Array<ArrayBuffer>,
  names: readonly string[],
  isFree: (name: string) => boolean,
): WithEights {
  const module = readModule(bytes, noLimits);
  const fuel = module.exports.find(({ name, kind }) => kind === 'global' && name === fuelExport)?.index;
  if (fuel === undefined) return { bytes, exports: new Map() };
  const made: Sister[] = [];
  for (const name of names) {
    const found = module.exports.find((one) => one.kind === 'function' && one.name === name);
    const signature = module.types[module.functions[found?.index ?? -1] ?? -1];
    if (found === undefined || signature === undefined || !canHave(signature)) continue;
    const place = { fuel, results: module.globals.length };
    made.push(new Sister(module, name, found.index, signature, isFree(name), place));
  }
  if (made.length === 0) return { bytes, exports: new Map() };
  return { bytes: withSisters(module, made), exports: new Map(made.map(({ name }) => [name, eightOf(name)])) };
}

function canHave({ params, results }: Signature): boolean {
  if (params.length > maxParams || results.length !== 1) return false;
  return [...params, ...results].every((type) => numberTypes.has(type));
}

/** Globals: with the fuel; the first of those that are added. */
interface Place {
  readonly fuel: number;
  readonly results: number;
}

class Sister {
  readonly type: Signature;
  readonly #code = new Code();
  /** Where all parameters end. */
  readonly #given: number;
  readonly #spent: number;
  /** Of the code that is copied, its place among all. */
  readonly #copied: number | undefined;

  constructor(
    private readonly module: WasmModule,
    readonly name: string,
    private readonly index: number,
    private readonly signature: Signature,
    private readonly isFree: boolean,
    private readonly place: Place,
  ) {
    this.type = signatureOfEight(signature, isFree);
    this.#given = signature.params.length * eight;
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
    for (let row = 0; row < eight; row++) this.#row(row, own);
    if (!this.isFree) this.#code.get(this.#spent);
    return this.#code.body([...(this.isFree ? [] : (['i64'] as const)), ...own]);
  }

  #row(row: number, own: readonly ValueType[]): void {
    const code = this.#code;
    const { fuel, results } = this.place;
    const first = row * this.signature.params.length;
    const [result] = this.signature.results;
    code.i32(row).at(Op.globalSet, results + eight);
    if (!this.isFree) code.get(this.#given).at(Op.globalSet, fuel);
    if (this.#copied === undefined) {
      for (let i = 0; i < this.signature.params.length; i++) code.get(first + i);
      code.at(Op.call, this.index);
    } else this.#copy(this.#copied, row, own);
    if (result === 'i32') code.op(Op.i64ExtendI32S);
    if (result === 'f32') code.op(Op.f64PromoteF32);
    if (result === 'f32' || result === 'f64') code.op(Op.i64ReinterpretF64);
    code.at(Op.globalSet, results + row);
    if (this.isFree) return;
    code.get(this.#spent).get(this.#given).at(Op.globalGet, fuel).op(Op.i64Sub, Op.i64Add);
    code.tee(this.#spent).at(Op.globalSet, results + eight + 1);
  }

  /**
   * The code of the function: its parameters are those of the row, its variables begin at zero for each, and a return
   * leaves a block.
   */
  #copy(copied: number, row: number, own: readonly ValueType[]): void {
    const code = this.#code;
    const { params, results } = this.signature;
    const firstOwn = this.#given + (this.isFree ? 0 : 2);
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

/** A call in the place of a return leaves the function that it stands in. */
function canCopy(module: WasmModule, i: number): boolean {
  if (!localsOf(module, i).every((type) => numberTypes.has(type))) return false;
  const instructions = instructionsOf(module, i);
  while (instructions.next()) {
    if (instructions.op === Op.returnCall || instructions.op === Op.returnCallIndirect) return false;
  }
  return true;
}

function withSisters(module: WasmModule, made: readonly Sister[]): Uint8Array<ArrayBuffer> {
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
        eight + 2,
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
              .name(eightOf(name))
              .byte(0)
              .u32(module.functions.length + i);
          });
          for (let row = 0; row < eight; row++)
            out
              .name(resultExport(row))
              .byte(3)
              .u32(firstGlobal + row);
          out
            .name(rowExport)
            .byte(3)
            .u32(firstGlobal + eight);
          out
            .name(spentExport)
            .byte(3)
            .u32(firstGlobal + eight + 1);
        },
      ],
    ],
    [SectionId.code, [made.length, (out) => void made.forEach((one) => void out.sized(one.body()))]],
  ]);
  return append(module, added);
}

/** Results as 64 bits, the row, what was taken. */
const globalTypes: readonly ValueType[] = [...new Array<ValueType>(eight).fill('i64'), 'i32', 'i64'];
