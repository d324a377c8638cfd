/**
 * Table of the instructions: what follows each opcode, so that a reader finds the next one. Names are there for those
 * that other files treat by name.
 */

/** Form of the immediates that follow an opcode. */
export type Immediate =
  | 'none'
  | 'blockType'
  | 'label'
  | 'labels'
  | 'function'
  /** Type and table. */
  | 'indirect'
  | 'local'
  | 'global'
  | 'table'
  /** Alignment and offset. */
  | 'memory'
  /** A zero: the number of the only memory. */
  | 'memoryIndex'
  | 'memoryIndexes'
  | 'i32'
  | 'i64'
  | 'f32'
  | 'f64'
  | 'v128'
  | 'types'
  | 'refType'
  | 'index'
  /** Segment, then table or memory. */
  | 'segment'
  | 'tables'
  | 'lane'
  | 'memoryLane';

/** Opcodes with the prefix 0xfc stand from 0x100 on, those with 0xfd from 0x200 on. */
export const numericPrefix = 0xfc;
export const vectorPrefix = 0xfd;
export const numericBase = 0x100;
export const vectorBase = 0x200;

export const Op = {
  unreachable: 0x00,
  nop: 0x01,
  block: 0x02,
  loop: 0x03,
  if: 0x04,
  else: 0x05,
  end: 0x0b,
  br: 0x0c,
  brIf: 0x0d,
  brTable: 0x0e,
  return: 0x0f,
  call: 0x10,
  callIndirect: 0x11,
  returnCall: 0x12,
  returnCallIndirect: 0x13,
  drop: 0x1a,
  select: 0x1b,
  localGet: 0x20,
  localSet: 0x21,
  localTee: 0x22,
  globalGet: 0x23,
  globalSet: 0x24,
  tableSet: 0x26,
  i32Load: 0x28,
  i64Load: 0x29,
  f64Load: 0x2b,
  i32Load8U: 0x2d,
  i32Store: 0x36,
  i64Store: 0x37,
  f64Store: 0x39,
  i32Store8: 0x3a,
  memorySize: 0x3f,
  memoryGrow: 0x40,
  i32Const: 0x41,
  i64Const: 0x42,
  f32Const: 0x43,
  f64Const: 0x44,
  i32Eqz: 0x45,
  i32Eq: 0x46,
  i32Ne: 0x47,
  i32LtU: 0x49,
  i32GtU: 0x4b,
  i32GeU: 0x4f,
  i64Eqz: 0x50,
  i64Eq: 0x51,
  i64Ne: 0x52,
  i64LtS: 0x53,
  i64GtU: 0x56,
  f64Eq: 0x61,
  f64Ne: 0x62,
  f64Lt: 0x63,
  f64Ge: 0x66,
  i32Add: 0x6a,
  i32Sub: 0x6b,
  i32Mul: 0x6c,
  i32And: 0x71,
  i32Or: 0x72,
  i32Shl: 0x74,
  i32ShrU: 0x76,
  i64Add: 0x7c,
  i64Sub: 0x7d,
  i64Mul: 0x7e,
  i64Or: 0x84,
  i64Shl: 0x86,
  i64ShrU: 0x88,
  f64Trunc: 0x9d,
  i32WrapI64: 0xa7,
  i64ExtendI32S: 0xac,
  i64ExtendI32U: 0xad,
  f32ConvertI64S: 0xb4,
  f32DemoteF64: 0xb6,
  f64ConvertI64S: 0xb9,
  f64PromoteF32: 0xbb,
  i64ReinterpretF64: 0xbd,
  i64Extend32S: 0xc4,
  refNull: 0xd0,
  refFunc: 0xd2,
  i64TruncSatF64S: numericBase + 6,
  memoryInit: numericBase + 8,
  memoryCopy: numericBase + 10,
  memoryFill: numericBase + 11,
  tableInit: numericBase + 12,
  tableCopy: numericBase + 14,
  tableGrow: numericBase + 15,
  tableFill: numericBase + 17,
  v128Const: vectorBase + 12,
} as const;

const immediates: (Immediate | undefined)[] = [];

function put(from: number, to: number, immediate: Immediate = 'none'): void {
  for (let op = from; op <= to; op++) immediates[op] = immediate;
}

put(0x00, 0x01);
put(0x02, 0x04, 'blockType');
put(0x05, 0x05);
put(0x0b, 0x0b);
put(0x0c, 0x0d, 'label');
put(0x0e, 0x0e, 'labels');
put(0x0f, 0x0f);
put(0x10, 0x10, 'function');
put(0x11, 0x11, 'indirect');
put(0x12, 0x12, 'function');
put(0x13, 0x13, 'indirect');
put(0x1a, 0x1b);
put(0x1c, 0x1c, 'types');
put(0x20, 0x22, 'local');
put(0x23, 0x24, 'global');
put(0x25, 0x26, 'table');
put(0x28, 0x3e, 'memory');
put(0x3f, 0x40, 'memoryIndex');
put(0x41, 0x41, 'i32');
put(0x42, 0x42, 'i64');
put(0x43, 0x43, 'f32');
put(0x44, 0x44, 'f64');
put(0x45, 0xc4);
put(0xd0, 0xd0, 'refType');
put(0xd1, 0xd1);
put(0xd2, 0xd2, 'function');

// Saturating truncation, then bulk memory and tables.
put(numericBase, numericBase + 7);
put(numericBase + 8, numericBase + 8, 'segment');
put(numericBase + 9, numericBase + 9, 'index');
put(numericBase + 10, numericBase + 10, 'memoryIndexes');
put(numericBase + 11, numericBase + 11, 'memoryIndex');
put(numericBase + 12, numericBase + 12, 'segment');
put(numericBase + 13, numericBase + 13, 'index');
put(numericBase + 14, numericBase + 14, 'tables');
put(numericBase + 15, numericBase + 17, 'table');

// Vectors.
put(vectorBase, vectorBase + 11, 'memory');
put(vectorBase + 12, vectorBase + 13, 'v128');
put(vectorBase + 14, vectorBase + 20);
put(vectorBase + 21, vectorBase + 34, 'lane');
put(vectorBase + 35, vectorBase + 83);
put(vectorBase + 84, vectorBase + 91, 'memoryLane');
put(vectorBase + 92, vectorBase + 93, 'memory');
put(vectorBase + 94, vectorBase + 255);

/** Form of the immediates of an opcode; undefined when there is no such instruction. */
export function immediateOf(op: number): Immediate | undefined {
  return immediates[op];
}

/** The proposal that an unknown opcode belongs to; `sub` is the number behind a prefix. */
export function proposalOf(byte: number, sub: number): string | undefined {
  if (byte >= 0x06 && byte <= 0x0a) return 'exception handling';
  if (byte >= 0x18 && byte <= 0x1f) return 'exception handling';
  if (byte === 0x14 || byte === 0x15 || (byte >= 0xd3 && byte <= 0xd6)) return 'typed function references';
  if (byte >= 0xe0 && byte <= 0xe6) return 'stack switching';
  if (byte === 0xfb) return 'garbage collection';
  if (byte === 0xfe) return 'threads (atomic operations)';
  if (byte === vectorPrefix && sub >= 0x100 && sub <= 0x12f) return 'relaxed SIMD';
  if (byte === numericPrefix && sub >= 19 && sub <= 22) return 'wide arithmetic';
  return undefined;
}
