/** Types of protobuf messages as a schema declares them, and their bytes for the kernel. */
import {
  FieldFlag,
  FieldKind,
  messageField,
  messageType,
  messageTypes,
  noCell,
  Tag,
  TypeFlag,
} from '../gen/layouts.js';
import { put } from '../memory/layout.js';

/** The types that messages of a stream or action consist of; the first is that of the messages. */
export type MessageTypes = readonly MessageType[];

export interface MessageType {
  /** In the order of their declaration. */
  readonly fields: readonly MessageField[];
  /** Stands for the value of its only field, or for a time. */
  readonly stands?: 'wrapper' | 'time';
}

export interface MessageField {
  readonly name: string;
  readonly number: number;
  readonly kind: keyof typeof FieldKind;
  readonly repeated?: 'packed' | 'single';
  /** Messages, and entries of a map: index of their type. */
  readonly type?: number;
  readonly isMap?: true;
  readonly isGroup?: true;
  /** Number of its oneof among those of the type. */
  readonly oneof?: number;
  readonly required?: true;
  /** Zero is told from no value. */
  readonly presence?: true;
  /** Value of a message without it. Numbers as text, bytes in base64; of messages an empty one, unless it is null. */
  readonly none: string | boolean | null;
  /** Enums: the names of numbers. */
  readonly texts?: readonly (readonly [name: string, number: number])[];
}

const wireTypes: Readonly<Record<keyof typeof FieldKind, number>> = {
  double: 1,
  float: 5,
  int64: 0,
  uint64: 0,
  int32: 0,
  fixed64: 1,
  fixed32: 5,
  bool: 0,
  string: 2,
  message: 2,
  bytes: 2,
  uint32: 0,
  enum: 0,
  sfixed32: 5,
  sfixed64: 1,
  sint32: 0,
  sint64: 0,
};

/** Payload of an ARRAY that is written as null. */
const noList = 1n;
/** Numbers below this have an entry in the table of numbers of their type. */
const mostNumbers = 256;
/** Bytes behind a text that the kernel may read. */
const padding = 16;

/** The bytes of types. Throws RangeError for more fields than the kernel can keep. */
export function encodeMessageTypes(types: MessageTypes): Buffer {
  const finishing = finishingTypes(types);
  const out = new Writer(messageTypes.size + types.length * messageType.size);
  for (const [i, type] of types.entries()) writeType(out, i, type, finishing);
  const bytes = Buffer.concat([out.bytes(), Buffer.alloc(padding)]);
  put(view(bytes), 0, messageTypes, { count: types.length, size: bytes.length });
  return bytes;
}

const view = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

/** Types whose messages are put in order when they have ended: by what they have themselves, or what is in them. */
function finishingTypes(types: MessageTypes): ReadonlySet<number> {
  const found = new Set<number>();
  const finishes = (field: MessageField) =>
    field.isMap === true ||
    field.required === true ||
    field.oneof !== undefined ||
    (field.type !== undefined && found.has(field.type));
  for (let before = -1; before < found.size; ) {
    before = found.size;
    for (const [i, { fields }] of types.entries()) if (fields.some(finishes)) found.add(i);
  }
  return found;
}

function writeType(out: Writer, index: number, type: MessageType, finishing: ReadonlySet<number>): void {
  const fields = [...type.fields].sort((a, b) => a.number - b.number);
  if (fields.length >= noCell) throw new RangeError(`a message has more than ${noCell - 1} fields`);
  const names = type.fields.map(({ name }) => name).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const cells = new Map(names.map((name, i) => [name, i]));
  const orders = new Map(type.fields.map(({ name }, i) => [name, i]));
  const records = Buffer.alloc((fields.length + 1) * messageField.size);
  for (const [i, field] of fields.entries()) {
    const name = Buffer.from(field.name);
    const none = noneOf(out, field);
    put(view(records), i * messageField.size, messageField, {
      number: field.number,
      nameOff: out.add(name),
      nameLen: name.length,
      cell: cells.get(field.name) ?? 0,
      peer: peerOf(fields, i) + 1,
      kind: FieldKind[field.kind],
      flags: flagsOf(field, finishing),
      tag: Tag[tagOf(field)],
      wire: wireTypes[field.kind],
      type: field.type ?? 0,
      order: orders.get(field.name) ?? 0,
      noneTag: none.tag,
      texts: field.texts === undefined ? 0 : out.add(textsOf(field.texts)),
      none: none.payload,
    });
  }
  const known = Math.min(mostNumbers, (fields.at(-1)?.number ?? 0) + 1);
  const numbers = Buffer.alloc(known * 2);
  for (const [i, { number }] of fields.entries()) if (number < known) numbers.writeUInt16LE(i + 1, number * 2);
  out.put(messageTypes.size + index * messageType.size, messageType, {
    fields: out.add(records),
    count: fields.length,
    numbers: out.add(numbers),
    numbersCount: known,
    flags:
      (finishing.has(index) ? TypeFlag.finish : 0) |
      (fields.some(({ oneof }) => oneof !== undefined) ? TypeFlag.sparse : 0) |
      (type.stands === 'wrapper' ? TypeFlag.wrapper : 0) |
      (type.stands === 'time' ? TypeFlag.time : 0),
  });
}

