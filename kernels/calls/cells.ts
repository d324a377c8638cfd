/**
 * Columns of a host call beside cells in another memory: 8 bytes for each row, and a state. What cells say that others
 * have written is looked at as if it were wrong.
 *
 *   type       cell
 *   bigint     two's complement
 *   float      bits of the double
 *   boolean    0 or 1 i64
 *   datetime   microseconds since the epoch i64
 *   bytes      off u32 | len u32        UTF-8 of texts, or what JSON is written in
 *   utf16      off u32 | len u32        UTF-16, little endian; the length is in bytes
 */
import { isUtf8 } from 'node:buffer';
import type { DirectColumns } from '../api.js';
import { argument, Tag } from '../gen/layouts.js';
import { Instant, type ValueAccess } from '../values/value.js';

/** Type of the value in a cell. */
export type CellType = 'bigint' | 'float' | 'boolean' | 'datetime' | 'bytes' | 'utf16';

/** A memory with cells; views are good until it grows. */
export interface CellMemory {
  readonly bytes: Buffer;
  readonly view: DataView;
}

/** States of results. */
export const CellState = { value: 0, null: 1, error: 2 } as const;

/** Results of rows: where they stand in another memory, and in which rows of the batch they belong. */
export interface Results {
  readonly rows: ArrayLike<number>;
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
  readonly memory: CellMemory;
  /** Addresses of the first cell and the first state. */
  readonly cells: number;
  readonly states: number;
}

/** Why a text can't be taken out of a cell. */
export type CellFault = 'outside' | 'utf8' | 'long';

/** Copying byte by byte is cheaper than a call for texts up to this length. */
const short = 48;
const bit8 = 0x80;
/** Years 0 to 9999. */
const firstMicros = -62_167_219_200_000_000n;
const endMicros = 253_402_300_800_000_000n;

/** The next place that is a multiple of 8, in memories of any size. */
export function aligned(at: number): number {
  return Math.ceil(at / 8) * 8;
}

export class Cells {
  private readonly access: ValueAccess;
  private readonly table: number;
  private readonly sel: number;
  private readonly vals: number;
  private readonly tags: number;

  constructor(private readonly columns: DirectColumns) {
    this.access = columns.access;
    this.table = columns.table;
    this.sel = columns.sel;
    this.vals = columns.vals;
    this.tags = columns.tags;
  }

  /** Length of the longest text that can be a value. */
  get longest(): number {
    return this.access.longest;
  }

  /** Tags of argument i, of the first `count` rows. */
  tagsOf(i: number, count: number): Uint8Array {
    const view = this.access.view();
    const from = this.access.bytes();
    const at = view.getUint32(this.table + i * argument.size + argument.at.tags, true);
    const isConstant = this.#isConstant(view, i);
    const tags = new Uint8Array(count);
    for (let k = 0; k < count; k++) {
      tags[k] = from[at + (isConstant ? 0 : view.getUint32(this.sel + k * 4, true))] as number;
    }
    return tags;
  }

