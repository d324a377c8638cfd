/**
 * Columns of values that go from thread to thread: one block of bytes without addresses of anybody's memory.
 *
 *   block   vals u64[columns][count] | tags u8[columns][count] | 0 … 7 | texts, and the members of lists and objects
 *
 * What a value refers to stands at its offset in the block and `carriedBase`: there the block is put in a memory, and
 * all values in it are those of a kernel.
 */
import { member, slot, Tag } from '../gen/layouts.js';
import { type Value, ValueAccess } from './value.js';

/** Address at which a memory takes a block. */
export const carriedBase = 65_536;
const pageBytes = 65_536;

export interface CarriedColumns {
  readonly count: number;
  readonly columns: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Length of the longest value where they come from, bytes. */
  readonly longest: number;
}

/** Addresses of a column. */
export interface ColumnPlace {
  readonly vals: number;
  readonly tags: number;
}

const align = (at: number) => (at + 7) & ~7;

function isPlain(tag: number): boolean {
  return tag < Tag.str || tag === Tag.time;
}

/** Places of the values and tags of column `i` in a block. */
export function carriedPlace({ count, columns }: CarriedColumns, i: number): ColumnPlace {
  return { vals: i * count * 8, tags: columns * count * 8 + i * count };
}

/** Copies the first `count` values of columns. */
export function carry(access: ValueAccess, columns: readonly ColumnPlace[], count: number): CarriedColumns {
  const [view, from] = [access.view(), access.bytes()];
  const head = align(columns.length * count * 9);
  let size = head;
  for (const { vals, tags } of columns) {
    for (let i = 0; i < count; i++) size += bytesOf(view, from[tags + i] as number, vals + 8 * i);
  }
  const bytes = new Uint8Array(size);
  const made = { count, columns: columns.length, bytes, longest: access.longest };
  const copier = new Copier(from, bytes, head);
  columns.forEach(({ vals, tags }, c) => {
    const place = carriedPlace(made, c);
    bytes.set(from.subarray(vals, vals + 8 * count), place.vals);
    bytes.set(from.subarray(tags, tags + count), place.tags);
    for (let i = 0; i < count; i++) copier.copy(from[tags + i] as number, place.vals + 8 * i);
  });
  return made;
}

/** Bytes that the value at an address refers to. */
function bytesOf(view: DataView, tag: number, at: number): number {
  if (isPlain(tag)) return 0;
  const off = view.getUint32(at, true);
  const count = view.getUint32(at + 4, true);
  if (tag !== Tag.array && tag !== Tag.object) return align(count);
  const layout = tag === Tag.array ? slot : member;
  let size = count * layout.size;
  for (let i = 0; i < count; i++) {
    const item = off + i * layout.size;
    if (tag === Tag.object) size += align(view.getUint32(item + member.at.keyLen, true));
    size += bytesOf(view, view.getUint8(item + layout.at.tag), item);
  }
  return size;
}

/** Copying byte by byte is cheaper than a call for texts up to this length. */
const short = 48;

/** Copies the contents that values refer to into a block. */
class Copier {
  private readonly to: DataView;

  constructor(
    private readonly from: Uint8Array,
    private readonly bytes: Uint8Array<ArrayBuffer>,
    /** End of the block so far, where the next content goes. */
    private end: number,
  ) {
    this.to = new DataView(bytes.buffer);
  }

  /** Copies the content of a value that itself is at `at` already. */
  copy(tag: number, at: number): void {
    if (isPlain(tag)) return;
    const off = this.to.getUint32(at, true);
    const count = this.to.getUint32(at + 4, true);
    if (tag !== Tag.array && tag !== Tag.object) {
      this.to.setUint32(at, this.text(off, count), true);
      return;
    }
    const layout = tag === Tag.array ? slot : member;
    const first = this.end;
    this.bytes.set(this.from.subarray(off, off + count * layout.size), first);
    this.end += count * layout.size;
    // Without items the address may mean something.
    if (count > 0) this.to.setUint32(at, first + carriedBase, true);
    for (let i = 0; i < count; i++) {
      const item = first + i * layout.size;
      if (tag === Tag.object) {
        const key = this.text(
          this.to.getUint32(item + member.at.keyOff, true),
          this.to.getUint32(item + member.at.keyLen, true),
        );
        this.to.setUint32(item + member.at.keyOff, key, true);
      }
      this.copy(this.to.getUint8(item + layout.at.tag), item);
    }
  }

  private text(off: number, length: number): number {
    const { from, bytes, end } = this;
    if (length <= short) for (let i = 0; i < length; i++) bytes[end + i] = from[off + i] as number;
    else bytes.set(from.subarray(off, off + length), end);
    this.end = end + align(length);
    return end + carriedBase;
  }
}

