/**
 * The memory that guests of Extism's development kits exchange texts in, with the functions over it: a module of its
 * own, so that a guest calls from Wasm to Wasm for each byte that it reads.
 *
 * At its beginning lies what the host has put there for a batch; behind it blocks are given out, and all taken back
 * when the host says so. In front of each block stands its length.
 */
import { Code } from '../binary/code.js';
import { Op } from '../binary/opcodes.js';
import { SectionId, version } from '../binary/sections.js';
import { type Signature, signatureOf, type ValueType, valueTypeByte } from '../binary/types.js';
import { ByteWriter } from '../binary/writer.js';

/** Exports for the host and callers, beside the functions for guests (`kitFunctions`). */
export interface KitMemory {
  readonly memory: WebAssembly.Memory;
  /** Takes back all blocks; the next ones are given out from the offset `to` on. */
  reset(to: number): void;
  /** Begins a call with its input: offset and length, bytes. */
  begin(off: number, len: number): void;
  /** Output that the guest has set, off u32 | len u32; 0: none. */
  output(): bigint;
  error(): bigint;
  /** Not 0 when the host has to take results and reset. */
  isFull(): number;
  alloc(size: bigint): bigint;
  length(off: bigint): bigint;
}

/** Functions for guests that are in the module. */
export const kitFunctions: ReadonlyMap<string, Signature> = new Map([
  ['input_length', signatureOf('', 'l')],
  ['input_offset', signatureOf('', 'l')],
  ['input_load_u8', signatureOf('l', 'i')],
  ['input_load_u64', signatureOf('l', 'l')],
  ['length', signatureOf('l', 'l')],
  ['length_unsafe', signatureOf('l', 'l')],
  ['alloc', signatureOf('l', 'l')],
  ['free', signatureOf('l')],
  ['output_set', signatureOf('ll')],
  ['error_set', signatureOf('l')],
  ['load_u8', signatureOf('l', 'i')],
  ['load_u64', signatureOf('l', 'l')],
  ['store_u8', signatureOf('li')],
  ['store_u64', signatureOf('ll')],
]);

const Global = { next: 0, input: 1, inputLen: 2, output: 3, outputLen: 4, error: 5 } as const;

interface Made {
  readonly name: string;
  readonly params: readonly ValueType[];
  readonly results: readonly ValueType[];
  readonly locals?: readonly ValueType[];
  /** `most`: bytes that the memory may have. */
  readonly write: (code: Code, most: number) => void;
}

const headBytes = 8;
/** Offset of the next block above which a batch goes on in parts. */
const fullAt = 16 << 20;

/** An offset of the guest on the stack, as an address of 32 bits. */
function address(code: Code, local: number): void {
  code.get(local).i64(32).op(Op.i64ShrU, Op.i64Eqz, Op.i32Eqz);
  code.if(() => code.op(Op.unreachable));
  code.get(local).op(Op.i32WrapI64);
}

function global(code: Code, index: number): Code {
  return code.at(Op.globalGet, index);
}

/** Traps where `bytes` at an offset go beyond the input. */
function inside(code: Code, bytes: number): void {
  code.get(0).i64(bytes).op(Op.i64Add);
  global(code, Global.inputLen).op(Op.i64ExtendI32U, Op.i64GtU);
  code.get(0).i64(0).op(Op.i64LtS, Op.i32Or);
  code.if(() => code.op(Op.unreachable));
  global(code, Global.input).get(0).op(Op.i32WrapI64, Op.i32Add);
}

function lengthOf(code: Code): void {
  code.get(0).op(Op.i64Eqz);
  code.if(() => code.i64(0).op(Op.return));
  global(code, Global.input).op(Op.i64ExtendI32U).get(0).op(Op.i64Eq);
  code.if(() => global(code, Global.inputLen).op(Op.i64ExtendI32U, Op.return));
  address(code, 0);
  code.i32(headBytes).op(Op.i32Sub).memory(Op.i64Load, 0);
}

function spanOf(code: Code, off: number, len: number): void {
  global(code, len).op(Op.i64ExtendI32U).i64(32).op(Op.i64Shl);
  global(code, off).op(Op.i64ExtendI32U, Op.i64Or);
}

