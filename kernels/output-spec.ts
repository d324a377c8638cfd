/** Encode nodes as bytes: the layout drawn in assembly/flow/encode-row.ts. */
import type { OutputPlan } from './ir.js';

const headSize = 32;
const fieldSize = 16;
/** Bytes that may be read behind a name. */
const padding = 16;

const formats = { json: 0, rows: 1, none: 2 } as const;
const framings = { lines: 0, messages: 1 } as const;
const flags = { single: 1, omitEmpty: 2, sendError: 4 } as const;
const nullRules = { keepNull: 0, omit: 1, send: 2 } as const;

/** Writes the spec of an encode node. Throws RangeError when a number does not fit its field. */
export function encodeOutput(output: OutputPlan): Uint8Array {
  const fields = output.shape.kind === 'fields' ? output.shape.fields : [];
  const names = fields.map((field) => Buffer.from(output.format === 'json' ? `,${jsonText(field.name)}:` : field.name));
  const namesLen = names.reduce((sum, name) => sum + name.length, 0);
  const namesAt = headSize + fields.length * fieldSize;
  const bytes = new Uint8Array(namesAt + namesLen + padding);
  const view = new DataView(bytes.buffer);

  bytes[0] = output.shape.kind === 'object' ? 1 : 0;
  bytes[1] = formats[output.format];
  bytes[2] =
    (output.sendSingle ? flags.single : 0) |
    (output.omitIfEmpty ? flags.omitEmpty : 0) |
    (output.sendError ? flags.sendError : 0);
  bytes[3] = framings[output.framing];
  view.setUint32(4, fields.length, true);
  view.setUint32(8, counted(output.batchSize, 'batchSize'), true);
  view.setUint32(12, namesLen, true);
  view.setFloat64(16, counted(output.lingerMs, 'lingerMs'), true);
  view.setUint32(24, output.shape.kind === 'object' ? output.shape.operand : 0, true);

  let nameAt = namesAt;
  fields.forEach((field, i) => {
    const at = headSize + i * fieldSize;
    const name = names[i] as Buffer;
    view.setUint32(at, nameAt, true);
    view.setUint32(at + 4, name.length, true);
    view.setUint16(at + 8, field.operand, true);
    bytes[at + 10] = nullRule(output, field);
    bytes.set(name, nameAt);
    nameAt += name.length;
  });
  return bytes;
}

type Field = Extract<OutputPlan['shape'], { kind: 'fields' }>['fields'][number];

function nullRule(output: OutputPlan, field: Field): number {
  if (field.omitNull === true) return nullRules.omit;
  if (field.omitMissing === true) return nullRules.keepNull;
  if (output.sendNil) return nullRules.send;
  return field.plain ? nullRules.keepNull : nullRules.omit;
}

/** A JSON string with the characters escaped that the kernel escapes in values, too. */
function jsonText(text: string): string {
  return JSON.stringify(text).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function counted(value: number, name: string): number {
  if (!(value >= 0 && value <= 0xffffffff)) throw new RangeError(`${name} must lie between 0 and 2^32, not ${value}`);
  return value;
}