/** Throws when a block is not what `carry` makes of so many rows: it came from a thread that runs code of users. */
export function checkCarried(carried: CarriedColumns, columns: number, count: number): void {
  if (carried.columns !== columns || carried.count !== count || carried.bytes.length < align(columns * count * 9)) {
    throw new RangeError(`it is no block of ${columns} columns and ${count} rows`);
  }
  const checker = new Checker(carried.bytes, align(columns * count * 9));
  for (let c = 0; c < columns; c++) {
    const { vals, tags } = carriedPlace(carried, c);
    for (let i = 0; i < count; i++) checker.check(carried.bytes[tags + i] as number, vals + 8 * i);
  }
}

class Checker {
  private readonly view: DataView;
  /** Bytes that values may still refer to: nothing is referred to twice. */
  private left: number;

  constructor(
    bytes: Uint8Array,
    /** Offset at which the content of values begins. */
    private readonly from: number,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.left = bytes.length - from;
  }

  check(tag: number, at: number): void {
    if (isPlain(tag)) return;
    if (tag > Tag.error) throw new RangeError(`no value has tag ${tag}`);
    const count = this.view.getUint32(at + 4, true);
    if (tag !== Tag.array && tag !== Tag.object) {
      this.place(at, count);
      return;
    }
    const layout = tag === Tag.array ? slot : member;
    const off = this.place(at, count * layout.size);
    for (let i = 0; i < count; i++) {
      const item = off + i * layout.size;
      if (tag === Tag.object) this.place(item + member.at.keyOff, this.view.getUint32(item + member.at.keyLen, true));
      this.check(this.view.getUint8(item + layout.at.tag), item);
    }
  }

  private place(at: number, length: number): number {
    const off = this.view.getUint32(at, true) - carriedBase;
    this.left -= length;
    if (length > 0 && (off < this.from || off + length > this.view.byteLength || this.left < 0)) {
      throw new RangeError('a value refers to what lies outside of its block');
    }
    return off;
  }
}

/** The values of a block, by column. */
export function carriedValues(carried: CarriedColumns): Value[][] {
  const { count, columns, bytes } = carried;
  const memory = new WebAssembly.Memory({ initial: Math.ceil((carriedBase + bytes.length) / pageBytes) });
  const access = new ValueAccess(memory, () => 0);
  access.bytes().set(bytes, carriedBase);
  return Array.from({ length: columns }, (_, c) => {
    const { vals, tags } = carriedPlace(carried, c);
    return Array.from({ length: count }, (_, i) => access.read(bytes[tags + i] as number, carriedBase + vals + 8 * i));
  });
}

/** One column of a block, on its way into a kernel. */
export class CarriedColumn {
  readonly length: number;

  constructor(
    private readonly columns: CarriedColumns,
    private readonly index: number,
  ) {
    this.length = columns.count;
  }

  /**
   * Writes `n` rows from row `from` on; returns false, and nothing is written, when there is no room for what they
   * refer to.
   */
  put(access: ValueAccess, vals: number, tags: number, from: number, n: number): boolean {
    const { bytes } = this.columns;
    const place = carriedPlace(this.columns, this.index);
    const head = align(this.columns.columns * this.length * 9);
    const texts = bytes.length - head;
    const room = texts === 0 ? head + carriedBase : access.reserve(texts);
    if (room === 0) return false;
    const to = access.bytes();
    to.set(bytes.subarray(place.vals + 8 * from, place.vals + 8 * (from + n)), vals);
    to.set(bytes.subarray(place.tags + from, place.tags + from + n), tags);
    if (texts === 0) return true;
    to.set(bytes.subarray(head), room);
    const view = access.view();
    const by = room - head - carriedBase;
    for (let i = 0; i < n; i++) move(view, to[tags + i] as number, vals + 8 * i, by);
    return true;
  }
}

/** Adds to all addresses that a value has, in it and below. */
function move(view: DataView, tag: number, at: number, by: number): void {
  if (isPlain(tag)) return;
  const count = view.getUint32(at + 4, true);
  if (count === 0 && (tag === Tag.array || tag === Tag.object)) return;
  const off = view.getUint32(at, true) + by;
  view.setUint32(at, off, true);
  if (tag !== Tag.array && tag !== Tag.object) return;
  const layout = tag === Tag.array ? slot : member;
  for (let i = 0; i < count; i++) {
    const item = off + i * layout.size;
    if (tag === Tag.object) {
      view.setUint32(item + member.at.keyOff, view.getUint32(item + member.at.keyOff, true) + by, true);
    }
    move(view, view.getUint8(item + layout.at.tag), item, by);
  }
}
