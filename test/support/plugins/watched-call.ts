/**
 * Host calls under watch: while code of users fills the columns of a kernel, nothing else in the memory of the kernel
 * changes, and the host reads nothing there but the arguments and what it has written itself.
 */
import type { HostColumns } from '../../../kernels/api.js';
import { argument, member, slot, Tag } from '../../../kernels/gen/layouts.js';
import type { ValueAccess } from '../../../kernels/values/value.js';

/** Room for texts and nested values of results; a call that wants more gets none. */
const roomBytes = 1 << 18;
/** Bytes around each piece of that room which nobody may touch. */
const gap = 24;
const mostNotes = 20;

/** What a test has to reach in `ValueAccess`. */
interface Inside {
  data: DataView;
  buffer: Buffer;
  alloc: (size: number, isCounted: boolean) => number;
}

/** Watches calls, one after the other. */
export class Watch {
  #wrong: string[] = [];

  /** What was touched since the last look that is none of the columns. */
  take(): string[] {
    const wrong = this.#wrong;
    this.#wrong = [];
    return wrong;
  }

  /** Runs `call`, which fills the columns. */
  call(columns: HostColumns, call: () => void): void {
    const { direct } = columns;
    if (direct === undefined) throw new Error('the columns are in no memory');
    const inside = direct.access as unknown as Inside;
    const { alloc } = inside;
    const room = alloc.call(inside, roomBytes, false) >>> 0;
    const memory = direct.access.bytes();
    const before = Buffer.from(memory);
    const own = new Places();
    const readable = new Places();
    addColumns(columns, direct.access, own, readable);
    const guard: Guard = {
      read: (at, length) => {
        if (!readable.has(at, length) && !own.has(at, length)) this.#note('it reads', at, length);
      },
      write: (at, length) => {
        if (!own.has(at, length)) this.#note('it writes', at, length);
      },
    };
    let next = room + gap;
    inside.alloc = (size) => {
      const at = (next + 7) & ~7;
      if (room === 0 || at + size + gap > room + roomBytes) return 0;
      next = at + size + gap;
      own.add(at, size);
      return at;
    };
    const { data, buffer } = inside;
    inside.data = watchedView(data.buffer as ArrayBuffer, guard);
    inside.buffer = watchedBuffer(buffer, guard);
    try {
      call();
    } finally {
      Object.assign(inside, { data, buffer, alloc });
      const changed = own.firstChange(before, memory);
      if (changed !== undefined) this.#wrong.push(`byte ${changed} has changed, which is none of the results`);
    }
  }

  #note(what: string, at: number, length: number): void {
    const where = new Error('there').stack?.split('\n').slice(4, 9).join('\n');
    if (this.#wrong.length < mostNotes) this.#wrong.push(`${what} ${length} bytes at ${at}:\n${where}`);
  }
}

/** Results may be written, arguments and where they lie may be read. */
function addColumns(columns: HostColumns, access: ValueAccess, own: Places, readable: Places): void {
  const { table, sel, vals, tags } = columns.direct as NonNullable<HostColumns['direct']>;
  const view = access.view();
  readable.add(sel, columns.count * 4);
  readable.add(table, columns.argCount * argument.size);
  const rows = Array.from({ length: columns.count }, (_, k) => view.getUint32(sel + k * 4, true));
  for (const row of rows) {
    own.add(vals + row * 8, 8);
    own.add(tags + row, 1);
  }
  for (let i = 0; i < columns.argCount; i++) {
    const at = (field: number) => view.getUint32(table + i * argument.size + field, true);
    const [from, fromTags, stride] = [at(argument.at.vals), at(argument.at.tags), at(argument.at.stride)];
    for (const row of stride === 0 ? [0] : rows) {
      readable.add(from + row * 8, 8);
      readable.add(fromTags + row, 1);
      addValue(view, view.getUint8(fromTags + row), from + row * 8, readable);
    }
  }
}

