/** Protobuf schemas and messages for tests. */
import fc from 'fast-check';
import type { Field, Type } from 'protobufjs';
import { messageTypesOf } from '../../../host/services/schemas/message-types.js';
import { findMessage, readSchema } from '../../../host/services/schemas/proto-files.js';
import type { MessageTypes } from '../../../kernels/plan/message-types.js';
import { fieldsOf } from './naive-protobuf.js';

/** The message of a schema, and its types for the kernel. */
export function messageIn(
  content: string,
  name: string,
  files: Readonly<Record<string, string>> = {},
): { type: Type; messages: MessageTypes } {
  const type = findMessage(readSchema({ content, imported: (path) => files[path] }), name);
  if (type === undefined) throw new Error(`no message ${name}`);
  return { type, messages: messageTypesOf(type) };
}

/** Finds messages in schemas by SCHEMAID. */
export function messagesOf(schemas: ReadonlyMap<string, string>): (schemaId: string) => MessageTypes {
  return (schemaId) => {
    const [name = ''] = schemaId.split('.');
    return messageIn(schemas.get(name) ?? '', schemaId.slice(name.length + 1)).messages;
  };
}

const scalars = [
  'double',
  'float',
  'int32',
  'int64',
  'uint32',
  'uint64',
  'sint32',
  'sint64',
  'fixed32',
  'fixed64',
].concat(['sfixed32', 'sfixed64', 'bool', 'string', 'bytes']);
const keys = ['int32', 'int64', 'uint64', 'sint32', 'fixed32', 'sfixed64', 'bool', 'string'];
const known = ['Int32Value', 'StringValue', 'BytesValue', 'BoolValue', 'DoubleValue', 'UInt64Value', 'Timestamp'];
const kinds = [...scalars, 'E', 'M0', 'M1', 'M2', ...known.map((name) => `google.protobuf.${name}`)];

const numbers = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constantFrom(255, 256, 2047, 2048, 18_000, 536_870_911));
const fieldSpec = fc.record({
  kind: fc.constantFrom(...kinds),
  key: fc.constantFrom(...keys),
  label: fc.constantFrom('', '', 'optional', 'repeated', 'repeated', 'unpacked', 'map', 'oneof', 'oneof', 'required'),
});
const messageSpec = fc.uniqueArray(fc.tuple(numbers, fieldSpec), { selector: ([number]) => number, maxLength: 9 });

/** Texts of schemas with the messages M0, M1 and M2, of both syntaxes. */
export const schemas: fc.Arbitrary<string> = fc
  .tuple(fc.constantFrom(2, 3), fc.tuple(messageSpec, messageSpec, messageSpec))
  .map(([syntax, messages]) => {
    const bodies = messages.map((fields, i) => {
      const lines = fields.map(([number, { kind, key, label }]) => {
        const name = `${'zfcaqmbx'[number % 8]}${number}`;
        if (label === 'map') return ['', `map<${key}, ${kind}> ${name} = ${number};`];
        if (label === 'oneof') return ['oneof', `${kind} ${name} = ${number};`];
        const isList = label === 'repeated' || label === 'unpacked';
        const packed = `[packed = ${label === 'repeated'}]`;
        const isPackable = isList && (scalars.indexOf(kind) < 13 ? scalars.includes(kind) : kind === 'E');
        // A required message in itself could never end.
        const own = syntax === 3 ? label : label === 'required' && scalars.includes(kind) ? label : 'optional';
        const first = isList ? 'repeated' : own === 'required' && syntax === 3 ? '' : own;
        return ['', `${first} ${kind} ${name} = ${number}${isPackable ? packed : ''};`];
      });
      const plain = lines.filter(([part]) => part === '').map(([, line]) => line);
      const chosen = lines.filter(([part]) => part === 'oneof').map(([, line]) => line);
      const oneof = chosen.length === 0 ? '' : `oneof which { ${chosen.join(' ')} }`;
      return `message M${i} { ${plain.join(' ')} ${oneof} }`;
    });
    const imports = ['wrappers', 'timestamp'].map((name) => `import "google/protobuf/${name}.proto";`).join('\n');
    const head = `syntax = "proto${syntax}"; package p;\n${imports}\nenum E { ZERO = 0; ONE = 1; LESS = -1; }`;
    return `${head}\n${bodies.join('\n')}`;
  });

// ---- messages ------------------------------------------------------------------------------------------------

/** Bytes of messages of a type, by a source of numbers: fields in any order, several times, unknown ones among them. */
export function messageBytes(type: Type, next: (below: number) => number, depth = 3): Buffer {
  const own = fieldsOf(type);
  const order = next(4) === 0 ? Array.from({ length: next(6) }, () => own[next(own.length)]) : own;
  const parts = order.flatMap((field) => (field === undefined ? [] : fieldBytes(field, next, depth)));
  for (const field of own) if (field.required && next(30) > 0) parts.push(valueBytes(field, field.type, next, depth));
  if (next(5) === 0) parts.splice(next(parts.length + 1), 0, unknownBytes(next));
  return Buffer.concat(parts);
}

