/** Makes the output of one kind of sink from the output row of the SELECT. */
import { aggregates } from '../../../kernels/gen/ops.js';
import type { OutputEntry, OutputRow } from '../logical/logical.js';
import { joinedColumn, mergedObject, missing, nullOfPresent } from '../values/joined-row.js';
import type { Relation } from '../values/source.js';
import { aggregatesIn, type Value, type Values } from '../values/value.js';
import type { SinkWishes } from './sinks.js';

/** The shape of the messages, still with values in the place of operands. */
export type ShapeSpec = { kind: 'fields'; fields: OutputEntry[] } | { kind: 'object'; value: Value };

export interface OutputSpec {
  shape: ShapeSpec;
  sendNil: boolean;
  sendSingle: boolean;
  omitIfEmpty: boolean;
  /** Only the first row of a message is sent: no other comes to the encode node. */
  isFirstRowOnly: boolean;
  /** The same, but templates of the sink see all rows of the message. */
  firstOnly: boolean;
  /** The whole row as an object, for templates of the sink. */
  head: Value | null;
  /** For omitIfEmpty: null or an object without members in rows that are left out whatever is sent of them. */
  empty: Value | null;
}

/**
 * Applies fields, excludeFields and dataField to the row.
 * @param absent streams that the row may have no row of
 */
export function outputSpec(
  row: OutputRow,
  absent: readonly Relation[],
  wishes: SinkWishes,
  values: Values,
): OutputSpec {
  const head = wishes.hasHead ? wholeObject(row, values) : null;
  return { ...sentOf(row, absent, wishes, values), head, empty: emptyOf(row, wishes, values) };
}

/**
 * Value that is null, or an object without members, when there is nothing to send and the message does not show it. An
 * empty window has a row of aggregates nevertheless, in which the column that is sent may have no value. Single rows
 * are left out when they have no members themselves, not when `fields` and the like leave none.
 */
function emptyOf(row: OutputRow, wishes: SinkWishes, values: Values): Value | null {
  const isOfWindow = row.entries.some(({ value }) => aggregatesIn(value).length > 0);
  const rows = isOfWindow ? values.aggregate('countAll', [], null) : null;
  const { dataField } = wishes;
  if (!wishes.omitIfEmpty) {
    if (rows === null || (dataField === null && !wishes.isWhole)) return null;
    const sent = dataField === null ? wholeValue(row, values) : columnSent(dataField, row, values);
    const isThere = values.constant({ tag: 'bool', value: true });
    const isNotNull = (value: Value) => values.op('logic.isNotNull', [value]);
    return values.op('logic.case', [], [isNotNull(rows), isThere, isNotNull(sent), isThere, values.null()]);
  }
  if (dataField !== null && !wishes.sendSingle) return rows;
  const isSelected = wishes.fields !== null || wishes.excludeFields.length > 0 || wishes.dataField !== null;
  // With nulls for what is not there a row of named columns has members.
  const hasMembers = wishes.sendNil && row.entries.length > 0;
  if (!wishes.sendSingle || !isSelected || hasMembers) return rows;
  const members = wholeObject(row, values);
  return rows === null
    ? members
    : values.op('logic.case', [], [values.op('logic.isNull', [rows]), values.null(), members]);
}

