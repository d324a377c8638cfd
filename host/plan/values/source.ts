/** A stream of a rule as expressions see it: which columns it has and how each is read. */

import type { ColumnType, ColumnUse } from '../../../kernels/plan/ir.js';
import { nearest } from '../../base/text/nearest.js';
import { decodeOf } from '../../codecs/index.js';
import { isKeptTable } from '../../connectors/index.js';
import { formatFault } from '../../functions/calendar/time-format.js';
import { hostNumber, resolveFunction } from '../../functions/registry.js';
import type { FieldType, Span, TableRef } from '../../sql/ast.js';
import { formattedColumns, type StreamDefinition } from '../../sql/source-def.js';
import { columnErrors } from '../errors/column.js';
import { noteAnything } from './types.js';
import type { Value, Values } from './value.js';

const any: ColumnType = { type: 'any' };

/** A relation as expressions see it: a stream, a table, or another SELECT. */
export interface Relation {
  readonly index: number;
  readonly name: string;
  /** Name in the statement, unique there: the alias, or else the name. */
  readonly ownName: string;
  /** A table: its rows are kept and joined to those of streams. */
  readonly isTable: boolean;
  /** A table in which the rows of streams are looked up. */
  readonly isLookup: boolean;
  /** Names of the columns, or null where they are not known before the rows are there. */
  readonly declared: readonly string[] | null;
  readonly values: Values;
  has(name: string): boolean;
  /** Reads a column; one that is known not to be there is refused. */
  column(name: string, span?: Span): Value;
  /** The whole row as one object. */
  row(): Value;
  /** The time of a row as epoch milliseconds: event time, or when it arrived. */
  rowTime(isEventTime: boolean): Value;
  /** Column with the event time; null where it has to be computed. */
  readonly timeColumn: string | null;
  /** How much later than the event time of a row the value always is, ms; null where it has nothing to do with it. */
  timeOffset(value: Value): number | null;
  meta(key: string): Value;
  allMeta(): Value;
  arrival(): Value;
}

export class Source implements Relation {
  readonly name: string;
  /** Column that holds the event time; null when the stream declares none. */
  readonly timestamp: string | null;
  private readonly alias: string | null;
  private readonly columns: ReadonlyMap<string, ColumnUse> | null;
  /** A message is the value of its only column. */
  private readonly isWhole: boolean;
  /** TIMESTAMP_FORMAT: how texts of times are written; null: in one of the common forms. */
  private readonly timeFormat: string | null;
  /** DATETIME columns that are read by the format. */
  private readonly formatted: ReadonlySet<string>;

  constructor(
    readonly index: number,
    readonly definition: StreamDefinition,
    table: TableRef,
    readonly values: Values,
  ) {
    const { fields, options } = definition;
    const decode = decodeOf(options.format);
    if (decode === undefined) {
      throw columnErrors.formatUnsupported(options.format, definition.name);
    }
    this.name = definition.name;
    this.alias = table.alias;
    this.timestamp = options.timestamp;
    this.isWhole = decode.isWhole === true;
    this.timeFormat = options.timestampFormat;
    this.formatted = new Set(formattedColumns(definition));
    const declared = fields === null || fields.length === 0 ? null : fields;
    if (this.isWhole) {
      this.columns = new Map([['self', { kind: 'self' }]]);
      if (declared !== null) this.columns = new Map(declared.map(({ name }) => [name, { kind: 'self' }]));
    } else if (declared === null) {
      this.columns = null;
    } else {
      this.columns = new Map(
        declared.map(({ name, fieldType }) => {
          const type = this.formatted.has(name) ? any : columnType(fieldType);
          return [name, { kind: 'field', name, type }];
        }),
      );
    }
  }

  get ownName(): string {
    return this.alias ?? this.name;
  }

  /** A table: its rows are kept and joined to those of streams. */
  get isTable(): boolean {
    return this.definition.kind === 'table';
  }

  /** A table in which the rows of streams are looked up. */
  get isLookup(): boolean {
    return this.definition.options.tableKind === 'lookup';
  }