/** Adds what a value refers to. */
function addValue(view: DataView, tag: number, at: number, places: Places): void {
  if (tag < Tag.str || tag === Tag.time) return;
  const [off, count] = [view.getUint32(at, true), view.getUint32(at + 4, true)];
  if (tag !== Tag.array && tag !== Tag.object) {
    places.add(off, count);
    return;
  }
  const layout = tag === Tag.array ? slot : member;
  places.add(off, count * layout.size);
  for (let i = 0; i < count; i++) {
    const item = off + i * layout.size;
    if (tag === Tag.object) {
      places.add(view.getUint32(item + member.at.keyOff, true), view.getUint32(item + member.at.keyLen, true));
    }
    addValue(view, view.getUint8(item + layout.at.tag), item, places);
  }
}

/** Pieces of a memory. */
class Places {
  #list: [from: number, to: number][] = [];
  #isSorted = true;

  add(from: number, length: number): void {
    if (length === 0) return;
    this.#list.push([from, from + length]);
    this.#isSorted = false;
  }

  has(at: number, length: number): boolean {
    if (length === 0) return true;
    const list = this.#sorted();
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((list[middle] as [number, number])[0] <= at) low = middle + 1;
      else high = middle;
    }
    const found = list[low - 1];
    return found !== undefined && at + length <= found[1];
  }

  /** The first byte outside of the pieces that is not what it was. */
  firstChange(before: Buffer, now: Buffer): number | undefined {
    let from = 0;
    for (const [start, end] of [...this.#sorted(), [before.length, before.length] as const]) {
      if (start > from && Buffer.compare(before.subarray(from, start), now.subarray(from, start)) !== 0) {
        while (before[from] === now[from]) from++;
        return from;
      }
      from = Math.max(from, end);
    }
    return undefined;
  }

  /** In order; those that touch are one. */
  #sorted(): [from: number, to: number][] {
    if (this.#isSorted) return this.#list;
    const made: [number, number][] = [];
    for (const [from, to] of this.#list.sort(([a], [b]) => a - b)) {
      const last = made.at(-1);
      if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to);
      else made.push([from, to]);
    }
    this.#list = made;
    this.#isSorted = true;
    return made;
  }
}

interface Guard {
  read(at: number, length: number): void;
  write(at: number, length: number): void;
}

const numbers = [
  ['Uint8', 1],
  ['Uint16', 2],
  ['Uint32', 4],
  ['Int32', 4],
  ['Float64', 8],
  ['BigInt64', 8],
  ['BigUint64', 8],
] as const;

/** A view of a memory; all that is asked of it goes past the guard. */
function watchedView(buffer: ArrayBuffer, guard: Guard): DataView {
  const view = new DataView(buffer);
  const plain = new DataView(buffer) as unknown as Record<string, (...args: unknown[]) => unknown>;
  for (const [name, size] of numbers) {
    const [get, set] = [`get${name}`, `set${name}`];
    Object.assign(view, {
      [get]: (at: number, isLittle: boolean) => {
        guard.read(at, size);
        return plain[get]?.(at, isLittle);
      },
      [set]: (at: number, value: unknown, isLittle: boolean) => {
        guard.write(at, size);
        plain[set]?.(at, value, isLittle);
      },
    });
  }
  return view;
}

/** The bytes of a memory; all that is asked of them goes past the guard. */
function watchedBuffer(buffer: Buffer, guard: Guard): Buffer {
  const methods: Record<string, unknown> = {
    set: (from: Uint8Array, at = 0) => {
      guard.write(at, from.length);
      buffer.set(from, at);
    },
    subarray: (from = 0, to = buffer.length) => {
      guard.read(from, to - from);
      return buffer.subarray(from, to);
    },
    toString: (encoding: BufferEncoding, from = 0, to = buffer.length) => {
      guard.read(from, to - from);
      return buffer.toString(encoding, from, to);
    },
  };
  return new Proxy(buffer, {
    get: (of, key) => {
      if (typeof key === 'string' && /^-?[\d.e+]+$/.test(key)) guard.read(Number(key), 1);
      const found = typeof key === 'string' ? methods[key] : undefined;
      if (found !== undefined) return found;
      const value: unknown = Reflect.get(of, key, of);
      if (typeof value === 'function') throw new Error(`the watch knows no ${String(key)} of a buffer`);
      return value;
    },
    set: (of, key, value) => {
      guard.write(Number(key), 1);
      return Reflect.set(of, key, value, of);
    },
  });
}
