/** The row at a place of a graph: its columns by name, and the meaning of names there. */

import type { SelectItem, Span } from '../../sql/ast.js';
import { type Place, Scope } from '../bind/scope.js';
import { expressionErrors } from '../errors/expression.js';
import { nodeErrors } from '../errors/node.js';
import type { OutputEntry, OutputRow } from '../logical/logical.js';
import { firstPresent, mergedObject, missing, ofPresent } from '../values/joined-row.js';
import type { Source } from '../values/source.js';
import type { Value, Values } from '../values/value.js';
import { sourcesIn } from '../values/value.js';

/** All columns of rows, and those that the streams sent. */
interface Rows {
  row: OutputRow;
  sent: OutputRow;
}

/** The row of a stream as it comes. */
export function rowOfSource(source: Source): OutputRow {
  const { declared } = source;
  if (declared === null) return { entries: [], star: { sources: [source], row: source.row(), except: [] } };
  const entries = declared.map((name) => ({ ...plain(name, source.column(name)), isBrought: true }));
  return { entries, star: null };
}

/** The row with one more column, or another value for one. */
export function withEntry(row: OutputRow, entry: OutputEntry): OutputRow {
  return { ...row, entries: [...row.entries.filter(({ name }) => name !== entry.name), entry] };
}

/** A column that functions of a graph give: unlike in SQL its null is sent. */
export function plain(name: string, value: Value): OutputEntry {
  return { name, value, isPlain: true, isBrought: false, isUnnamed: false };
}

/** Rows of a source where they meet others: what was computed of constants alone is their own, too. */
export function ownRows(source: Source, { row, sent }: Rows, values: Values): Rows {
  const own = (entry: OutputEntry): OutputEntry =>
    sourcesIn(entry.value).length === 0 ? { ...entry, value: ofPresent(values, source, entry.value) } : entry;
  return { row: { ...row, entries: row.entries.map(own) }, sent: { ...sent, entries: sent.entries.map(own) } };
}

/** Columns of rows that come from one of several branches, or of joined rows of all branches. */
export function mergedRows(branches: readonly Rows[], values: Values): Rows {
  const [row, sent] = [branches.map((one) => one.row), branches.map((one) => one.sent)];
  return { row: mergedRow(row, values), sent: mergedRow(sent, values) };
}

/** One row of several, of which some may be missing; of equal names the first that is there counts. */
function mergedRow(rows: readonly OutputRow[], values: Values): OutputRow {
  const names = new Set(rows.flatMap(({ entries }) => entries.map(({ name }) => name)));
  const entries = [...names].map((name): OutputEntry => {
    const found = rows.flatMap((row) => valuesOf(row, name));
    // For several branches it is unknown whether a null was sent or the column is missing, unless all values are
    // computed.
    const isPlain = found.length === 1 || found.every((value) => value.kind === 'op');
    const isBrought = rows.every((row) => row.entries.every((entry) => entry.name !== name || entry.isBrought));
    return { ...plain(name, firstPresent(values, found)), isPlain, isBrought };
  });
  const objects = rows.flatMap(({ star }) => (star === null ? [] : [star]));
  if (objects.length === 0) return { entries, star: null };
  const sources = objects.flatMap((star) => star.sources);
  const row = mergedObject(
    values,
    objects.map((star) => without(star.row, star.except, values)),
  );
  return { entries, star: { sources, row, except: [] } };
}

/** True for a column that the row has in just this way. */
export function hasColumn(row: OutputRow, { name, value }: OutputEntry, values: Values): boolean {
  const found = valuesOf(row, name);
  return found.length > 0 && firstPresent(values, found) === value;
}

/** The column of the name, if the row has one or may have it. */
function valuesOf({ entries, star }: OutputRow, name: string): Value[] {
  const entry = entries.find((one) => one.name === name);
  if (entry !== undefined) return [entry.value];
  if (star === null || star.except.includes(name)) return [];
  if (star.sources.length === 0) return [];
  return star.sources.map((source) => source.column(name));
}

function without(row: Value, names: readonly string[], values: Values): Value {
  if (names.length === 0) return row;
  return values.op(
    'nested.merge',
    [row],
    names.flatMap((name) => [values.text(name), missing(values)]),
  );
}

/** Names at a place of a graph: columns of the row, then those of the streams where the row has all of theirs. */
export class RowScope extends Scope {
  /**
   * @param sources in the order in which a row is searched for a name
   * @param sent columns that the streams sent, which `*` means
   * @param items columns that are being picked, whose aliases are names, too
   */
  constructor(
    sources: readonly Source[],
    values: Values,
    private readonly row: OutputRow,
    private readonly sent: OutputRow,
    items: readonly SelectItem[],
    node: string,
  ) {
    super(sources, sources, values, { items: [...items] }, node);
  }

  protected override columnNamed(name: string, span: Span, place: Place): Value {
    const entry = this.row.entries.find((one) => one.name === name);
    if (entry === undefined) {
      const { set } = this.row;
      if (set === undefined) return this.columnOfStreams(name, span);
      const made = this.values.op('nested.member', [set.value, this.values.text(name)]);
      return this.row.star === null
        ? made
        : this.values.op('logic.coalesce', [], [made, this.columnOfStreams(name, span)]);
    }
    if (place !== 'window' && entry.value.isAfterWindow) {
      throw nodeErrors.columnOfWindow(name, span);
    }
    return entry.value;
  }

  /** Rows of several streams that are not joined have a column of whichever stream they are of. */
  override ownColumn(name: string, span: Span): Value {
    return this.columnNamed(name, span, 'single');
  }

  override wholeRow(): Value {
    const { star, entries } = this.sent;
    const members = entries.flatMap(({ name, value }) => [this.values.text(name), value]);
    if (star === null) return this.values.op('nested.objectOf', [], members);
    const row = without(star.row, star.except, this.values);
    return members.length === 0 ? row : this.values.op('nested.merge', [row], members);
  }

  private columnOfStreams(name: string, span: Span): Value {
    const { star } = this.row;
    const isThere = star !== null && !star.except.includes(name);
    if (isThere && star.sources.length === 0)
      return this.values.op('nested.member', [star.row, this.values.text(name)]);
    if (isThere)
      return firstPresent(
        this.values,
        star.sources.map((source) => source.column(name)),
      );
    if (this.sources.some((source) => source.has(name))) throw nodeErrors.columnNotPicked(name, span);
    throw expressionErrors.unknownField(name, span);
  }
}