function unknownBytes(next: (below: number) => number): Buffer {
  const number = 30_000 + next(5);
  switch (next(4)) {
    case 0:
      return Buffer.concat([tagOf(number, 0), varintOf(BigInt(next(100_000)))]);
    case 1:
      return Buffer.concat([tagOf(number, 1), Buffer.alloc(8, 7)]);
    case 2:
      return Buffer.concat([tagOf(number, 2), varintOf(3n), Buffer.from('abc')]);
    default:
      return Buffer.concat([tagOf(number, 3), tagOf(1, 5), Buffer.alloc(4), tagOf(number, 4)]);
  }
}

function fieldBytes(field: Field, next: (below: number) => number, depth: number): Buffer[] {
  if (next(4) === 0) return [];
  if (field.map) return Array.from({ length: next(4) }, () => entryBytes(field, next, depth));
  const times = field.repeated ? next(6) : next(12) === 0 ? 2 : 1;
  const isPackable = field.resolvedType === null ? !['string', 'bytes'].includes(field.type) : !isMessage(field);
  if (isPackable && next(3) > 0 && field.repeated) {
    const values = Buffer.concat(Array.from({ length: times }, () => scalarBytes(field, field.type, next)));
    return [Buffer.concat([tagOf(field.id, 2), varintOf(BigInt(values.length)), values])];
  }
  return Array.from({ length: times }, () => valueBytes(field, field.type, next, depth));
}

const isMessage = ({ resolvedType }: Field): boolean => resolvedType !== null && 'fieldsArray' in resolvedType;

function entryBytes(field: Field, next: (below: number) => number, depth: number): Buffer {
  const keyType = (field as Field & { keyType: string }).keyType;
  const key = { id: 1, type: keyType, resolvedType: null } as Field;
  const value = { id: 2, type: field.type, resolvedType: field.resolvedType } as Field;
  const parts = [
    ...(next(6) === 0 ? [] : [valueBytes(key, keyType, next, depth)]),
    ...(next(6) === 0 ? [] : [valueBytes(value, field.type, next, depth)]),
  ];
  return withLength(field.id, Buffer.concat(next(5) === 0 ? parts.reverse() : parts));
}

function valueBytes(field: Field, type: string, next: (below: number) => number, depth: number): Buffer {
  if (isMessage(field)) {
    const inner = depth === 0 ? Buffer.alloc(0) : messageBytes(field.resolvedType as Type, next, depth - 1);
    if (next(20) > 0) return withLength(field.id, inner);
    return Buffer.concat([tagOf(field.id, 3), inner, tagOf(field.id, 4)]);
  }
  const wire = ['string', 'bytes'].includes(type) ? 2 : (fixedSizes[type] ?? 0);
  return Buffer.concat([tagOf(field.id, wire === 4 ? 5 : wire === 8 ? 1 : wire), scalarBytes(field, type, next)]);
}

const fixedSizes: Record<string, number> = { double: 8, fixed64: 8, sfixed64: 8, float: 4, fixed32: 4, sfixed32: 4 };
const interesting = [0n, 1n, 2n, 127n, 128n, 300n, 2n ** 31n - 1n, 2n ** 31n, 2n ** 53n + 1n, 2n ** 63n - 1n];
const texts = ['', 'a', 'text', 'größe', '\u{1f600}', 'a longer text than sixteen bytes', '"\\\n'];

function scalarBytes(field: Field, type: string, next: (below: number) => number): Buffer {
  if (type === 'string' || type === 'bytes') {
    const bytes = Buffer.from(texts[next(texts.length)] ?? '');
    return Buffer.concat([varintOf(BigInt(bytes.length)), bytes]);
  }
  const size = fixedSizes[type];
  if (type === 'double' || type === 'float') {
    const bytes = Buffer.alloc(size ?? 8);
    const number = [0, 1, -1.5, 0.1, 1e21, -0, 3e-7, 12345678.9][next(8)] ?? 0;
    if (type === 'double') bytes.writeDoubleLE(number);
    else bytes.writeFloatLE(number);
    return bytes;
  }
  const picked = interesting[next(interesting.length)] ?? 0n;
  const number = next(3) === 0 ? -picked : picked;
  if (size !== undefined) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt.asUintN(64, number));
    return bytes.subarray(0, size);
  }
  const is32 = ['int32', 'sint32', 'uint32'].includes(type) || field.resolvedType !== null;
  if (is32 && next(40) > 0) {
    const small = BigInt.asIntN(32, number);
    return varintOf(type === 'uint32' || type === 'sint32' ? BigInt.asUintN(32, small) : BigInt.asUintN(64, small));
  }
  return varintOf(BigInt.asUintN(64, number));
}

function withLength(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([tagOf(number, 2), varintOf(BigInt(bytes.length)), bytes]);
}

const tagOf = (number: number, wire: number): Buffer => varintOf((BigInt(number) << 3n) | BigInt(wire));

export function varintOf(number: bigint): Buffer {
  const bytes: number[] = [];
  let rest = number;
  do {
    bytes.push(Number(rest & 127n) | (rest > 127n ? 128 : 0));
    rest >>= 7n;
  } while (rest > 0n);
  return Buffer.from(bytes);
}

/** A payload as the framing `frames` has it. */
export function framed(payload: Uint8Array): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32LE(payload.length, 0);
  return Buffer.concat([head, payload]);
}
