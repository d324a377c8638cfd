/** A plain decoder of protobuf messages, which the kernel is compared with: by the descriptors of protobufjs. */
import type { Enum, Field, Type } from 'protobufjs';

/** A value as JSON text shows it: integers as BigInt. */
export type Plain = null | boolean | number | bigint | string | Uint8Array | Plain[] | Map<string, Plain>;

/** Thrown for messages that are not of the type. */
export class NotDecoded extends Error {}

type Raw = { wire: number; value: bigint; bytes: Uint8Array };

const wireOf: Record<string, number> = {
  double: 1,
  float: 5,
  fixed64: 1,
  sfixed64: 1,
  fixed32: 5,
  sfixed32: 5,
  string: 2,
  bytes: 2,
};
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const wrapper = /^\.google\.protobuf\.(Double|Float|U?Int(64|32)|Bool|String|Bytes)Value$/;

/** The row of a message; throws NotDecoded. Of a part of a message no fields are required. */
export function naiveDecode(type: Type, bytes: Uint8Array, isPart = false): Map<string, Plain> {
  const own = fieldsOf(type);
  const given = new Map<Field, Raw[]>();
  for (const [number, raw] of rawFields(bytes)) {
    const field = own.find(({ id }) => id === number);
    if (field === undefined) continue;
    checkWire(field, raw);
    // No numbers that stand together are no value.
    if (raw.wire === 2 && raw.bytes.length === 0 && !isLong(field)) continue;
    // Also what is taken back later must be right.
    readValue(field, [raw], true);
    if (field.partOf) {
      for (const other of own) if (other !== field && other.partOf === field.partOf) given.delete(other);
    }
    given.set(field, [...(given.get(field) ?? []), raw]);
  }
  const row = new Map<string, Plain>();
  for (const field of own) {
    const raws = given.get(field) ?? [];
    if (raws.length === 0 && field.required && !isPart) throw new NotDecoded(`${field.name} is missing`);
    if (raws.length === 0 && field.partOf) continue;
    row.set(field.name, raws.length === 0 ? noneOf(field) : readValue(field, raws, isPart));
  }
  return row;
}

/** JSON with sorted names; throws NotDecoded for numbers that JSON does not have. */
export function plainText(value: Plain): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new NotDecoded('no number of JSON');
    return Object.is(value, -0) ? '-0' : String(value);
  }
  if (typeof value === 'string') return JSON.stringify(value);
  if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString('base64'));
  if (Array.isArray(value)) return `[${value.map(plainText).join(',')}]`;
  const names = [...value.keys()].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return `{${names.map((name) => `${JSON.stringify(name)}:${plainText(value.get(name) as Plain)}`).join(',')}}`;
}

export function fieldsOf({ fieldsArray }: Type): Field[] {
  return fieldsArray.filter(({ declaringField }) => declaringField === null);
}

// ---- the wire ------------------------------------------------------------------------------------------------

class Bytes {
  at = 0;
  constructor(readonly bytes: Uint8Array) {}

  get isOver(): boolean {
    return this.at === this.bytes.length;
  }

  varint(): bigint {
    let number = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.bytes[this.at++];
      if (byte === undefined || (shift === 63n && byte > 1)) throw new NotDecoded('varint');
      number |= BigInt(byte & 127) << shift;
      if (byte < 128) return number;
    }
  }

  take(length: number): Uint8Array {
    if (length > this.bytes.length - this.at) throw new NotDecoded('length');
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
}

function rawFields(bytes: Uint8Array): [number: number, raw: Raw][] {
  const from = new Bytes(bytes);
  const found: [number, Raw][] = [];
  while (!from.isOver) found.push(rawField(from, undefined) as [number, Raw]);
  return found;
}