  /** Its payload as a double: of a value with tag f64. */
  double(i: number, k: number): number {
    return this.access.view().getFloat64(this.#payload(i, k), true);
  }

  /** Whole numbers of argument i, of the first `count` rows, which are not negative and have 32 bits. */
  numbersOf(i: number, count: number): Int32Array {
    const view = this.access.view();
    const numbers = new Int32Array(count);
    for (let k = 0; k < count; k++) numbers[k] = view.getUint32(this.#payload(i, k), true);
    return numbers;
  }

  /** Row k of argument i has no value. */
  isAbsent(i: number, k: number): boolean {
    const view = this.access.view();
    const tags = view.getUint32(this.table + i * argument.size + argument.at.tags, true);
    return view.getUint8(tags + (this.#isConstant(view, i) ? 0 : this.#resultRow(k))) <= Tag.null;
  }

  /** A copy of the bytes in row k of argument i. */
  argumentBytes(i: number, k: number): Buffer {
    return this.#copyAt(this.#payload(i, k));
  }

  /** A copy of the bytes that are the result of row k, null when there are none. */
  bytesAt(k: number): Buffer | null {
    const row = this.#resultRow(k);
    return this.access.view().getUint8(this.tags + row) === Tag.bytes ? this.#copyAt(this.vals + row * 8) : null;
  }

  /** The error that is the result of row k, undefined when it is none. */
  errorAt(k: number): string | undefined {
    const row = this.#resultRow(k);
    if (this.access.view().getUint8(this.tags + row) !== Tag.error) return undefined;
    return this.#copyAt(this.vals + row * 8).toString();
  }

  #copyAt(payload: number): Buffer {
    const view = this.access.view();
    const off = view.getUint32(payload, true);
    return Buffer.from(this.access.bytes().subarray(off, off + view.getUint32(payload + 4, true)));
  }

  /** Bytes of argument i in all rows: of texts and bytes, null and missing have none. */
  textBytes(i: number, rows: ArrayLike<number>, count: number): number {
    const view = this.access.view();
    const vals = view.getUint32(this.table + i * argument.size + argument.at.vals, true);
    const tags = view.getUint32(this.table + i * argument.size + argument.at.tags, true);
    const isConstant = this.#isConstant(view, i);
    let sum = 0;
    for (let n = 0; n < count; n++) {
      const row = isConstant ? 0 : view.getUint32(this.sel + (rows[n] as number) * 4, true);
      if (view.getUint8(tags + row) > Tag.null) sum += view.getUint32(vals + row * 8 + 4, true);
    }
    return sum;
  }

  /**
   * Writes argument i of the rows into cells at `at`; a row has a number, a boolean or a time, null and missing are 0.
   */
  putNumbers(i: number, rows: ArrayLike<number>, count: number, type: CellType, to: CellMemory, at: number): void {
    const view = this.access.view();
    const vals = view.getUint32(this.table + i * argument.size + argument.at.vals, true);
    const tags = view.getUint32(this.table + i * argument.size + argument.at.tags, true);
    const isConstant = this.#isConstant(view, i);
    for (let n = 0; n < count; n++) {
      const row = isConstant ? 0 : view.getUint32(this.sel + (rows[n] as number) * 4, true);
      const cell = at + n * 8;
      const payload = vals + row * 8;
      const tag = view.getUint8(tags + row);
      if (tag <= Tag.null) to.view.setBigInt64(cell, 0n, true);
      else if (tag === Tag.f64 && type === 'bigint') {
        to.view.setBigInt64(cell, BigInt(view.getFloat64(payload, true)), true);
      } else if (tag === Tag.i64 && type === 'float') {
        to.view.setFloat64(cell, Number(view.getBigInt64(payload, true)), true);
      } else if (tag === Tag.time) {
        const { nanos } = this.access.read(tag, payload) as Instant;
        to.view.setBigInt64(cell, (nanos - (((nanos % 1000n) + 1000n) % 1000n)) / 1000n, true);
      } else {
        to.view.setUint32(cell, view.getUint32(payload, true), true);
        to.view.setUint32(cell + 4, view.getUint32(payload + 4, true), true);
      }
    }
  }

  /**
   * Writes the texts of argument i, and cells for them; returns the place after them. There must be room: `length`,
   * twice of `utf16`.
   */
  putTexts(
    i: number,
    rows: ArrayLike<number>,
    count: number,
    type: 'bytes' | 'utf16',
    to: CellMemory,
    at: number,
    textsAt: number,
  ): number {
    const view = this.access.view();
    const from = this.access.bytes();
    const target = to.bytes;
    const vals = view.getUint32(this.table + i * argument.size + argument.at.vals, true);
    const tags = view.getUint32(this.table + i * argument.size + argument.at.tags, true);
    let end = textsAt;
    const isConstant = this.#isConstant(view, i);
    for (let n = 0; n < count; n++) {
      const row = isConstant ? 0 : view.getUint32(this.sel + (rows[n] as number) * 4, true);
      const cell = at + n * 8;
      const isText = view.getUint8(tags + row) > Tag.null;
      const off = view.getUint32(vals + row * 8, true);
      const len = isText ? view.getUint32(vals + row * 8 + 4, true) : 0;
      const start = end;
      if (type === 'utf16') end = putUtf16(from, off, len, target, end);
      else {
        if (len <= short) for (let b = 0; b < len; b++) target[end + b] = from[off + b] as number;
        else target.set(from.subarray(off, off + len), end);
        end += len;
      }
      to.view.setUint32(cell, isText ? start : 0, true);
      to.view.setUint32(cell + 4, end - start, true);
    }
    return end;
  }

  /**
   * Takes the results of rows that are no texts; those whose state is another one stay as they are, as do times that
   * are none.
   */
  takeNumbers({ rows, from, to, memory, cells, states }: Results, type: CellType): number[] {
    const wrong: number[] = [];
    if (type === 'datetime') {
      for (let n = from; n < to; n++) {
        if (memory.bytes[states + n] === CellState.value && !this.#takeTime(rows[n] as number, memory, cells + n * 8)) {
          wrong.push(n);
        }
      }
      return wrong;
    }
    const view = this.access.view();
    const source = memory.view;
    const tag = type === 'boolean' ? Tag.bool : type === 'bigint' ? Tag.i64 : Tag.f64;
    const done = new Runs(this.columns);
    for (let n = from; n < to; n++) {
      if (memory.bytes[states + n] !== CellState.value) continue;
      const k = rows[n] as number;
      const cell = cells + n * 8;
      const row = view.getUint32(this.sel + k * 4, true);
      const payload = this.vals + row * 8;
      let low = source.getUint32(cell, true);
      let high = source.getUint32(cell + 4, true);
      if (type === 'boolean') {
        low = low === 0 && high === 0 ? 0 : 1;
        high = 0;
      }
      view.setUint32(payload, low, true);
      view.setUint32(payload + 4, high, true);
      view.setUint8(this.tags + row, tag);
      done.add(k);
    }
    done.end();
    return wrong;
  }

  #takeTime(k: number, from: CellMemory, cell: number): boolean {
    const micros = from.view.getBigInt64(cell, true);
    if (micros < firstMicros || micros >= endMicros) return false;
    const row = this.#resultRow(k);
    this.#finish(k, row, this.access.write(this.vals + row * 8, new Instant(micros * 1000n)));
    return true;
  }

  takeNull(k: number): void {
    const row = this.#resultRow(k);
    this.access.view().setBigUint64(this.vals + row * 8, 0n, true);
    this.#finish(k, row, Tag.null);
  }

  /**
   * Takes texts or, where `isText` says no, bytes of rows; those whose state is another one stay as they are. Returns
   * where something is wrong, and what: these rows have no result.
   */
  takeTexts(
    { rows, from, to, memory, cells, states }: Results,
    type: 'bytes' | 'utf16',
    isText: boolean,
  ): [n: number, fault: CellFault][] {
    const source = memory.bytes;
    const { view } = memory;
    const wrong: [number, CellFault][] = [];
    const unit = type === 'utf16' ? 1 : 0;
    let needed = 0;
    for (let n = from; n < to; n++) {
      if (source[states + n] !== CellState.value) continue;
      const len = view.getUint32(cells + n * 8 + 4, true) >>> unit;
      if (len <= this.access.longest) needed += len;
    }
    const room = Math.min(needed, source.length);
    const place = room === 0 ? 0 : this.access.reserve(room);
    const isFull = room > 0 && place === 0;
    const target = this.access.bytes();
    const results = this.access.view();
    const done = new Runs(this.columns);
    const wide: number[] = [];
    let at = place;
    for (let n = from; n < to; n++) {
      if (source[states + n] !== CellState.value) continue;
      const off = view.getUint32(cells + n * 8, true);
      const len = view.getUint32(cells + n * 8 + 4, true);
      const most = len >>> unit;
      if (off + len > source.length) wrong.push([n, 'outside']);
      else if (isFull || most > this.access.longest || at + most > place + room) wrong.push([n, 'long']);
      else {
        const kind = put(source, off, most, type, target, at);
        if (kind === 'wide') wide.push(n);
        else if (isText && kind === 'unknown' && !isUtf8(target.subarray(at, at + most))) wrong.push([n, 'utf8']);
        else {
          const k = rows[n] as number;
          const row = results.getUint32(this.sel + k * 4, true);
          results.setUint32(this.vals + row * 8, most === 0 ? 0 : at, true);
          results.setUint32(this.vals + row * 8 + 4, most, true);
          results.setUint8(this.tags + row, isText ? Tag.str : Tag.bytes);
          done.add(k);
          at += most;
        }
      }
    }
    done.end();
    for (const n of wide) {
      const off = view.getUint32(cells + n * 8, true);
      const len = view.getUint32(cells + n * 8 + 4, true);
      const row = this.#resultRow(rows[n] as number);
      const text = source.toString('utf16le', off, off + len - (len % 2));
      this.#finish(rows[n] as number, row, this.access.write(this.vals + row * 8, text));
    }
    return wrong;
  }

  #finish(k: number, row: number, tag: number): void {
    this.access.view().setUint8(this.tags + row, tag);
    this.columns.written(k, k + 1);
  }

  #resultRow(k: number): number {
    return this.access.view().getUint32(this.sel + k * 4, true);
  }

