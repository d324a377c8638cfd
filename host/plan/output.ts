/** From the output row of the SELECT to what one kind of sink gets of it. */
import { joinedColumn } from './joined-row.js';
import type { OutputRow } from './logical.js';
import type { SinkWishes } from './sinks.js';
import type { Value, Values } from './value.js';

/** The shape of the messages, still with values in the place of operands. */
export type ShapeSpec =
  | { kind: 'fields'; fields: { name: string; value: Value; isPlain: boolean; isUnnamed: boolean }[] }
  | { kind: 'object'; value: Value };

export interface OutputSpec {
  shape: ShapeSpec;
  sendNil: boolean;
  sendSingle: boolean;
  /** Only the first row of a message is sent. */
  isFirstRowOnly: boolean;
}

/** Applies fields, excludeFields and dataField to the row. */
export function outputSpec(row: OutputRow, wishes: SinkWishes, values: Values): OutputSpec {
  const { sendNil, sendSingle } = wishes;
  if (wishes.dataField !== null) {
    const shape: ShapeSpec = { kind: 'object', value: pick(wishes.dataField, row, values) };
    return { shape, sendNil, sendSingle: true, isFirstRowOnly: !sendSingle };
  }
  if (wishes.fields !== null) {
    const fields = wishes.fields.map((name) => ({
      name,
      value: pick(name, row, values),
      isPlain: false,
      isUnnamed: false,
    }));
    // Listed columns are always there.
    return { shape: { kind: 'fields', fields: sorted(fields) }, sendNil: true, sendSingle, isFirstRowOnly: false };
  }
  return { shape: wholeRow(row, wishes, values), sendNil, sendSingle, isFirstRowOnly: false };
}

function wholeRow(row: OutputRow, { excludeFields, sendNil }: SinkWishes, values: Values): ShapeSpec {
  const entries = row.entries.filter(({ name }) => !excludeFields.includes(name));
  if (row.star === null) return { kind: 'fields', fields: sorted(entries) };
  const removed = new Set([...row.star.except, ...excludeFields]);
  const missing = values.constant({ tag: 'missing' });
  const args: Value[] = [...removed].flatMap((name) => [values.text(name), missing]);
  for (const { name, value, isPlain } of entries) if (!isPlain) args.push(values.text(name), value);
  const computed = args.length === 0 ? row.star.row : values.op('nested.merge', [row.star.row], args, sendNil ? 0 : 1);
  const plain = entries.flatMap(({ name, value, isPlain }) => (isPlain ? [values.text(name), value] : []));
  return { kind: 'object', value: plain.length === 0 ? computed : values.op('nested.merge', [computed], plain, 0) };
}

/** The value of one output column; null when the row has no such column. */
function pick(name: string, row: OutputRow, values: Values): Value {
  const entry = row.entries.find((one) => one.name === name);
  if (entry !== undefined) return entry.value;
  if (row.star === null || row.star.except.includes(name)) return values.null();
  return joinedColumn(values, row.star.sources, name);
}

/** Members go out in the byte order of their names. */
function sorted<E extends { name: string }>(entries: readonly E[]): E[] {
  return entries
    .map((entry) => ({ entry, bytes: Buffer.from(entry.name) }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ entry }) => entry);
}