/** Index of the next field of the oneof, in a circle; the field itself without one. */
function peerOf(fields: readonly MessageField[], index: number): number {
  const { oneof } = fields[index] as MessageField;
  if (oneof === undefined) return index;
  const next = fields.findIndex((field, i) => i > index && field.oneof === oneof);
  return next >= 0 ? next : fields.findIndex((field) => field.oneof === oneof);
}

function flagsOf(field: MessageField, finishing: ReadonlySet<number>): number {
  const { repeated, isMap, isGroup, oneof, required, presence, type } = field;
  const finishes = isMap === true || (type !== undefined && finishing.has(type));
  return (
    (repeated === undefined ? 0 : FieldFlag.repeated) |
    (repeated === 'packed' ? FieldFlag.packed : 0) |
    (isMap === true ? FieldFlag.map : 0) |
    (isGroup === true ? FieldFlag.group : 0) |
    (oneof === undefined ? 0 : FieldFlag.oneof) |
    (required === true ? FieldFlag.required : 0) |
    (presence === true ? FieldFlag.presence : 0) |
    (finishes ? FieldFlag.finish : 0)
  );
}

/** Tag of the values of a field, of a list that of its elements. */
function tagOf({ kind }: MessageField): keyof typeof Tag {
  switch (kind) {
    case 'double':
    case 'float':
      return 'f64';
    case 'bool':
      return 'bool';
    case 'string':
      return 'str';
    case 'bytes':
      return 'bytes';
    case 'message':
      return 'object';
    default:
      return 'i64';
  }
}

/** The value of a message without the field: its tag and payload. */
function noneOf(out: Writer, field: MessageField): { tag: number; payload: bigint } {
  const { kind, repeated, isMap, oneof, none } = field;
  if (isMap === true) return { tag: Tag.object, payload: 0n };
  // A list of numbers or texts without elements is null, as recorded.
  if (repeated !== undefined) return { tag: Tag.array, payload: kind === 'message' ? 0n : noList };
  if (oneof !== undefined) return { tag: Tag.missing, payload: 0n };
  if (none === null) return { tag: Tag.null, payload: 0n };
  const tag = Tag[tagOf(field)];
  switch (kind) {
    case 'message':
      return { tag, payload: 0n };
    case 'bool':
      return { tag, payload: none === true ? 1n : 0n };
    case 'string':
    case 'bytes': {
      const bytes = Buffer.from(String(none), kind === 'bytes' ? 'base64' : 'utf8');
      return { tag, payload: BigInt(out.add(bytes)) | (BigInt(bytes.length) << 32n) };
    }
    case 'double':
    case 'float':
      return { tag, payload: new BigUint64Array(new Float64Array([Number(none)]).buffer)[0] ?? 0n };
    default:
      return { tag, payload: BigInt.asUintN(64, BigInt(none)) };
  }
}

function textsOf(texts: readonly (readonly [string, number])[]): Buffer {
  const count = Buffer.alloc(4);
  count.writeUInt32LE(texts.length);
  const entries = texts.map(([name, number]) => {
    const text = Buffer.from(name);
    const head = Buffer.alloc(8);
    head.writeInt32LE(number);
    head.writeUInt32LE(text.length, 4);
    return Buffer.concat([head, text]);
  });
  return Buffer.concat([count, ...entries]);
}

type TypeHead = Record<'fields' | 'count' | 'numbers' | 'numbersCount' | 'flags', number>;

/** Bytes that grow, with their heads in front. */
class Writer {
  readonly #head: Buffer;
  readonly #parts: Buffer[] = [];
  #length: number;

  constructor(head: number) {
    this.#head = Buffer.alloc(head);
    this.#length = head;
  }

  /** Appends bytes and gives their offset. */
  add(bytes: Buffer): number {
    const at = this.#length;
    this.#parts.push(bytes);
    this.#length += bytes.length;
    return at;
  }

  put(at: number, layout: typeof messageType, values: TypeHead): void {
    put(view(this.#head), at, layout, values);
  }

  bytes(): Buffer {
    return Buffer.concat([this.#head, ...this.#parts]);
  }
}
