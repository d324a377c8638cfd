/** A stream of a rule as expressions see it: which columns it has and how each is read. */
import type { ColumnType, ColumnUse } from '../../kernels/ir.js';
import { nearest } from '../base/nearest.js';
import type { FieldType, Span, TableRef } from '../sql/ast.js';
import type { StreamDefinition } from '../sql/source-def.js';
import { notSupported, refuse } from './errors.js';
import type { Value, Values } from './value.js';

const any: ColumnType = { type: 'any' };

export class Source {
  readonly name: string;
  /** Column that holds the event time; null when the stream declares none. */
  readonly timestamp: string | null;
  private readonly alias: string | null;
  private readonly columns: ReadonlyMap<string, ColumnUse> | null;
  private readonly isBinary: boolean;

  constructor(
    readonly index: number,
    readonly definition: StreamDefinition,
    table: TableRef,
    private readonly values: Values,
  ) {
    const { fields, options } = definition;
    if (definition.kind === 'table') throw notSupported(`table ${definition.name} in FROM`, table.span);
    if (options.format !== 'json' && options.format !== 'binary') {
      throw notSupported(`stream format ${options.format} (stream ${definition.name})`);
    }
    this.name = definition.name;
    this.alias = table.alias;
    this.timestamp = options.timestamp;
    this.isBinary = options.format === 'binary';
    const declared = fields === null || fields.length === 0 ? null : fields;
    if (this.isBinary) {
      this.columns = new Map([['self', { kind: 'self' }]]);
      if (declared !== null) this.columns = new Map(declared.map(({ name }) => [name, { kind: 'self' }]));
    } else if (declared === null) {
      this.columns = null;
    } else {
      this.columns = new Map(
        declared.map(({ name, fieldType }) => [name, { kind: 'field', name, type: columnType(fieldType) }]),
      );
    }
  }

  /** Tells whether a qualifier in the statement means this stream. */
  isNamed(qualifier: string): boolean {
    return qualifier === this.name || qualifier === this.alias;
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
    if (use !== undefined) return this.values.column(this.index, use);
    const meant = nearest(name, this.columns.keys());
    throw refuse(
      `unknown field ${name} of stream ${this.name}${meant === undefined ? '' : `, did you mean ${meant}?`}`,
      span,
    );
  }

  /** The whole row as one object. */
  row(): Value {
    if (this.columns === null) return this.values.column(this.index, { kind: 'row' });
    const args = [...this.columns].flatMap(([name, use]) => [
      this.values.text(name),
      this.values.column(this.index, use),
    ]);
    return this.values.op('nested.objectOf', [], args);
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
