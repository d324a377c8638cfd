/** Host functions that make a text of the bytes of each row: those of a batch are read and written together. */
import type { HostColumns } from '../api.js';
import { argument, Tag } from '../gen/layouts.js';
import { Utf8, ValueError } from '../values/value.js';

/** Texts are put into the kernel's memory when so many bytes have been made. */
const portionBytes = 1 << 20;
const cellBytes = 8;

/** Makes the UTF-8 text of a message, which is a view, good during the call as is the text; throws the reason. */
type Make = (message: Uint8Array) => Uint8Array;

/** Sets the result of each row to the text of its bytes. `failed` gives the text of an error by what `make` throws. */
export function makeTexts(columns: HostColumns, make: Make, failed: (error: unknown) => string): void {
  if (columns.direct !== undefined) new Texts(columns, columns.direct, make, failed).run();
  else for (let k = 0; k < columns.count; k++) makeText(columns, k, make, failed);
}

function makeText(columns: HostColumns, k: number, make: Make, failed: (error: unknown) => string): void {
  const message = columns.get(0, k);
  try {
    if (message instanceof ValueError) throw new Error(message.message);
    if (!(message instanceof Uint8Array)) throw new Error('the message has no bytes');
    columns.set(k, new Utf8(make(message)));
  } catch (error) {
    columns.fail(k, failed(error));
  }
}

class Texts {
  #buffer = Buffer.allocUnsafe(0);
  #length = 0;
  /** First row of the portion, and the ends of its texts; -1: there is none. */
  #first = 0;
  readonly #ends: number[] = [];
  readonly #failures: [row: number, error: unknown][] = [];

  constructor(
    private readonly columns: HostColumns,
    private readonly direct: NonNullable<HostColumns['direct']>,
    private readonly make: Make,
    private readonly failed: (error: unknown) => string,
  ) {}

  run(): void {
    const { count } = this.columns;
    const { access, table, sel } = this.direct;
    let view = access.view();
    let bytes = access.bytes();
    const [vals, tags] = [
      view.getUint32(table + argument.at.vals, true),
      view.getUint32(table + argument.at.tags, true),
    ];
    const stride = view.getUint32(table + argument.at.stride, true);
    for (let k = 0; k < count; k++) {
      const at = view.getUint32(sel + k * 4, true) * stride;
      const off = view.getUint32(vals + at * cellBytes, true);
      const length = view.getUint32(vals + at * cellBytes + 4, true);
      if (bytes[tags + at] !== Tag.bytes) this.#add(k, undefined, new Error('the message has no bytes'));
      else {
        try {
          this.#add(k, this.make(bytes.subarray(off, off + length)), undefined);
        } catch (error) {
          this.#add(k, undefined, error);
        }
      }
      if (this.#length < portionBytes && k + 1 < count) continue;
      this.#put();
      view = access.view();
      bytes = access.bytes();
    }
  }

  #add(k: number, text: Uint8Array | undefined, error: unknown): void {
    if (this.#ends.length === 0) this.#first = k;
    if (text === undefined) {
      this.#ends.push(-1);
      this.#failures.push([k, error]);
      return;
    }
    const { longest } = this.direct.access;
    if (text.length > longest) {
      this.#add(k, undefined, new Error(`its text is longer than a value may be: ${longest} bytes (maxValueBytes)`));
      return;
    }
    const end = this.#length + text.length;
    if (end >= this.#buffer.length) {
      const grown = Buffer.allocUnsafe(Math.max(end + 1, this.#buffer.length * 2, 1 << 14));
      this.#buffer.copy(grown, 0, 0, this.#length);
      this.#buffer = grown;
    }
    this.#buffer.set(text, this.#length);
    // What was cut off must not go on with the next text.
    this.#buffer[end] = 0;
    this.#length = end + 1;
    this.#ends.push(end);
  }

  /** Writes the texts of the portion, then its errors, which take memory of their own. */
  #put(): void {
    const { access, sel, vals, tags } = this.direct;
    const room = this.#length === 0 ? 0 : access.reserve(this.#length);
    if (room === 0 && this.#length > 0) this.#putEach();
    else {
      const view = access.view();
      access.bytes().set(this.#buffer.subarray(0, this.#length), room);
      let from = 0;
      for (const [i, end] of this.#ends.entries()) {
        if (end < 0) continue;
        const row = view.getUint32(sel + (this.#first + i) * 4, true);
        view.setUint32(vals + row * cellBytes, room + from, true);
        view.setUint32(vals + row * cellBytes + 4, end - from, true);
        view.setUint8(tags + row, Tag.str);
        from = end + 1;
      }
      this.direct.written(this.#first, this.#first + this.#ends.length);
    }
    for (const [k, error] of this.#failures) this.columns.fail(k, this.failed(error));
    this.#ends.length = 0;
    this.#failures.length = 0;
    this.#length = 0;
  }

  /** There is no room for all of them together: each finds its own, or fails. */
  #putEach(): void {
    let from = 0;
    for (const [i, end] of this.#ends.entries()) {
      if (end < 0) continue;
      this.columns.set(this.#first + i, new Utf8(Buffer.from(this.#buffer.subarray(from, end))));
      from = end + 1;
    }
  }
}
