/** Encode nodes as bytes. */
import {
  EncodeFlag,
  encodeField,
  encodeSpec,
  NullRule,
  OutputFormat,
  OutputFraming,
  OutputShape,
  operandNone,
} from '../gen/layouts.js';
import { put } from '../memory/layout.js';
import type { NodeInput, OutputPlan, Program } from '../plan/ir.js';
import { encodeMessageTypes } from '../plan/message-types.js';
import { isBatch } from '../plan/output-plan.js';
import type { Linking, NodeKind } from './node.js';

declare module '../plan/ir.js' {
  interface NodePlans {
    /** Computes the output columns and writes them as bytes for one sink (or several with equal wishes). */
    encode: { input: NodeInput; program: Program | null; output: OutputPlan; actions: number[] };
  }
}

/** Bytes after a name that the kernel may read. */
const padding = 16;

export const encode: NodeKind<'encode'> = {
  traits: { passesColumns: false, passesRows: false, keepsRows: false, worksOnMany: false },
  isShareable: ({ output }) => !isBatch(output),
  spec: ({ output }, { operand }) => encodeOutput(linkOutput(output, operand)),
};

function linkOutput(output: OutputPlan, operand: Linking['operand']): OutputPlan {
  const { shape, head, empty } = output;
  const linked = {
    ...output,
    ...(head === undefined ? {} : { head: operand(head) }),
    ...(empty === undefined ? {} : { empty: operand(empty) }),
  };
  if (shape.kind === 'object') return { ...linked, shape: { kind: 'object', operand: operand(shape.operand) } };
  const fields = shape.fields.map((field) => ({ ...field, operand: operand(field.operand) }));
  return { ...linked, shape: { kind: 'fields', fields } };
}

function encodeOutput(output: OutputPlan): Uint8Array {
  if (output.head !== undefined && output.framing === 'lines') throw new RangeError('lines have no heads');
  const fields = output.shape.kind === 'fields' ? output.shape.fields : [];
  const names = fields.map((field) => Buffer.from(output.format === 'json' ? `,${jsonText(field.name)}:` : field.name));
  const namesLen = names.reduce((sum, name) => sum + name.length, 0);
  const namesAt = encodeSpec.size + fields.length * encodeField.size;
  const delimiter =
    output.messages === undefined ? Buffer.from(output.delimiter ?? '') : encodeMessageTypes(output.messages);
  const delimiterAt = (namesAt + namesLen + 3) & ~3;
  const bytes = new Uint8Array(delimiterAt + 4 + delimiter.length + padding);
  const view = new DataView(bytes.buffer);

  put(view, 0, encodeSpec, {
    shape: OutputShape[output.shape.kind],
    format: OutputFormat[output.format],
    flags:
      (output.sendSingle ? EncodeFlag.single : 0) |
      (output.omitIfEmpty ? EncodeFlag.omitEmpty : 0) |
      (output.sendError ? EncodeFlag.sendError : 0) |
      (output.header === undefined ? 0 : EncodeFlag.header) |
      (output.header === 'each' ? EncodeFlag.eachHeader : 0) |
      (isBatch(output) ? EncodeFlag.batch : 0) |
      (output.firstOnly === true ? EncodeFlag.first : 0) |
      (output.tellsTime === true ? EncodeFlag.tells : 0),
    framing: OutputFraming[output.framing],
    fields: fields.length,
    batchSize: output.batchSize,
    literals: namesLen,
    linger: counted(output.lingerMs, 'lingerMs'),
    operand: output.shape.kind === 'object' ? output.shape.operand : 0,
    delimiter: delimiterAt,
    head: output.head ?? operandNone,
    empty: output.empty ?? operandNone,
  });

  view.setUint32(delimiterAt, delimiter.length, true);
  bytes.set(delimiter, delimiterAt + 4);
  let nameAt = namesAt;
  fields.forEach((field, i) => {
    const name = names[i] as Buffer;
    put(view, encodeSpec.size + i * encodeField.size, encodeField, {
      nameOff: nameAt,
      nameLen: name.length,
      operand: field.operand,
      rule: nullRule(output, field),
    });
    bytes.set(name, nameAt);
    nameAt += name.length;
  });
  return bytes;
}

type Field = Extract<OutputPlan['shape'], { kind: 'fields' }>['fields'][number];

function nullRule(output: OutputPlan, field: Field): number {
  if (field.omitNull === true) return NullRule.omit;
  if (field.omitMissing === true) return NullRule.keepNull;
  if (output.sendNil) return NullRule.send;
  return field.plain ? NullRule.keepNull : NullRule.omit;
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
