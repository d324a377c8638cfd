/**
 * Columns of a host call beside cells in another memory: 8 bytes for each row, and a state. What cells say that others have
 * written is looked at as if it were wrong.
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
import type { DirectColumns } from './api.js';
import { argument, Tag } from './gen/layouts.js';
import { Instant, type ValueAccess } from './value.js';

/** What a cell holds. */
export type CellType = 'bigint' | 'float' | 'boolean' | 'datetime' | 'bytes' | 'utf16';

/** A memory with cells; views are good until it grows. */
export interface CellMemory {
  readonly bytes: Buffer;
  readonly view: DataView;
}

/** States of results. */
export const CellState = { value: 0, null: 1, error: 2 } as const;

/** Why a text can't be taken out of a cell. */
export type CellFault = 'outside' | 'utf8' | 'long';

/** Copying byte by byte is cheaper than a call for texts up to this length. */
const short = 48;
const bit8 = 0x80;
/** Years 0 to 9999. */
const firstMicros = -62_167_219_200_000_000n;
const endMicros = 253_402_300_800_000_000n;

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

  /** Tag of argument i in row k. */
  tag(i: number, k: number): number {
    const view = this.access.view();
    return view.getUint8(
      view.getUint32(this.table + i * argument.size + argument.at.tags, true) + this.#row(view, i, k),
    );
  }

  /** Its payload as a double: of a value with tag f64. */
  double(i: number, k: number): number {
    return this.access.view().getFloat64(this.#payload(i, k), true);
  }

  /** Length of its bytes: of a text or bytes. */
  length(i: number, k: number): number {
    return this.access.view().getUint32(this.#payload(i, k) + 4, true);
  }

  /** Writes argument i of the rows into cells at `at`; a row has a number, a boolean or a time, null and missing are 0. */
  putNumbers(i: number, rows: ArrayLike<number>, count: number, type: CellType, to: CellMemory, at: number): void {
    const view = this.access.view();
    const vals = view.getUint32(this.table + i * argument.size + argument.at.vals, true);
    const tags = view.getUint32(this.table + i * argument.size + argument.at.tags, true);
    for (let n = 0; n < count; n++) {
      const row = this.#row(view, i, rows[n] as number);
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

  /** Writes the texts of argument i, and cells for them; returns the place behind them. There must be room: `length`, twice of `utf16`. */
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
    for (let n = 0; n < count; n++) {
      const row = this.#row(view, i, rows[n] as number);
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

  /** Takes a result that is no text; says no for a time that is none, and the row has no result then. */
  takeNumber(k: number, type: CellType, from: CellMemory, cell: number): boolean {
    if (type === 'datetime') {
      const micros = from.view.getBigInt64(cell, true);
      if (micros < firstMicros || micros >= endMicros) return false;
      const row = this.#resultRow(k);
      this.#finish(k, row, this.access.write(this.vals + row * 8, new Instant(micros * 1000n)));
      return true;
    }
    const view = this.access.view();
    const row = this.#resultRow(k);
    const payload = this.vals + row * 8;
    if (type === 'boolean') view.setBigUint64(payload, from.view.getBigUint64(cell, true) === 0n ? 0n : 1n, true);
    else {
      view.setUint32(payload, from.view.getUint32(cell, true), true);
      view.setUint32(payload + 4, from.view.getUint32(cell + 4, true), true);
    }
    this.#finish(k, row, type === 'boolean' ? Tag.bool : type === 'bigint' ? Tag.i64 : Tag.f64);
    return true;
  }

  takeNull(k: number): void {
    const row = this.#resultRow(k);
    this.access.view().setBigUint64(this.vals + row * 8, 0n, true);
    this.#finish(k, row, Tag.null);
  }

  /** Takes a text or, where `isText` says no, bytes; returns what is wrong, and the row has no result then. */
  takeText(k: number, type: 'bytes' | 'utf16', isText: boolean, from: CellMemory, cell: number): CellFault | undefined {
    const off = from.view.getUint32(cell, true);
    const len = from.view.getUint32(cell + 4, true);
    if (off + len > from.bytes.length) return 'outside';
    const most = type === 'utf16' ? len >> 1 : len;
    if (most > this.access.longest) return 'long';
    const row = this.#resultRow(k);
    const source = from.bytes;
    const place = most === 0 ? 0 : this.access.reserve(most);
    if (most > 0 && place === 0) return 'long';
    const target = this.access.bytes();
    let seen = 0;
    if (type === 'utf16') {
      for (let b = 0; b < most; b++) {
        const unit = (source[off + 2 * b] as number) | ((source[off + 2 * b + 1] as number) << 8);
        seen |= unit;
        target[place + b] = unit;
      }
      if (seen >= bit8) {
        const text = source.toString('utf16le', off, off + most * 2);
        this.#finish(k, row, this.access.write(this.vals + row * 8, text));
        return undefined;
      }
    } else {
      if (most <= short) {
        for (let b = 0; b < most; b++) {
          const byte = source[off + b] as number;
          seen |= byte;
          target[place + b] = byte;
        }
      } else {
        target.set(source.subarray(off, off + most), place);
        seen = bit8;
      }
      if (isText && seen >= bit8 && !isUtf8(target.subarray(place, place + most))) return 'utf8';
    }
    const view = this.access.view();
    view.setUint32(this.vals + row * 8, place, true);
    view.setUint32(this.vals + row * 8 + 4, most, true);
    this.#finish(k, row, isText ? Tag.str : Tag.bytes);
    return undefined;
  }

  #finish(k: number, row: number, tag: number): void {
    this.access.view().setUint8(this.tags + row, tag);
    this.columns.written(k, k + 1);
  }

  #resultRow(k: number): number {
    return this.access.view().getUint32(this.sel + k * 4, true);
  }

  /** Place of row k in the column of argument i; a constant has one. */
  #row(view: DataView, i: number, k: number): number {
    const stride = view.getUint32(this.table + i * argument.size + argument.at.stride, true);
    return stride === 0 ? 0 : view.getUint32(this.sel + k * 4, true);
  }

  #payload(i: number, k: number): number {
    const view = this.access.view();
    return view.getUint32(this.table + i * argument.size + argument.at.vals, true) + this.#row(view, i, k) * 8;
  }
}

/** Writes a text as UTF-16 and returns the place behind it; never more than two bytes for one. */
function putUtf16(from: Buffer, off: number, len: number, target: Buffer, at: number): number {
  for (let b = 0; b < len; b++) {
    const byte = from[off + b] as number;
    if (byte >= bit8) return at + target.write(from.toString('utf8', off, off + len), at, 'utf16le');
    target[at + 2 * b] = byte;
    target[at + 2 * b + 1] = 0;
  }
  return at + 2 * len;
}
