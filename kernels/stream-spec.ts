/** Writes stream specs, column uses and types as assembly/source/state.ts and assembly/json/type.ts read them. */
import type { Framing, StreamSpec } from './api.js';
import type { ColumnType, ColumnUse, ConstValue } from './ir.js';

const framings: Record<Framing, number> = { mqtt: 1, lines: 2, frames: 3 };
const formats: Record<StreamSpec['format'], number> = { json: 1, binary: 2, rows: 3 };
const strictFlag = 1;
const intsFlag = 2;
const headSize = 20;
/** Nested deeper, payloads would exhaust the kernel's stack. */
const deepest = 1000;
const longestMessage = 0x0fffffff;
const longestName = 0xffff;

const simpleTypes = { any: 0, bigint: 1, float: 2, string: 3, datetime: 4, boolean: 5, bytea: 6 } as const;
const arrayType = 7;
const structType = 8;

const useKinds: Record<ColumnUse['kind'], number> = { field: 1, row: 2, self: 3, meta: 4, metaAll: 5, arrival: 6 };

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
  const head = Buffer.alloc(headSize);
  head[0] = framings[spec.framing];
  head[1] = spec.mqttVersion ?? 4;
  head[2] = formats[spec.format];
  head[3] = (spec.strict && spec.schema !== null ? strictFlag : 0) | (spec.wholeNumbersAreInts ? intsFlag : 0);
  head.writeUInt32LE(Math.floor(spec.maxDepth), 4);
  head.writeUInt32LE(Math.floor(spec.maxMessageBytes), 8);
  head.writeUInt32LE(type.length, 12);
  head.writeUInt32LE(defaults.length, 16);
  return Buffer.concat([head, type, ...defaults]);
}

/** Kind, name and type of a use; type null for any. */
export function encodeColumnUse(use: ColumnUse): { kind: number; name: Uint8Array; type: Uint8Array | null } {
  const kind = useKinds[use.kind];
  if (use.kind === 'field') {
    return { kind, name: Buffer.from(use.name), type: use.type.type === 'any' ? null : encodeType(use.type) };
  }
  return { kind, name: Buffer.from(use.kind === 'meta' ? use.key : ''), type: null };
}

/** Bytes of a type in prefix notation. */
export function encodeType(type: ColumnType): Buffer {
  if (type.type === 'array') return Buffer.concat([Buffer.from([arrayType]), encodeType(type.element)]);
  if (type.type !== 'struct') return Buffer.from([simpleTypes[type.type]]);
  const fields = Buffer.concat(
    type.fields.map((field) => {
      const name = Buffer.from(field.name);
      if (name.length > longestName) throw new RangeError(`a field name has more than ${longestName} bytes`);
      const inner = encodeType(field.type);
      const head = Buffer.alloc(6);
      head.writeUInt16LE(name.length, 0);
      head.writeUInt32LE(inner.length, 2);
      return Buffer.concat([head, name, inner]);
    }),
  );
  const head = Buffer.alloc(7);
  head[0] = structType;
  head.writeUInt32LE(fields.length, 1);
  head.writeUInt16LE(type.fields.length, 5);
  return Buffer.concat([head, fields]);
}

function encodeDefault(column: string, value: ConstValue): Buffer {
  const name = Buffer.from(column);
  const text = Buffer.from(jsonText(value));
  const head = Buffer.alloc(8);
  head.writeUInt32LE(name.length, 0);
  head.writeUInt32LE(text.length, 4);
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
