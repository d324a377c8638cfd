/**
 * Makes points of rows: tags by their templates, members as fields, the time from a member or the clock. Whole numbers
 * of the engine's own rows are integers, all other numbers floats; JSON has floats alone.
 */
import { Tag } from '../../../kernels/gen/layouts.js';
import { eachRow, RowCursor, rowAt, textAt, valueAt } from '../../../kernels/values/rows.js';
import { Instant, type Value } from '../../../kernels/values/value.js';
import { compileTemplate } from '../../template/compile.js';
import { Budget, type Dict, goFloat, isDict, readJson, type Value as Shown, show } from '../../template/value.js';
import { influxErrors } from './errors.js';
import { escapedMeasurement, escapedName, LineBuffer } from './line.js';
import type { PointConf, Precision } from './props.js';

/** Nanoseconds of a unit. */
const units: Readonly<Record<Precision, bigint>> = { s: 1_000_000_000n, ms: 1_000_000n, us: 1000n, ns: 1n };
const maxUnits = 1_000_000;
const maxText = 1 << 20;
/** Names of members that are kept ready; rows with ever new ones must not fill the memory. */
const mostNames = 10_000;

interface Member {
  /** Name as it stands in rows. */
  readonly key: Buffer;
  readonly name: string;
  /** Name of the field with escapes; undefined for a member that is none. */
  readonly field: Buffer | undefined;
  readonly isTime: boolean;
}

export class PointWriter {
  /** Lines of the messages since the last `clear`. */
  readonly lines = new LineBuffer();
  readonly #head: Buffer;
  readonly #tags: readonly { readonly name: Buffer; readonly render: (row: Dict) => string }[];
  /** Members by their place in the last row: rows of a stream look alike. */
  readonly #last: Member[] = [];
  readonly #members = new Map<string, Member>();
  readonly #cursor = new RowCursor();
  #lastTime = 0n;

  constructor(
    readonly conf: PointConf,
    /** The clock in milliseconds, for points without a time of their own. */
    readonly now: () => number = Date.now,
  ) {
    const fixed: Buffer[] = [escapedMeasurement(conf.measurement)];
    const rendered: { name: Buffer; render: (row: Dict) => string }[] = [];
    const tags = Object.entries(conf.tags).sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    for (const [key, value] of tags) {
      const name = escapedName(key, `the tag ${key}`);
      const text = typeof value === 'string' ? value : shown(value as Value);
      // Templates go behind fixed tags: the server does not mind the order.
      if (text.includes('{{')) rendered.push({ name, render: compileTemplate(text).renderValue });
      else if (text !== '') fixed.push(Buffer.from(','), name, Buffer.from('='), escapedName(text, `the tag ${key}`));
    }
    this.#head = Buffer.concat(fixed);
    this.#tags = rendered;
  }

  /** Adds the points of a message in the engine's own form; throws why it has none, then nothing is added. */
  addRows(message: Buffer): void {
    eachRow(message, (at) => this.#point(() => this.#row(message, at)));
  }

  /** Adds the points of a message in JSON, an object or a list of objects; throws as `addRows`. */
  addJson(message: Buffer): void {
    const value = jsonOf(message);
    for (const row of Array.isArray(value) ? value : [value]) {
      if (!isDict(row)) throw influxErrors.noRow();
      this.#point(() => this.#object(row));
    }
  }

  #point(write: () => void): void {
    this.lines.begin(this.#head);
    try {
      write();
    } catch (error) {
      this.lines.drop();
      throw error;
    }
  }

  #row(message: Buffer, at: number): void {
    if (this.#tags.length > 0) this.#addTags(shownRow(rowAt(message, at)));
    const { tsFieldName } = this.conf;
    const cursor = this.#cursor;
    cursor.open(message, at);
    let time = tsFieldName === '' ? this.#clock() : undefined;
    for (let place = 0; cursor.next(); place++) {
      const member = this.#memberAt(place, message);
      if (member.isTime) time = this.#timeOf(valueAt(message, cursor.at));
      if (member.field !== undefined) this.#field(member, message, cursor);
    }
    if (time === undefined) throw influxErrors.noTime(tsFieldName);
    this.lines.end(time);
  }

  #field({ name, field }: Member, message: Buffer, { tag, at }: RowCursor): void {
    if (tag <= Tag.null) return;
    if (tag === Tag.f64) this.#float(name, field!, message.readDoubleLE(at + 1));
    else if (tag === Tag.i64) this.#integer(field!, message, at + 1);
    else if (tag === Tag.str) this.lines.text(field!, textAt(message, at));
    else if (tag === Tag.bool) this.lines.field(field!, message[at + 1] === 0 ? 'false' : 'true');
    else this.lines.text(field!, Buffer.from(shown(valueAt(message, at))));
  }

