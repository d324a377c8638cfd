/**
 * JSON as values of Avro: a schema becomes functions that write bytes. Members of a row that the schema does not have
 * are left out, those that the row does not have get their default. What does not fit is refused with its place.
 */
import { reasonOf } from '../../base/errors.js';
import { dayOf, nanosOf, timeOfDayNanos, wholeUnits } from '../value-text.js';
import type { ByteWriter } from './byte-writer.js';
import { type Logical, LogicalType, shapeOf, type Type } from './schema.js';

/** Bytes of a value; throws the reason why there are none. */
export type Write = (out: ByteWriter, value: unknown) => void;

type Row = Readonly<Record<string, unknown>>;

interface Writer {
  readonly write: Write;
  /** Whether the value may be one of the type, as far as it shows. */
  fits(value: unknown): boolean;
}

interface Field {
  readonly name: string;
  readonly writer: Writer;
  /** Bytes of the default; undefined where the field has to be there. */
  readonly missing: Uint8Array | undefined;
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const uuid = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
const decimal = /^([-+]?)(\d*)(?:\.(\d*))?(?:[eE]([-+]?\d{1,3}))?$/;

/** Nanoseconds of a unit of time. */
const unitNanos = { millis: 1_000_000n, micros: 1000n, nanos: 1n } as const;

export function writerOf(type: Type): Write {
  return new Writers().of(type).write;
}

class Writers {
  /** Writers of records, which may hold themselves. */
  readonly #known = new Map<Type, Writer>();

  of(type: Type): Writer {
    if (type instanceof LogicalType) return logical(type, this.of(type.underlyingType));
    const shape = shapeOf(type);
    switch (shape.typeName) {
      case 'record':
      case 'error':
        return this.#record(type);
      case 'array':
        return list(this.of(shape.itemsType));
      case 'map':
        return map(this.of(shape.valuesType));
      case 'union:wrapped':
        return union(
          shape.types,
          shape.types.map((one) => this.of(one)),
        );
      case 'enum':
        return symbol(shape.symbols);
      case 'fixed':
        return fixed(shape.size);
      default:
        return primitive(shape.typeName);
    }
  }

  #record(type: Type): Writer {
    const known = this.#known.get(type);
    if (known !== undefined) return known;
    const { fields, name = 'record' } = shapeOf(type);
    const own: Field[] = [];
    const writer: Writer = {
      fits: (value) =>
        isRow(value) && own.every((field) => field.missing !== undefined || member(value, field.name) !== undefined),
      write: (out, value) => {
        if (Array.isArray(value)) throw new Error(`a list is no ${name}: sendSingle sends each row by itself`);
        if (!isRow(value)) throw wrong(value, name);
        for (const field of own) writeField(out, field, member(value, field.name));
      },
    };
    this.#known.set(type, writer);
    for (const field of fields) own.push({ name: field.name, writer: this.of(field.type), missing: missingOf(field) });
    return writer;
  }
}

function writeField(out: ByteWriter, { name, writer, missing }: Field, value: unknown): void {
  try {
    if (value !== undefined) writer.write(out, value);
    else if (missing !== undefined) out.bytes(missing);
    else throw new Error('is missing');
  } catch (error) {
    throw new Error(`${name}: ${reasonOf(error)}`);
  }
}

/** Bytes of a field that is not there: of its default, or of null where that is possible. */
function missingOf({ type, defaultValue }: ReturnType<typeof shapeOf>['fields'][number]): Uint8Array | undefined {
  const value = defaultValue();
  if (value !== undefined) return type.toBuffer(value);
  const { typeName, types } = shapeOf(type);
  if (typeName === 'null') return new Uint8Array();
  const index = typeName === 'union:wrapped' ? types.findIndex((one) => shapeOf(one).typeName === 'null') : -1;
  return index < 0 ? undefined : new Uint8Array([index * 2]);
}