  /** A lookup table whose rows come as those of a stream do and are kept; others are asked for rows. */
  get isKept(): boolean {
    return this.isLookup && isKeptTable(this.definition.options.type);
  }

  /** A lookup table that is asked for rows. */
  get isAsked(): boolean {
    return this.isLookup && !this.isKept;
  }

  /** Number of newest rows that a table keeps. */
  get retainRows(): number {
    return this.definition.options.retainSize;
  }

  /** Names of the declared columns, or null without a schema. */
  get declared(): readonly string[] | null {
    return this.columns === null ? null : [...this.columns.keys()];
  }

  has(name: string): boolean {
    return this.columns === null || this.columns.has(name);
  }

  /** Reads a column; an undeclared one of a stream with a schema is refused. */
  column(name: string, span?: Span): Value {
    if (this.columns === null) return this.values.column(this.index, { kind: 'field', name, type: any });
    const use = this.columns.get(name);
    if (use !== undefined) return this.read(name, use);
    const meant = nearest(name, this.columns.keys());
    throw columnErrors.unknownOfStream(name, this.name, meant, span);
  }

  /** The whole row as one object. */
  row(): Value {
    if (this.columns === null) return this.values.column(this.index, { kind: 'row' });
    const args = [...this.columns].flatMap(([name, use]) => [this.values.text(name), this.read(name, use)]);
    return this.values.op('nested.objectOf', [], args);
  }

  /** The event time of a row: the column of option TIMESTAMP, read by TIMESTAMP_FORMAT when there is one. */
  time(): Value {
    const { timestamp } = this;
    if (timestamp === null) throw new Error(`stream ${this.name} has no event time`);
    const column = this.column(timestamp);
    return column.kind === 'column' ? this.parsed(column) : column;
  }

  rowTime(isEventTime: boolean): Value {
    return isEventTime && this.timestamp !== null ? this.numberOf(this.time()) : this.arrival();
  }

  /** A time as epoch milliseconds. */
  private numberOf(column: Value): Value {
    if (column.kind === 'column' && column.use.kind === 'field' && column.use.type.type === 'bigint') return column;
    // Numbers are milliseconds already, texts are read as dates.
    return this.values.op('cast.toBigint', [this.values.op('cast.toDatetime', [column])]);
  }

  /** Rows come in the order of their times, with the watermark. */
  get isTold(): boolean {
    return this.definition.isTold === true;
  }

  get timeColumn(): string | null {
    return this.timestamp;
  }

  timeOffset(value: Value): number | null {
    if (this.timestamp === null) return null;
    const time = this.time();
    return value === time || value === this.numberOf(time) ? 0 : null;
  }

  private read(name: string, use: ColumnUse): Value {
    const column = this.values.column(this.index, use);
    // Columns of answers are not checked, so they may hold anything.
    if (this.isAsked) noteAnything(column);
    return this.formatted.has(name) ? this.parsed(column) : column;
  }

  private parsed(column: Value): Value {
    if (this.timeFormat === null) return column;
    const fault = formatFault(this.timeFormat);
    if (fault !== undefined) throw columnErrors.timestampFormat(this.name, fault);
    const args = [column, this.values.text(this.timeFormat)];
    const parse = resolveFunction('parse_time', [undefined, this.timeFormat]);
    return this.values.op('call.host', [], args, hostNumber(parse));
  }

  meta(key: string): Value {
    return this.values.column(this.index, { kind: 'meta', key });
  }

  allMeta(): Value {
    return this.values.column(this.index, { kind: 'metaAll' });
  }

  arrival(): Value {
    return this.values.column(this.index, { kind: 'arrival' });
  }
}

function columnType(fieldType: FieldType): ColumnType {
  switch (fieldType.type) {
    case 'array':
      return { type: 'array', element: columnType(fieldType.element) };
    case 'struct':
      return {
        type: 'struct',
        fields: fieldType.fields.map((field) => ({ name: field.name, type: columnType(field.fieldType) })),
      };
    default:
      return { type: fieldType.type };
  }
}