function sentOf(
  row: OutputRow,
  absent: readonly Relation[],
  wishes: SinkWishes,
  values: Values,
): Omit<OutputSpec, 'head' | 'empty'> {
  const { sendNil, sendSingle, omitIfEmpty } = wishes;
  const all = { isFirstRowOnly: false, firstOnly: false };
  if (wishes.isWhole) {
    const shape: ShapeSpec = { kind: 'object', value: wholeValue(row, values) };
    return { shape, sendNil, sendSingle: true, omitIfEmpty, ...all };
  }
  if (wishes.dataField !== null) {
    const value = selected(columnSent(wishes.dataField, row, values), wishes, values);
    const shape: ShapeSpec = { kind: 'object', value };
    if (sendSingle) return { shape, sendNil, sendSingle, omitIfEmpty, ...all };
    // A list of rows is not empty, whatever its first row has.
    const ofFirst = { shape, sendNil, omitIfEmpty: false };
    if (wishes.hasHead && wishes.format === 'json') {
      return { ...ofFirst, sendSingle, isFirstRowOnly: false, firstOnly: true };
    }
    return { ...ofFirst, sendSingle: true, isFirstRowOnly: true, firstOnly: false };
  }
  if (wishes.fields !== null) {
    const fields = wishes.fields.map((name) => ({
      name,
      value: pick(name, row, values),
      isPlain: false,
      isBrought: false,
      isUnnamed: false,
    }));
    // Listed columns are always there.
    const ordered = wishes.keepsOrder ? fields : sorted(fields);
    return { shape: { kind: 'fields', fields: ordered }, sendNil: true, sendSingle, omitIfEmpty, ...all };
  }
  const sent = sendNil ? withoutAbsent(row, absent, values) : row;
  return { shape: wholeRow(sent, wishes, values), sendNil, sendSingle, omitIfEmpty, ...all };
}

/** The value that is a message by itself. */
function wholeValue(row: OutputRow, values: Values): Value {
  const [only, other] = row.entries;
  const value = row.star === null && row.set === undefined && other === undefined ? only?.value : undefined;
  return value ?? pick('self', row, values);
}

/** The column that is sent in the place of the row. Of an empty window what collects rows is a list without any. */
function columnSent(name: string, row: OutputRow, values: Values): Value {
  const value = pick(name, row, values);
  return isNullOfNothing(value) ? values.op('logic.coalesce', [], [value, values.op('nested.arrayOf', [])]) : value;
}

/** True for an aggregate that is null over no rows: of an empty window it is sent as null. */
export function isNullOfNothing(value: Value): boolean {
  return value.kind === 'aggregate' && aggregates[value.fn].emptyIsNull === true;
}

/**
 * The row with what its rows have for one that reads them: computed nulls are not there, as they are not sent, with
 * `sendNil` columns that are missing are null.
 */
export function sentRow(row: OutputRow, absent: readonly Relation[], sendNil: boolean, values: Values): OutputRow {
  const { entries, ...others } = sendNil ? withoutAbsent(row, absent, values) : row;
  const sent = (entry: OutputEntry): OutputEntry => {
    const { value, isBrought, isUnnamed } = entry;
    const isPlain = entry.isPlain || isNullOfNothing(value) || (sendNil && !isUnnamed);
    if (!isPlain) return { ...entry, value: presentOf(value, values) };
    const isThere = sendNil && entry.isPlain && !isBrought;
    return { ...entry, isPlain, value: isThere ? values.op('logic.coalesce', [], [value]) : value };
  };
  return { ...others, entries: entries.map(sent) };
}

/** The value, missing where it is null. */
function presentOf(value: Value, values: Values): Value {
  if (value.kind === 'window' || (value.kind === 'const' && value.value.tag !== 'null')) return value;
  return values.op('logic.ifNotNull', [value]);
}

/** The members that `fields` and `excludeFields` leave of an object, or of each object of a list. */
function selected(value: Value, { fields, excludeFields }: SinkWishes, values: Values): Value {
  const names = fields ?? excludeFields;
  if (names.length === 0) return value;
  const ascending = sorted(names.map((name) => ({ name }))).map(({ name }) => values.text(name));
  return values.op('nested.select', [value], ascending, fields === null ? 1 : 0);
}