const functions: readonly Made[] = [
  {
    name: 'input_length',
    params: [],
    results: ['i64'],
    write: (code) => global(code, Global.inputLen).op(Op.i64ExtendI32U),
  },
  {
    name: 'input_offset',
    params: [],
    results: ['i64'],
    write: (code) => global(code, Global.input).op(Op.i64ExtendI32U),
  },
  {
    name: 'input_load_u8',
    params: ['i64'],
    results: ['i32'],
    write: (code) => {
      inside(code, 1);
      code.memory(Op.i32Load8U, 0);
    },
  },
  {
    name: 'input_load_u64',
    params: ['i64'],
    results: ['i64'],
    write: (code) => {
      inside(code, 8);
      code.memory(Op.i64Load, 0);
    },
  },
  { name: 'length', params: ['i64'], results: ['i64'], write: lengthOf },
  { name: 'length_unsafe', params: ['i64'], results: ['i64'], write: lengthOf },
  { name: 'alloc', params: ['i64'], results: ['i64'], locals: ['i32', 'i32'], write: alloc },
  // Blocks live until the results of the batch were taken.
  { name: 'free', params: ['i64'], results: [], write: () => {} },
  {
    name: 'output_set',
    params: ['i64', 'i64'],
    results: [],
    write: (code) => {
      address(code, 0);
      code.at(Op.globalSet, Global.output);
      address(code, 1);
      code.at(Op.globalSet, Global.outputLen);
    },
  },
  { name: 'error_set', params: ['i64'], results: [], write: (code) => code.get(0).at(Op.globalSet, Global.error) },
  {
    name: 'load_u8',
    params: ['i64'],
    results: ['i32'],
    write: (code) => {
      address(code, 0);
      code.memory(Op.i32Load8U, 0);
    },
  },
  {
    name: 'load_u64',
    params: ['i64'],
    results: ['i64'],
    write: (code) => {
      address(code, 0);
      code.memory(Op.i64Load, 0);
    },
  },
  {
    name: 'store_u8',
    params: ['i64', 'i32'],
    results: [],
    write: (code) => {
      address(code, 0);
      code.get(1).memory(Op.i32Store8, 0);
    },
  },
  {
    name: 'store_u64',
    params: ['i64', 'i64'],
    results: [],
    write: (code) => {
      address(code, 0);
      code.get(1).memory(Op.i64Store, 0);
    },
  },
  { name: 'reset', params: ['i32'], results: [], write: (code) => code.get(0).at(Op.globalSet, Global.next) },
  {
    name: 'begin',
    params: ['i32', 'i32'],
    results: [],
    write: (code) => {
      code.get(0).at(Op.globalSet, Global.input).get(1).at(Op.globalSet, Global.inputLen);
      code.i32(0).at(Op.globalSet, Global.output).i32(0).at(Op.globalSet, Global.outputLen);
      code.i64(0).at(Op.globalSet, Global.error);
    },
  },
  { name: 'output', params: [], results: ['i64'], write: (code) => spanOf(code, Global.output, Global.outputLen) },
  { name: 'error', params: [], results: ['i64'], write: (code) => global(code, Global.error) },
  {
    name: 'isFull',
    params: [],
    results: ['i32'],
    write: (code) => global(code, Global.next).i32(fullAt).op(Op.i32GtU),
  },
];

/** The address of a new block, 0 when there is no memory for it. */
function alloc(code: Code, most: number): void {
  const block = 1;
  const end = 2;
  code.get(0).i64(most).op(Op.i64GtU);
  code.if(() => code.i64(0).op(Op.return));
  global(code, Global.next)
    .i32(2 * headBytes - 1)
    .op(Op.i32Add)
    .i32(-headBytes)
    .op(Op.i32And)
    .tee(block);
  code.get(0).op(Op.i32WrapI64, Op.i32Add).tee(end);
  code.op(Op.memorySize).byte(0).i32(16).op(Op.i32Shl, Op.i32GtU);
  code.if(() => {
    code.get(end).i32(65_535).op(Op.i32Add).i32(16).op(Op.i32ShrU);
    code.op(Op.memorySize).byte(0).op(Op.i32Sub, Op.memoryGrow).byte(0).i32(-1).op(Op.i32Eq);
    code.if(() => code.i64(0).op(Op.return));
  });
  code.get(block).i32(headBytes).op(Op.i32Sub).get(0).memory(Op.i64Store, 0);
  code.get(end).at(Op.globalSet, Global.next);
  code.get(block).op(Op.i64ExtendI32U);
}

/** Makes the module; it imports nothing. */
export function kitMemoryModule(maxPages: number): Uint8Array<ArrayBuffer> {
  const types = (list: readonly ValueType[]) => Uint8Array.from(list, (type) => valueTypeByte[type]);
  const module = new ByteWriter().raw(Uint8Array.of(0x00, 0x61, 0x73, 0x6d)).raw(Uint8Array.from(version));
  module.section(SectionId.type, (body) => {
    body.u32(functions.length);
    for (const { params, results } of functions) body.byte(0x60).sized(types(params)).sized(types(results));
  });
  module.section(SectionId.function, (body) => {
    body.u32(functions.length);
    functions.forEach((_one, i) => {
      body.u32(i);
    });
  });
  module.section(SectionId.memory, (body) => body.u32(1).byte(0x01).u32(1).u32(maxPages));
  module.section(SectionId.global, (body) => {
    body.u32(6);
    for (let i = 0; i < 5; i++) body.byte(valueTypeByte.i32, 0x01).raw(new Code().i32(0).op(Op.end).take());
    body.byte(valueTypeByte.i64, 0x01).raw(new Code().i64(0).op(Op.end).take());
  });
  module.section(SectionId.export, (body) => {
    body
      .u32(functions.length + 1)
      .name('memory')
      .byte(0x02, 0x00);
    functions.forEach(({ name }, i) => {
      body.name(name).byte(0x00).u32(i);
    });
  });
  module.section(SectionId.code, (body) => {
    body.u32(functions.length);
    for (const { locals = [], write } of functions) {
      const code = new Code();
      write(code, maxPages * 65_536);
      body.sized(code.body(locals));
    }
  });
  return module.take();
}