/** Undefined at the end of the group. */
function rawField(from: Bytes, group: number | undefined): [number, Raw] | undefined {
  const tag = from.varint();
  if (tag < 8n || tag > 0xffffffffn) throw new NotDecoded('tag');
  const number = Number(tag >> 3n);
  const wire = Number(tag & 7n);
  const none = new Uint8Array();
  switch (wire) {
    case 0:
      return [number, { wire, value: from.varint(), bytes: none }];
    case 1:
      return [number, { wire, value: littleEndian(from.take(8)), bytes: none }];
    case 2:
      return [number, { wire, value: 0n, bytes: from.take(Number(from.varint())) }];
    case 3: {
      const start = from.at;
      let end = start;
      while (rawField(from, number) !== undefined) end = from.at;
      return [number, { wire, value: 0n, bytes: from.bytes.subarray(start, end) }];
    }
    case 4:
      if (number !== group) throw new NotDecoded('group');
      return undefined;
    case 5:
      return [number, { wire, value: littleEndian(from.take(4)), bytes: none }];
    default:
      throw new NotDecoded('wire type');
  }
}

function littleEndian(bytes: Uint8Array): bigint {
  return bytes.reduceRight((number, byte) => (number << 8n) | BigInt(byte), 0n);
}

// ---- values --------------------------------------------------------------------------------------------------

const isLong = (field: Field): boolean => isMessage(field) || field.map || wireOf[field.type] === 2;
const isMessage = ({ resolvedType }: Field): boolean => resolvedType !== null && 'fieldsArray' in resolvedType;

function checkWire(field: Field, { wire }: Raw): void {
  const isRight =
    field.map || isMessage(field)
      ? wire === 2 || (wire === 3 && !field.map)
      : wire === (wireOf[field.type] ?? 0) || (wire === 2 && !['string', 'bytes'].includes(field.type));
  if (!isRight) throw new NotDecoded(`wire type of ${field.name}`);
}

function readValue(field: Field, raws: Raw[], isPart: boolean): Plain {
  if (field.map) return mapOf(field, raws, isPart);
  if (isMessage(field)) {
    const type = field.resolvedType as Type;
    if (field.repeated) return raws.map(({ bytes }) => messageOf(type, bytes, isPart));
    return messageOf(type, Buffer.concat(raws.map(({ bytes }) => bytes)), isPart);
  }
  const values = raws.flatMap((raw) => scalarsOf(field, raw));
  if (field.repeated) return values.length === 0 ? null : values;
  const last = values.at(-1);
  if (last === undefined) return noneOf(field);
  return last instanceof Uint8Array && last.length === 0 && !field.hasPresence ? noneOf(field) : last;
}

function messageOf(type: Type, bytes: Uint8Array, isPart: boolean): Plain {
  const row = naiveDecode(type, bytes, isPart);
  return wrapper.test(type.fullName) ? (row.get('value') ?? null) : row;
}

function mapOf(field: Field, raws: Raw[], isPart: boolean): Plain {
  const map = new Map<string, Plain>();
  const keyType = (field as Field & { keyType: string }).keyType;
  const key = { ...plainField, name: 'key', type: keyType } as unknown as Field;
  const value = {
    ...plainField,
    name: 'value',
    type: field.type,
    resolvedType: field.resolvedType,
  } as unknown as Field;
  for (const { bytes } of raws) {
    const given = rawFields(bytes);
    const of = (number: number, one: Field): Raw[] =>
      given.flatMap(([n, raw]) => {
        if (n !== number) return [];
        checkWire(one, raw);
        return [raw];
      });
    const keys = of(1, key);
    const values = of(2, value);
    const text = keys.length === 0 ? zeroOf(keyType) : readValue(key, keys, isPart);
    const unsigned = keyType === 'uint64' || keyType === 'fixed64' ? BigInt.asUintN(64, text as bigint) : text;
    const none = isMessage(value) ? noneOfType(field.resolvedType as Type) : zeroOf(field.type, field);
    map.set(String(unsigned), values.length === 0 ? none : readValue(value, values, isPart));
  }
  return map;
}

const plainField = { map: false, repeated: false, hasPresence: true, partOf: null, resolvedType: null, options: {} };

