/** The columns that messages of a schema of Avro give. */
import type { ColumnType } from '../../../kernels/plan/ir.js';
import { type Logical, LogicalType, shapeOf, type Type, typeOf } from './schema.js';

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
}

const scalars: Readonly<Record<string, ColumnType>> = {
  boolean: { type: 'boolean' },
  int: { type: 'bigint' },
  long: { type: 'bigint' },
  float: { type: 'float' },
  double: { type: 'float' },
  bytes: { type: 'bytea' },
  fixed: { type: 'bytea' },
  string: { type: 'string' },
  enum: { type: 'string' },
};

const logicals: Readonly<Record<Logical, ColumnType>> = {
  decimal: { type: 'float' },
  uuid: { type: 'string' },
  date: { type: 'datetime' },
  'time-millis': { type: 'string' },
  'time-micros': { type: 'string' },
  'timestamp-millis': { type: 'bigint' },
  'timestamp-micros': { type: 'datetime' },
  'timestamp-nanos': { type: 'datetime' },
  'local-timestamp-millis': { type: 'datetime' },
  'local-timestamp-micros': { type: 'datetime' },
  'local-timestamp-nanos': { type: 'datetime' },
  duration: {
    type: 'struct',
    fields: ['months', 'days', 'millis'].map((name) => ({ name, type: { type: 'bigint' } })),
  },
};

/** Most columns, members of records among them: records that name each other twice would have any number. */
const mostColumns = 10_000;

/**
 * Columns of a schema, or of the type in it that is meant; none where it is no record. Throws when they are too many.
 */
export function columnsOf(text: string, name: string): readonly Column[] {
  const type = columnType(typeOf([text], name), [], { count: 0 });
  return type.type === 'struct' ? type.fields : [];
}

/** @param outer enclosing records, at which recursion ends */
function columnType(type: Type, outer: readonly Type[], so: { count: number }): ColumnType {
  if (type instanceof LogicalType) return logicals[type.logical];
  const { typeName, types, itemsType, fields } = shapeOf(type);
  switch (typeName) {
    case 'union:wrapped': {
      const [only, other] = types.filter((one) => shapeOf(one).typeName !== 'null');
      return only === undefined || other !== undefined ? { type: 'any' } : columnType(only, outer, so);
    }
    case 'array':
      return { type: 'array', element: columnType(itemsType, outer, so) };
    case 'map':
      return { type: 'struct', fields: [] };
    case 'record':
    case 'error': {
      const own = outer.includes(type) ? [] : fields;
      so.count += own.length;
      if (so.count > mostColumns)
        throw new Error(`it has more than ${mostColumns} columns, members of records among them`);
      return {
        type: 'struct',
        fields: own.map((field) => ({ name: field.name, type: columnType(field.type, [...outer, type], so) })),
      };
    }
    default:
      return scalars[typeName] ?? { type: 'any' };
  }
}
