/** Streams and their columns as bytes: the layouts drawn in assembly/source/state.ts and assembly/json/type.ts. */
import type { StreamSpec } from './api.js';
import type { ColumnType, ColumnUse, ConstValue } from './ir.js';

const framings = { mqtt: 1, lines: 2, frames: 3 } as const;
const formats = { json: 1, binary: 2, rows: 3 } as const;
const flags = { strict: 1, ints: 2 } as const;
const useKinds = { field: 1, row: 2, self: 3, meta: 4, metaAll: 5, arrival: 6 } as const;
const typeKinds = { any: 0, bigint: 1, float: 2, string: 3, datetime: 4, boolean: 5, bytea: 6, array: 7, struct: 8 } as const;
const headSize = 20;

/** A column use as the kernel takes it; `type` null stands for any. */
export interface EncodedUse {
  kind: number;
  name: Uint8Array;
  type: Uint8Array | null;
}

/** Writes the description of a stream. Throws RangeError when a number does not fit. */
export function encodeStreamSpec(spec: StreamSpec): Uint8Array {
  const schema = spec.schema ?? [];
  const type = spec.schema === null ? Buffer.alloc(0) : encodeType({ type: 'struct', fields: schema });
  const defaults = schema.flatMap(({ name, default: value }) =>
    value === undefined ? [] : [encodeDefault(name, value)],
  );
  const head = Buffer.alloc(headSize);
  head[0] = framings[spec.framing];
  head[1] = spec.mqttVersion ?? 4;
  head[2] = formats[spec.format];
  head[3] = (spec.strict ? flags.strict : 0) | (spec.wholeNumbersAreInts ? flags.ints : 0);
  head.writeUInt32LE(spec.maxDepth, 4);
  head.writeUInt32LE(spec.maxMessageBytes, 8);
  head.writeUInt32LE(type.length, 12);
  head.writeUInt32LE(defaults.length, 16);
  return Buffer.concat([head, type, ...defaults]);
}

export function encodeColumnUse(use: ColumnUse): EncodedUse {
  const kind = useKinds[use.kind];
  if (use.kind === 'meta') return { kind, name: Buffer.from(use.key), type: null };
  if (use.kind !== 'field') return { kind, name: new Uint8Array(0), type: null };
  return { kind, name: Buffer.from(use.name), type: use.type.type === 'any' ? null : encodeType(use.type) };
}

function encodeType(type: ColumnType): Buffer {
  const kind = Buffer.from([typeKinds[type.type]]);
  if (type.type === 'array') return Buffer.concat([kind, encodeType(type.element)]);
  if (type.type !== 'struct') return kind;
  const fields = type.fields.map(({ name, type: fieldType }) => {
    const text = Buffer.from(name);
    const bytes = encodeType(fieldType);
    const head = Buffer.alloc(6);
    head.writeUInt16LE(text.length, 0);
    head.writeUInt32LE(bytes.length, 2);
    return Buffer.concat([head, text, bytes]);
  });
  const head = Buffer.alloc(6);
  head.writeUInt32LE(fields.reduce((sum, { length }) => sum + length, 0), 0);
  head.writeUInt16LE(type.fields.length, 4);
  return Buffer.concat([kind, head, ...fields]);
}

function encodeDefault(name: string, value: ConstValue): Buffer {
  const text = Buffer.from(name);
  const json = Buffer.from(jsonOf(value));
  const head = Buffer.alloc(8);
  head.writeUInt32LE(text.length, 0);
  head.writeUInt32LE(json.length, 4);
  return Buffer.concat([head, text, json]);
}

function jsonOf(value: ConstValue): string {
  switch (value.tag) {
    case 'null':
    case 'missing':
      return 'null';
    case 'i64':
      return value.value.toString();
    case 'array':
      return `[${value.items.map(jsonOf).join(',')}]`;
    case 'object':
      return `{${value.members.map(([key, item]) => `${JSON.stringify(key)}:${jsonOf(item)}`).join(',')}}`;
    default:
      return JSON.stringify(value.value);
  }
}