function scalarsOf(field: Field, { wire, value, bytes }: Raw): Plain[] {
  const own = wireOf[field.type] ?? 0;
  if (wire === own) return [scalarOf(field.type, value, bytes)];
  const from = new Bytes(bytes);
  const found: Plain[] = [];
  while (!from.isOver) {
    const number = own === 0 ? from.varint() : littleEndian(from.take(own === 1 ? 8 : 4));
    found.push(scalarOf(field.type, number, bytes));
  }
  return found;
}

function scalarOf(type: string, value: bigint, bytes: Uint8Array): Plain {
  const within = (bits: number, number: bigint): bigint => {
    if (number !== BigInt.asIntN(bits, number)) throw new NotDecoded('32 bits');
    return number;
  };
  switch (type) {
    case 'string':
      try {
        return utf8.decode(bytes);
      } catch {
        throw new NotDecoded('UTF-8');
      }
    case 'bytes':
      return bytes;
    case 'double':
      return new Float64Array(new BigUint64Array([value]).buffer)[0] as number;
    case 'float':
      return new Float32Array(new Uint32Array([Number(value)]).buffer)[0] as number;
    case 'bool':
      return value !== 0n;
    case 'uint32':
    case 'fixed32':
      if (value > 0xffffffffn) throw new NotDecoded('32 bits');
      return value;
    case 'sfixed32':
      return BigInt.asIntN(32, value);
    case 'sint32':
      if (value > 0xffffffffn) throw new NotDecoded('32 bits');
      return (value >> 1n) ^ -(value & 1n);
    case 'sint64':
      return (value >> 1n) ^ -(value & 1n);
    case 'int64':
    case 'uint64':
    case 'fixed64':
    case 'sfixed64':
      return BigInt.asIntN(64, value);
    default:
      return within(32, BigInt.asIntN(64, value));
  }
}

function zeroOf(type: string, { resolvedType }: Pick<Field, 'resolvedType'> = { resolvedType: null }): Plain {
  if (resolvedType !== null) return BigInt(Object.values((resolvedType as Enum).values)[0] ?? 0);
  if (type === 'bool') return false;
  if (type === 'string') return '';
  if (type === 'bytes') return new Uint8Array();
  return type === 'double' || type === 'float' ? 0 : 0n;
}

/** What a message without the field has. */
function noneOf(field: Field): Plain {
  if (field.map) return new Map();
  if (field.repeated) return isMessage(field) ? [] : null;
  const given = field.options?.default;
  if (isMessage(field)) {
    const type = field.resolvedType as Type;
    if (!field.hasPresence && !type.fullName.startsWith('.google.protobuf.')) return null;
    if (holdsItself(type, [])) return null;
    return noneOfType(type);
  }
  if (given === undefined) return field.type === 'bytes' ? null : zeroOf(field.type, field);
  if (field.type === 'bool' || field.type === 'string') return field.defaultValue as Plain;
  if (field.type === 'double' || field.type === 'float') return Number(field.defaultValue);
  return field.type === 'bytes' ? (field.defaultValue as Uint8Array) : BigInt(String(field.defaultValue));
}

function noneOfType(type: Type): Plain {
  if (wrapper.test(type.fullName)) return noneOf(fieldsOf(type)[0] as Field);
  return new Map(fieldsOf(type).flatMap((one) => (one.partOf ? [] : [[one.name, noneOf(one)]])));
}

/** An empty message of the type has one of the type in it. */
function holdsItself(type: Type, outer: readonly Type[], inner: Type = type): boolean {
  return fieldsOf(inner).some((field) => {
    const found = field.resolvedType as Type;
    if (!isMessage(field) || field.map || field.repeated || field.partOf) return false;
    if (!field.hasPresence && !found.fullName.startsWith('.google.protobuf.')) return false;
    return found === type || (!outer.includes(found) && holdsItself(type, [...outer, found], found));
  });
}
