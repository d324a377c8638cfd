/** Walks through instructions one after the other. */
import { unsupported } from './error.js';
import { immediateOf, numericBase, numericPrefix, Op, proposalOf, vectorBase, vectorPrefix } from './opcodes.js';
import type { ByteReader } from './reader.js';
import { readValueType, type ValueType, valueTypeOf } from './types.js';

/** Results of a block without parameters, or the number of its type. */
type BlockType = { readonly results: readonly ValueType[] } | { readonly type: number };

const noResults: BlockType = { results: [] };

/** `next` goes to the following instruction; what it is stands in the fields until then. */
export class Instructions {
  /** One of `Op`. */
  op: number = Op.nop;
  /** Offset of the first byte of the instruction. */
  start = 0;
  /** Offset of the next instruction. */
  end = 0;
  /** Its first index: label, function, type, local, global, table, segment. */
  index = 0;
  /** Its second index: the table of an indirect call or of a segment. */
  other = 0;
  /** Labels of `br_table`, the default is the last. */
  labels: number[] = [];
  blockType: BlockType = noResults;

  constructor(private readonly reader: ByteReader) {}

  /** Goes on; false when there is nothing more. */
  next(): boolean {
    const { reader } = this;
    if (reader.left === 0) return false;
    this.start = reader.at;
    const byte = reader.byte();
    let sub = 0;
    this.op = byte;
    if (byte === numericPrefix || byte === vectorPrefix) {
      sub = reader.u32();
      this.op = sub > 0xff ? -1 : (byte === numericPrefix ? numericBase : vectorBase) + sub;
    }
    this.#immediates(byte, sub);
    this.end = reader.at;
    return true;
  }

  #immediates(byte: number, sub: number): void {
    const { reader } = this;
    const immediate = immediateOf(this.op);
    switch (immediate) {
      case 'none':
        return;
      case 'blockType':
        this.blockType = this.#readBlockType();
        return;
      case 'label':
      case 'function':
      case 'local':
      case 'global':
      case 'table':
      case 'index':
        this.index = reader.u32();
        return;
      case 'labels':
        this.labels = Array.from({ length: reader.count('labels') + 1 }, () => reader.u32());
        return;
      case 'indirect':
      case 'segment':
      case 'tables':
        this.index = reader.u32();
        this.other = reader.u32();
        return;
      case 'memory':
        this.#memory();
        return;
      case 'memoryLane':
        this.#memory();
        reader.skip(1);
        return;
      case 'memoryIndex':
        this.#onlyMemory();
        return;
      case 'memoryIndexes':
        this.#onlyMemory();
        this.#onlyMemory();
        return;
      case 'i32':
        reader.skipLeb(32);
        return;
      case 'i64':
        reader.skipLeb(64);
        return;
      case 'f32':
        reader.skip(4);
        return;
      case 'f64':
        reader.skip(8);
        return;
      case 'v128':
        reader.skip(16);
        return;
      case 'lane':
        reader.skip(1);
        return;
      case 'types':
        for (let left = reader.count('types'); left > 0; left--) readValueType(reader);
        return;
      case 'refType':
        this.#refType();
        return;
      case undefined: {
        const feature = proposalOf(byte, sub);
        if (feature !== undefined) throw unsupported(feature, this.start);
        const prefix = byte === numericPrefix || byte === vectorPrefix ? ` 0x${sub.toString(16)}` : '';
        reader.fail(`there is no instruction 0x${byte.toString(16)}${prefix}`, this.start);
      }
    }
  }

  #readBlockType(): BlockType {
    const from = this.reader.at;
    const value = this.reader.s33();
    if (value >= 0) return { type: value };
    if (value === -0x40) return noResults;
    const type = valueTypeOf(value + 0x80, from);
    if (type === undefined) this.reader.fail('a block has an unknown type', from);
    return { results: [type as ValueType] };
  }

  #memory(): void {
    const from = this.reader.at;
    const alignment = this.reader.u32();
    if (alignment & 0x40) throw unsupported('several memories', from);
    // The offset of a 64-bit memory would be longer, but such a memory is refused where it is declared.
    this.reader.u32();
  }

  #onlyMemory(): void {
    const from = this.reader.at;
    if (this.reader.byte() !== 0) throw unsupported('several memories', from);
  }

  #refType(): void {
    const from = this.reader.at;
    const byte = this.reader.byte();
    const type = valueTypeOf(byte, from);
    if (type !== 'funcref' && type !== 'externref') {
      this.reader.fail(`0x${byte.toString(16)} is no type of a reference`, from);
    }
  }
}

/** Passes a constant expression: the value of a global, the offset of a segment. */
export function skipConstant(reader: ByteReader): void {
  const instructions = new Instructions(reader);
  while (instructions.next()) {
    if (instructions.op === Op.end) return;
    if (!constantOps.has(instructions.op)) reader.fail('an initial value is no constant', instructions.start);
  }
  reader.fail('it ends too early');
}

const constantOps: ReadonlySet<number> = new Set([
  Op.globalGet,
  Op.i32Const,
  Op.i64Const,
  Op.f32Const,
  Op.f64Const,
  Op.i32Add,
  Op.i32Sub,
  Op.i32Mul,
  Op.i64Add,
  Op.i64Sub,
  Op.i64Mul,
  Op.refNull,
  Op.refFunc,
  Op.v128Const,
]);