  #float(name: string, field: Buffer, number: number): void {
    if (!Number.isFinite(number)) throw influxErrors.notFinite(name);
    this.lines.field(field, this.conf.useLineProtocol ? goFloat(number) : String(number));
  }

  #integer(field: Buffer, message: Buffer, at: number): void {
    const number = message.readInt32LE(at + 4) * 2 ** 32 + message.readUInt32LE(at);
    const digits = Number.isSafeInteger(number) ? String(number) : String(message.readBigInt64LE(at));
    this.lines.field(field, this.conf.useLineProtocol ? digits : `${digits}i`);
  }

  #object(row: Dict): void {
    this.#addTags(row);
    const { tsFieldName, fields } = this.conf;
    const time = tsFieldName === '' ? this.#clock() : this.#timeOf(row[tsFieldName] as Value);
    const names = fields.length > 0 ? fields : Object.keys(row);
    for (const name of names) {
      const value = Object.hasOwn(row, name) ? row[name] : undefined;
      if (value === undefined || value === null) continue;
      const field = this.#member(name).field!;
      if (typeof value === 'number') this.#float(name, field, value);
      else if (typeof value === 'bigint') this.lines.field(field, String(value));
      else if (typeof value === 'boolean') this.lines.field(field, String(value));
      else this.lines.text(field, Buffer.from(typeof value === 'string' ? value : shown(value as Value)));
    }
    this.lines.end(time);
  }

  #addTags(row: Dict): void {
    for (const { name, render } of this.#tags) this.lines.tag(name, escapedName(render(row), 'a tag'));
  }

  #memberAt(place: number, bytes: Buffer): Member {
    const { keyFrom, keyTo } = this.#cursor;
    const last = this.#last[place];
    if (last !== undefined && last.key.compare(bytes, keyFrom, keyTo) === 0) return last;
    const member = this.#member(bytes.toString('utf8', keyFrom, keyTo));
    if (place < mostNames) this.#last[place] = member;
    return member;
  }

  #member(name: string): Member {
    let member = this.#members.get(name);
    if (member === undefined) {
      const { fields, tsFieldName } = this.conf;
      const isField = fields.length === 0 || fields.includes(name);
      const field = isField ? escapedName(name, `the field ${name}`) : undefined;
      member = { key: Buffer.from(name), name, field, isTime: name === tsFieldName };
      if (this.#members.size >= mostNames) this.#members.clear();
      this.#members.set(name, member);
    }
    return member;
  }

  /** In units below a millisecond no two points get the same time: one would replace the other. */
  #clock(): string {
    const unit = units[this.conf.precision];
    const time = (BigInt(this.now()) * units.ms) / unit;
    this.#lastTime = unit < units.ms && time <= this.#lastTime ? this.#lastTime + 1n : time;
    return String(this.#lastTime);
  }

  #timeOf(value: Value): string {
    const { tsFieldName, precision } = this.conf;
    if (value === undefined) throw influxErrors.noTime(tsFieldName);
    if (typeof value === 'bigint') return String(value);
    if (value instanceof Instant) return String(value.nanos / units[precision]);
    if (typeof value === 'number' && Math.abs(value) < 2 ** 63) return String(BigInt(Math.trunc(value)));
    throw influxErrors.time(tsFieldName);
  }
}

function jsonOf(message: Buffer): Shown {
  try {
    return readJson(message.toString());
  } catch {
    throw influxErrors.noRow();
  }
}

/** The row as templates see it: datetimes as texts, bytes as base64. */
function shownRow(row: { [key: string]: Value }): Dict {
  for (const [key, value] of Object.entries(row)) {
    if (typeof value === 'object' || typeof value === 'bigint') row[key] = plain(value) as Value;
  }
  return row as Dict;
}

function plain(value: Value): Shown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (value instanceof Instant) return new Date(Number(value.nanos / 1_000_000n)).toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([key, member]) => [key, plain(member as Value)] as const);
  return Object.fromEntries(members);
}

/** The text that Go prints for a value. */
function shown(value: Value): string {
  return show(plain(value), new Budget(maxUnits, maxText));
}
