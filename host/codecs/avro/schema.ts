/** Avro schemas: avsc reads and checks them, and knows what their types are; logical types are kept for our codecs. */
import avro from 'avsc';
import { reasonOf } from '../../base/errors.js';

export type Type = InstanceType<typeof avro.Type>;

/** Number of the digits behind the point of a decimal, and of all. */
export interface DecimalForm {
  readonly precision: number;
  readonly scale: number;
}

export type Logical =
  | 'decimal'
  | 'uuid'
  | 'date'
  | 'time-millis'
  | 'time-micros'
  | 'timestamp-millis'
  | 'timestamp-micros'
  | 'timestamp-nanos'
  | 'local-timestamp-millis'
  | 'local-timestamp-micros'
  | 'local-timestamp-nanos'
  | 'duration';

/** A type that stands for something else than its values. */
export class LogicalType extends avro.types.LogicalType {
  readonly logical: Logical;
  readonly decimal: DecimalForm;

  constructor(schema: avro.Schema, options: unknown) {
    super(schema, options as never);
    const { logicalType, precision, scale = 0 } = schema as unknown as Record<string, unknown>;
    this.logical = logicalType as Logical;
    this.decimal = { precision: Number(precision), scale: Number(scale) };
    const reason = reasonAgainst(this);
    // As the specification wants it, a logical type that does not fit is not there.
    if (reason !== undefined) throw new Error(reason);
  }

  /** Adds to the schema that is shown what the type needs. */
  override _export(schema: avro.Schema): void {
    if (this.logical === 'decimal') Object.assign(schema as object, this.decimal);
  }

  override _fromValue(value: unknown): unknown {
    return value;
  }

  override _toValue(value: unknown): unknown {
    return value;
  }
}

const bases: Readonly<Record<Logical, readonly string[]>> = {
  decimal: ['bytes', 'fixed'],
  uuid: ['string', 'fixed'],
  date: ['int'],
  'time-millis': ['int'],
  'time-micros': ['long'],
  'timestamp-millis': ['long'],
  'timestamp-micros': ['long'],
  'timestamp-nanos': ['long'],
  'local-timestamp-millis': ['long'],
  'local-timestamp-micros': ['long'],
  'local-timestamp-nanos': ['long'],
  duration: ['fixed'],
};

const durationBytes = 12;
const uuidBytes = 16;

function reasonAgainst({ logical, decimal, underlyingType }: LogicalType): string | undefined {
  const { typeName } = underlyingType;
  const { size } = underlyingType as unknown as { size?: number };
  if (!bases[logical].includes(typeName)) return `${logical} is no ${typeName}`;
  if (logical === 'duration' && size !== durationBytes) return `a duration has ${durationBytes} bytes`;
  if (logical === 'uuid' && size !== undefined && size !== uuidBytes) return `a uuid has ${uuidBytes} bytes`;
  if (logical !== 'decimal') return undefined;
  const { precision, scale } = decimal;
  const isRight = Number.isInteger(precision) && precision > 0 && Number.isInteger(scale) && scale >= 0;
  return isRight && scale <= precision ? undefined : 'a decimal needs precision and scale';
}

const logicalTypes = Object.fromEntries(Object.keys(bases).map((name) => [name, LogicalType]));

/** The members that types of each kind have. */
export interface Shape {
  readonly typeName: string;
  readonly name?: string;
  readonly branchName?: string;
  readonly fields: readonly { readonly name: string; readonly type: Type; defaultValue(): unknown }[];
  readonly types: readonly Type[];
  readonly itemsType: Type;
  readonly valuesType: Type;
  readonly symbols: readonly string[];
  readonly size: number;
}

export function shapeOf(type: Type): Shape {
  return type as unknown as Shape;
}

/**
 * The type of a schema, or the one of its named types that is meant, with or without its namespace. Texts before the
 * last one are schemas that it names. Throws the reason why there is none.
 */
export function typeOf(texts: readonly string[], name = ''): Type {
  const registry: Record<string, Type> = {};
  const options = { registry, wrapUnions: 'always', logicalTypes } as const;
  const types = texts.map((text) => avro.Type.forSchema(jsonOf(text), options as never));
  const type = types.at(-1);
  if (type !== undefined && name === '') return type;
  const names = Object.keys(registry).filter((one) => shapeOf(registry[one] as Type).name !== undefined);
  const meant = names.filter((one) => one === name || one.endsWith(`.${name}`));
  const found = registry[meant.includes(name) ? name : (meant[0] ?? '')];
  if (found === undefined) throw new Error(`it has no type ${name}, it has ${names.join(', ')}`);
  return found;
}

function jsonOf(text: string): avro.Schema {
  try {
    return JSON.parse(text) as avro.Schema;
  } catch (error) {
    throw new Error(`it is no JSON: ${reasonOf(error)}`);
  }
}