function union(types: readonly Type[], writers: readonly Writer[]): Writer {
  const names = types.map((type) => shapeOf(type).branchName ?? shapeOf(type).typeName);
  const indexOf = (value: unknown): number => {
    const fitting = writers.flatMap((writer, i) => (writer.fits(value) ? [i] : []));
    // Of several records that with all members of the row.
    const whole = fitting.find((i) => isRow(value) && Object.keys(value).every((key) => hasField(types[i], key)));
    return whole ?? fitting[0] ?? -1;
  };
  return {
    fits: (value) => writers.some((writer) => writer.fits(value)),
    write: (out, value) => {
      const index = indexOf(value);
      if (index < 0) throw wrong(value, names.join(' or '));
      out.long(index);
      writers[index]?.write(out, value);
    },
  };
}

function hasField(type: Type | undefined, name: string): boolean {
  if (type === undefined) return false;
  const { typeName, fields } = shapeOf(type);
  return typeName !== 'record' || fields.some((field) => field.name === name);
}

function list(items: Writer): Writer {
  return {
    fits: Array.isArray,
    write: (out, value) => {
      if (!Array.isArray(value)) throw wrong(value, 'list');
      if (value.length > 0) out.long(value.length);
      value.forEach((item, i) => {
        try {
          items.write(out, item);
        } catch (error) {
          throw new Error(`[${i}]: ${reasonOf(error)}`);
        }
      });
      out.byte(0);
    },
  };
}

function map(values: Writer): Writer {
  return {
    fits: isRow,
    write: (out, value) => {
      if (!isRow(value)) throw wrong(value, 'map');
      const members = Object.entries(value);
      if (members.length > 0) out.long(members.length);
      for (const [name, item] of members) {
        out.text(name);
        writeField(out, { name, writer: values, missing: undefined }, item);
      }
      out.byte(0);
    },
  };
}

function symbol(symbols: readonly string[]): Writer {
  const indexes = new Map(symbols.map((name, i) => [name, i]));
  return {
    fits: (value) => typeof value === 'string' && indexes.has(value),
    write: (out, value) => {
      const index = typeof value === 'string' ? indexes.get(value) : undefined;
      if (index === undefined) throw wrong(value, `symbol of ${symbols.slice(0, 10).join(', ')}`);
      out.long(index);
    },
  };
}

function fixed(size: number): Writer {
  const bytesOf = (value: unknown) => (isBase64(value) ? Buffer.from(value, 'base64') : undefined);
  return {
    fits: (value) => bytesOf(value)?.length === size,
    write: (out, value) => {
      const bytes = bytesOf(value);
      if (bytes?.length !== size) throw wrong(value, `base64 text of ${size} bytes`);
      out.bytes(bytes);
    },
  };
}

function primitive(name: string): Writer {
  switch (name) {
    case 'null':
      return scalar(
        'null',
        (value) => value === null,
        () => {},
      );
    case 'boolean':
      return scalar(name, isBoolean, (out, value) => out.byte(value ? 1 : 0));
    case 'int':
      return scalar(
        name,
        (value) => isInteger(value, 32),
        (out, value) => out.long(value as number),
      );
    case 'long':
      return scalar(
        name,
        (value) => isInteger(value, 64),
        (out, value) => out.long(value as number | bigint),
      );
    case 'float':
      return scalar(name, isNumber, (out, value) => out.float(Number(value)));
    case 'double':
      return scalar(name, isNumber, (out, value) => out.double(Number(value)));
    case 'bytes':
      return scalar('base64 text', isBase64, (out, value) => out.sized(Buffer.from(value as string, 'base64')));
    case 'string':
      return scalar(name, isText, (out, value) => out.text(value as string));
    default:
      throw new Error(`the type ${name} is not known`);
  }
}

function scalar(name: string, fits: (value: unknown) => boolean, write: Write): Writer {
  return {
    fits,
    write: (out, value) => {
      if (!fits(value)) throw wrong(value, name);
      write(out, value);
    },
  };
}