  /** Its only row counts for all. */
  #isConstant(view: DataView, i: number): boolean {
    return view.getUint32(this.table + i * argument.size + argument.at.stride, true) === 0;
  }

  #payload(i: number, k: number): number {
    const view = this.access.view();
    const row = this.#isConstant(view, i) ? 0 : view.getUint32(this.sel + k * 4, true);
    return view.getUint32(this.table + i * argument.size + argument.at.vals, true) + row * 8;
  }
}

/** Tells which rows were written, those that follow each other at once. */
class Runs {
  #from = 0;
  #to = 0;

  constructor(private readonly columns: DirectColumns) {}

  add(k: number): void {
    if (k !== this.#to) {
      this.end();
      this.#from = k;
    }
    this.#to = k + 1;
  }

  end(): void {
    if (this.#to > this.#from) this.columns.written(this.#from, this.#to);
    this.#from = this.#to;
  }
}

/**
 * Copies a text; says when it is not known whether it is UTF-8 (`unknown`), or needs more than a byte for a character
 * (`wide`).
 */
function put(
  source: Buffer,
  off: number,
  length: number,
  type: 'bytes' | 'utf16',
  target: Buffer,
  at: number,
): 'plain' | 'unknown' | 'wide' {
  let seen = 0;
  if (type === 'utf16') {
    for (let b = 0; b < length; b++) {
      const unit = (source[off + 2 * b] as number) | ((source[off + 2 * b + 1] as number) << 8);
      seen |= unit;
      target[at + b] = unit;
    }
    return seen >= bit8 ? 'wide' : 'plain';
  }
  if (length > short) {
    target.set(source.subarray(off, off + length), at);
    return 'unknown';
  }
  for (let b = 0; b < length; b++) {
    const byte = source[off + b] as number;
    seen |= byte;
    target[at + b] = byte;
  }
  return seen >= bit8 ? 'unknown' : 'plain';
}

/** Writes a text as UTF-16 and returns the place after it; never more than two bytes for one. */
function putUtf16(from: Buffer, off: number, len: number, target: Buffer, at: number): number {
  for (let b = 0; b < len; b++) {
    const byte = from[off + b] as number;
    if (byte >= bit8) return at + target.write(from.toString('utf8', off, off + len), at, 'utf16le');
    target[at + 2 * b] = byte;
    target[at + 2 * b + 1] = 0;
  }
  return at + 2 * len;
}
