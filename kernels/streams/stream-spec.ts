/** Writes stream specs, column uses and types. */
import type { Decoder, StreamSpec } from '../api.js';
import {
  decoder,
  defaultHead,
  Framing,
  fieldHead,
  InputFormat,
  StreamFlag,
  streamSpec,
  structHead,
  TypeKind,
  UseKind,
} from '../gen/layouts.js';
import { block } from '../memory/layout.js';
import type { ColumnType, ColumnUse, ConstValue } from '../plan/ir.js';
import { encodeMessageTypes } from '../plan/message-types.js';
import { deepest } from '../values/value.js';

const longestMessage = 0x0fffffff;
const longestName = 0xffff;

/** Bytes of a stream spec. Throws RangeError for limits that the kernel cannot keep. */
export function encodeStreamSpec(spec: StreamSpec): Uint8Array {
  if (!(spec.maxDepth >= 1 && spec.maxDepth <= deepest)) {
    throw new RangeError(`maxDepth must be 1 to ${deepest}, not ${spec.maxDepth}`);
  }
  if (!(spec.maxMessageBytes >= 1 && spec.maxMessageBytes <= longestMessage)) {
    throw new RangeError(`maxMessageBytes must be 1 to ${longestMessage}, not ${spec.maxMessageBytes}`);
  }
  const type = spec.schema === null ? Buffer.alloc(0) : encodeType({ type: 'struct', fields: spec.schema });
  const defaults = (spec.schema ?? []).flatMap((column) =>
    column.default === undefined ? [] : [encodeDefault(column.name, column.default)],
  );
  if ((spec.format === 'coded') !== (spec.decoder !== undefined)) throw new RangeError('coded messages need a decoder');
  if ((spec.format === 'protobuf') !== (spec.messages !== undefined)) throw new RangeError('protobuf needs types');
  const delimiter = tailOf(spec);
  const head = block(streamSpec, {
    framing: Framing[spec.framing],
    version: spec.mqttVersion ?? 4,
    format: InputFormat[spec.format],
    flags:
      (spec.strict && spec.schema !== null ? StreamFlag.strict : 0) | (spec.wholeNumbersAreInts ? StreamFlag.ints : 0),
    maxDepth: Math.floor(spec.maxDepth),
    maxMessage: Math.floor(spec.maxMessageBytes),
    typeSize: type.length,
    defaults: defaults.length,
    delimiter: delimiter.length,
  });
  return Buffer.concat([head, type, ...defaults, delimiter]);
}

/**
 * Bytes by which saved state knows its stream: without the number of a decoder, which is another one in each process,
 * and without the types of messages, to which fields may come.
 */
export function namingBytes(spec: StreamSpec): Uint8Array {
  const { decoder: by, messages } = spec;
  return encodeStreamSpec({ ...spec, ...(by && { decoder: withoutNumbers(by) }), ...(messages && { messages: [] }) });
}

/** What the spec ends with: something that the format needs. */
function tailOf({ delimiter, decoder: by, messages }: StreamSpec): Buffer {
  if (messages !== undefined) return encodeMessageTypes(messages);
  if (by === undefined) return Buffer.from(delimiter ?? '');
  const { field = '', fn: within = 0 } = by.payload ?? {};
  const column = Buffer.from(field);
  const errors = Buffer.from(by.errorsBeginWith);
  const head = block(decoder, { fn: by.fn, within, fieldLen: column.length, errorsLen: errors.length });
  const ofPayload = by.payload === undefined ? '' : `${by.errorsBeginWith}the payload in ${field}: `;
  return Buffer.concat([head, column, errors, Buffer.from(ofPayload)]);
}

function withoutNumbers(by: Decoder): Decoder {
  return { ...by, fn: 0, ...(by.payload && { payload: { ...by.payload, fn: 0 } }) };
}

/** Kind, name and declared type of a use; type null for any. */
export function encodeColumnUse(use: ColumnUse): { kind: number; name: Uint8Array; type: Uint8Array | null } {
  const kind = UseKind[use.kind];
  if (use.kind === 'field') {
    return { kind, name: Buffer.from(use.name), type: use.type.type === 'any' ? null : encodeType(use.type) };
  }
  return { kind, name: Buffer.from(use.kind === 'meta' ? use.key : ''), type: null };
}

/** Decoded type of a column: its type, or the part of it that rules read; null for any. */
export function decodedType(use: ColumnUse): Uint8Array | null {
  if (use.kind !== 'field' || use.type.type === 'any') return null;
  return encodeType(use.read ?? use.type);
}

/** Bytes of a type in prefix notation. */
export function encodeType(type: ColumnType): Buffer {
  if (type.type === 'array') return Buffer.concat([Buffer.from([TypeKind.array]), encodeType(type.element)]);
  if (type.type !== 'struct') return Buffer.from([TypeKind[type.type]]);
  const fields = Buffer.concat(
    type.fields.map((field) => {
      const name = Buffer.from(field.name);
      if (name.length > longestName) throw new RangeError(`a field name has more than ${longestName} bytes`);
      const inner = encodeType(field.type);
      const head = block(fieldHead, { nameLen: name.length, typeLen: inner.length });
      return Buffer.concat([head, name, inner]);
    }),
  );
  const head = block(structHead, { kind: TypeKind.struct, size: fields.length, count: type.fields.length });
  return Buffer.concat([head, fields]);
}

function encodeDefault(column: string, value: ConstValue): Buffer {
  const name = Buffer.from(column);
  const text = Buffer.from(jsonText(value));
  const head = block(defaultHead, { nameLen: name.length, valueLen: text.length });
  return Buffer.concat([head, name, text]);
}

function jsonText(value: ConstValue): string {
  switch (value.tag) {
    case 'null':
    case 'missing':
      return 'null';
    case 'bool':
    case 'i64':
      return String(value.value);
    case 'f64':
    case 'str':
      return JSON.stringify(value.value);
    case 'array':
      return `[${value.items.map(jsonText).join(',')}]`;
    case 'object':
      return `{${value.members.map(([key, member]) => `${JSON.stringify(key)}:${jsonText(member)}`).join(',')}}`;
  }
}