function logical({ logical: name, decimal: form, underlyingType }: LogicalType, base: Writer): Writer {
  const { size } = shapeOf(underlyingType);
  const unit = unitNanos[(name.split('-').at(-1) ?? '') as keyof typeof unitNanos];
  switch (name) {
    case 'decimal':
      return scalar(
        `decimal(${form.precision}, ${form.scale})`,
        (value) => isNumber(value) || (isText(value) && decimal.test(value as string)),
        (out, value) => writeDecimal(out, unscaled(String(value), form.scale), form.precision, size),
      );
    case 'uuid':
      return scalar(
        name,
        (value) => isText(value) && uuid.test(value as string),
        (out, value) => {
          if (size === undefined) out.text(value as string);
          else out.bytes(Buffer.from((value as string).replaceAll('-', ''), 'hex'));
        },
      );
    case 'duration':
      return scalar(name, isRow, writeDuration);
    default:
      return timed(name, base, unit);
  }
}

/** Dates and times: texts, or the integers that stand for them. Of instants these are always milliseconds. */
function timed(name: Logical, base: Writer, unit: bigint): Writer {
  const ofText = (value: string): bigint | undefined => {
    if (name === 'date') return dayOf(value);
    const nanos = name.startsWith('time-') ? timeOfDayNanos(value) : nanosOf(value);
    return nanos === undefined ? undefined : wholeUnits(nanos, unit);
  };
  const isInstant = name.includes('timestamp');
  const countOf = (value: unknown): number | bigint | undefined => {
    if (typeof value === 'string') return ofText(value);
    if (!isInteger(value, 64)) return undefined;
    return isInstant ? (BigInt(value as number) * unitNanos.millis) / unit : (value as number | bigint);
  };
  return scalar(
    name,
    (value) => base.fits(shortened(countOf(value))),
    (out, value) => base.write(out, shortened(countOf(value))),
  );
}

/** The bigint as a number where that is the same. */
function shortened(value: number | bigint | undefined): number | bigint | undefined {
  return typeof value === 'bigint' && BigInt.asIntN(53, value) === value ? Number(value) : value;
}

/** The digits of a decimal as an integer. Throws when it has more behind the point than the scale. */
function unscaled(text: string, scale: number): bigint {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = decimal.exec(text) ?? [];
  const digits = whole + fraction;
  if (digits === '') throw new Error(`${text} is no decimal`);
  const places = scale - fraction.length + Number(exponent);
  const all = places >= 0 ? digits + '0'.repeat(places) : digits.slice(0, places) || '0';
  if (places < 0 && /[1-9]/.test(digits.slice(places))) throw new Error(`${text} has more than ${scale} decimals`);
  return sign === '-' ? -BigInt(all) : BigInt(all);
}

function writeDecimal(out: ByteWriter, value: bigint, precision: number, size: number | undefined): void {
  if ((value < 0n ? -value : value) >= 10n ** BigInt(precision)) {
    throw new Error(`a decimal has more than ${precision} digits`);
  }
  let bytes = 1;
  while (BigInt.asIntN(bytes * 8, value) !== value) bytes++;
  const length = size ?? bytes;
  if (bytes > length) throw new Error(`a decimal takes more than ${length} bytes`);
  const hex = BigInt.asUintN(length * 8, value)
    .toString(16)
    .padStart(length * 2, '0');
  if (size === undefined) out.sized(Buffer.from(hex, 'hex'));
  else out.bytes(Buffer.from(hex, 'hex'));
}

function writeDuration(out: ByteWriter, value: unknown): void {
  for (const name of ['months', 'days', 'millis']) {
    const count = member(value as Row, name) ?? 0;
    if (typeof count !== 'number' || count >>> 0 !== count) throw new Error(`${name}: ${shown(count)} is no count`);
    out.uint32(count);
  }
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function member(row: Row, name: string): unknown {
  return Object.hasOwn(row, name) ? row[name] : undefined;
}

function isBoolean(value: unknown): boolean {
  return typeof value === 'boolean';
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function isBase64(value: unknown): value is string {
  return typeof value === 'string' && base64.test(value);
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'bigint';
}

function isInteger(value: unknown, bits: 32 | 64): boolean {
  if (typeof value === 'bigint') return bits === 64 && BigInt.asIntN(64, value) === value;
  if (typeof value !== 'number' || !Number.isInteger(value)) return false;
  return bits === 32 ? (value | 0) === value : Number.isSafeInteger(value);
}

function wrong(value: unknown, name: string): Error {
  return new Error(`${shown(value)} is no ${name}`);
}

/** A value in an error, shortened. */
function shown(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