/** The row without the columns of streams that it has no row of: nobody knows whether they would be null. */
function withoutAbsent(row: OutputRow, absent: readonly Relation[], values: Values): OutputRow {
  if (absent.length === 0) return row;
  const entries = row.entries.map((entry): OutputEntry => {
    const { value, isPlain, isBrought } = entry;
    const owner = value.kind === 'column' && isPlain && !isBrought ? value.source : null;
    const source = absent.find(({ index }) => index === owner);
    return source === undefined ? entry : { ...entry, value: nullOfPresent(values, source, value), isBrought: true };
  });
  return { ...row, entries };
}

/** The row as one object, as a sink without wishes would get it. */
export function wholeObject(row: OutputRow, values: Values): Value {
  const shape = wholeRow(row, { excludeFields: [], sendNil: false }, values);
  if (shape.kind === 'object') return shape.value;
  return values.op(
    'nested.objectOf',
    [],
    shape.fields.flatMap(({ name, value }) => [values.text(name), value]),
  );
}

function wholeRow(
  row: OutputRow,
  { excludeFields, sendNil, ofFirstRow }: Pick<SinkWishes, 'excludeFields' | 'sendNil' | 'ofFirstRow'>,
  values: Values,
): ShapeSpec {
  const entries = row.entries.filter(({ name }) => !excludeFields.includes(name));
  const { star, set } = row;
  if (star === null && set === undefined && ofFirstRow !== true) return { kind: 'fields', fields: sorted(entries) };
  const isSent = ({ isPlain, isUnnamed }: OutputEntry): boolean => isPlain || (sendNil && !isUnnamed);
  const members = (some: readonly OutputEntry[]) => some.flatMap(({ name, value }) => [values.text(name), value]);
  const merged = (into: Value, args: Value[], imm: number): Value =>
    args.length === 0 ? into : values.op('nested.merge', [into], args, imm);
  const without = (names: readonly string[]) => names.flatMap((name) => [values.text(name), missing(values)]);
  const removed = [...new Set([...(star?.except ?? []), ...excludeFields])];
  const omitsNulls = entries.filter((entry) => !isSent(entry));
  // Without a wildcard a column that the row does not have is left out, unless nulls are sent for those, too.
  const hasWildcard = star !== null && star.sources.length > 0;
  const isLeftOut = ({ isPlain, isBrought }: OutputEntry): boolean =>
    isBrought || (!hasWildcard && isPlain && !sendNil);
  const leftOut = entries.filter(isLeftOut);
  const optional = values.op('nested.objectOf', [], members(leftOut));
  const brought = star === null ? [] : without(removed);
  const isOne = star === null || leftOut.length === 0;
  const object = isOne
    ? merged(star?.row ?? optional, [...brought, ...members(omitsNulls)], 1)
    : merged(mergedObject(values, [optional, merged(star.row, brought, 1)]), members(omitsNulls), 1);
  const whole = merged(object, members(entries.filter((entry) => isSent(entry) && !isLeftOut(entry))), 0);
  if (set === undefined) return { kind: 'object', value: whole };
  return {
    kind: 'object',
    value: values.op('nested.concat', [], [whole, merged(set.value, without(excludeFields), 0)]),
  };
}

/** The value of one output column; null when the row has no such column. */
export function pick(name: string, row: OutputRow, values: Values): Value {
  if (row.set !== undefined) {
    const { set, ...others } = row;
    const own = values.op('nested.member', [set.value, values.text(name)]);
    return values.op('logic.coalesce', [], [own, pick(name, others, values)]);
  }
  const entry = row.entries.find((one) => one.name === name);
  if (entry !== undefined) return entry.value;
  if (row.star === null || row.star.except.includes(name)) return values.null();
  if (row.star.sources.length === 0) return values.op('nested.member', [row.star.row, values.text(name)]);
  return joinedColumn(values, row.star.sources, name);
}

/** Members go out in the byte order of their names. */
function sorted<E extends { name: string }>(entries: readonly E[]): E[] {
  return entries
    .map((entry) => ({ entry, bytes: Buffer.from(entry.name) }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ entry }) => entry);
}
