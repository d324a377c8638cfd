/** Types of values, functions, memories, tables and globals as modules write them. */
import { unsupported } from './error.js';
import type { ByteReader } from './reader.js';

export type ValueType = 'i32' | 'i64' | 'f32' | 'f64' | 'v128' | 'funcref' | 'externref';

export const valueTypeByte = {
  i32: 0x7f,
  i64: 0x7e,
  f32: 0x7d,
  f64: 0x7c,
  v128: 0x7b,
  funcref: 0x70,
  externref: 0x6f,
} as const satisfies Record<ValueType, number>;

export const numberTypes: ReadonlySet<ValueType> = new Set(['i32', 'i64', 'f32', 'f64']);

const valueTypes = new Map(Object.entries(valueTypeByte).map(([name, byte]) => [byte as number, name as ValueType]));

/** Unsupported proposals, by the byte that stands in the place of a type. */
const unsupportedTypes: Readonly<Record<number, string>> = {
  120: 'packed types of garbage collection',
  119: 'packed types of garbage collection',
  116: 'exception handling (noexn)',
  115: 'garbage collection (nofunc)',
  114: 'garbage collection (noextern)',
  113: 'garbage collection (none)',
  110: 'garbage collection (anyref)',
  109: 'garbage collection (eqref)',
  108: 'garbage collection (i31ref)',
  107: 'garbage collection (structref)',
  106: 'garbage collection (arrayref)',
  105: 'exception handling (exnref)',
  100: 'typed function references',
  99: 'typed function references',
  95: 'garbage collection (a struct type)',
  94: 'garbage collection (an array type)',
  80: 'garbage collection (a subtype)',
  79: 'garbage collection (a subtype)',
  78: 'garbage collection (recursive types)',
};

export interface Signature {
  readonly params: readonly ValueType[];
  readonly results: readonly ValueType[];
}

const letters: Readonly<Record<string, ValueType>> = { i: 'i32', l: 'i64', f: 'f64' };

/** A signature from a letter for each type: `i` for i32, `l` for i64, `f` for f64. */
export function signatureOf(params: string, results = ''): Signature {
  const types = (text: string) => [...text].map((letter) => letters[letter] as ValueType);
  return { params: types(params), results: types(results) };
}

/** Sizes of memories are pages of 64 KiB, those of tables entries. */
export interface Range {
  readonly min: number;
  readonly max?: number;
}

export interface TableType extends Range {
  readonly of: ValueType;
}

export interface GlobalType {
  readonly type: ValueType;
  readonly isMutable: boolean;
}

export const maxPages = 65_536;
const functionForm = 0x60;

/** The type that a byte stands for, or undefined when it is none; a type of an unsupported proposal is an error. */
export function valueTypeOf(byte: number, offset: number): ValueType | undefined {
  const feature = unsupportedTypes[byte];
  if (feature !== undefined) throw unsupported(feature, offset);
  return valueTypes.get(byte);
}

export function readValueType(reader: ByteReader): ValueType {
  const from = reader.at;
  const byte = reader.byte();
  return valueTypeOf(byte, from) ?? reader.fail(`0x${byte.toString(16)} is no type of a value`, from);
}

export function readSignature(reader: ByteReader): Signature {
  const from = reader.at;
  const form = reader.byte();
  if (form !== functionForm) {
    const feature = unsupportedTypes[form];
    if (feature !== undefined) throw unsupported(feature, from);
    reader.fail(`0x${form.toString(16)} does not begin a function type`, from);
  }
  const types = (name: string) => Array.from({ length: reader.count(name) }, () => readValueType(reader));
  return { params: types('parameters'), results: types('results') };
}

/** `what` names the owner of the range in errors. */
function readRange(reader: ByteReader, what: 'memory' | 'table'): Range {
  const from = reader.at;
  const flags = reader.byte();
  if (flags & 0x04) throw unsupported(`a 64-bit ${what} (memory64)`, from);
  if (flags & 0x02) throw unsupported(`a shared ${what} (threads)`, from);
  if (flags & 0x08) throw unsupported('pages of another size (custom page sizes)', from);
  if (flags > 1) reader.fail(`a ${what} has unknown flags 0x${flags.toString(16)}`, from);
  const min = reader.u32();
  if (flags === 0) return { min };
  const max = reader.u32();
  if (max < min) reader.fail(`a ${what} has a maximum of ${max} and begins with ${min}`, from);
  return { min, max };
}

export function readMemory(reader: ByteReader): Range {
  const from = reader.at;
  const range = readRange(reader, 'memory');
  const most = Math.max(range.min, range.max ?? 0);
  if (most > maxPages) reader.fail(`a memory of ${most} pages is impossible, ${maxPages} are the most`, from);
  return range;
}

export function readTable(reader: ByteReader): TableType {
  const from = reader.at;
  const of = reader.byte();
  if (of === 0x40) throw unsupported('tables with initial values (typed function references)', from);
  reader.at = from;
  const type = readValueType(reader);
  if (type !== 'funcref' && type !== 'externref') reader.fail(`a table can't hold ${type}`, from);
  return { of: type, ...readRange(reader, 'table') };
}

export function readGlobal(reader: ByteReader): GlobalType {
  const type = readValueType(reader);
  const flag = reader.byte();
  if (flag > 1) reader.fail(`a global has unknown flags 0x${flag.toString(16)}`, reader.at - 1);
  return { type, isMutable: flag === 1 };
}

/** A signature as people write it: `(i32, f64) -> i64`. */
export function signatureText({ params, results }: Signature): string {
  const result = results.length === 1 ? results[0] : `(${results.join(', ')})`;
  return `(${params.join(', ')}) -> ${results.length === 0 ? 'nothing' : result}`;
}
