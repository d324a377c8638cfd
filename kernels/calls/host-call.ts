/**
 * Functions of the host, called once for a batch: the arguments are read from the kernel's columns, the results written
 * into its result column, texts and nested values into scratch memory that lives as long as the batch.
 */
import type { DirectColumns, HostColumns } from '../api.js';
import { argument, HostPart, Tag } from '../gen/layouts.js';
import { UnwritableError, type Utf8, type Value, type ValueAccess, ValueError } from '../values/value.js';

/** Function that the kernel imports as `host.call`. */
export type HostCallImport = (
  fn: number,
  table: number,
  argCount: number,
  sel: number,
  rows: number,
  vals: number,
  tags: number,
) => void;

/**
 * Makes the import. `call` runs function `fn` over the columns; when it throws, the rows it had not filled get an error
 * of the function, so that one bad row or a bug never stops the batch.
 */
export function hostCallImport(
  access: () => ValueAccess,
  call: (fn: number, columns: HostColumns) => void,
): HostCallImport {
  return (fn, table, argCount, sel, rows, vals, tags) => {
    const part = fn & (HostPart.step | HostPart.merge);
    const columns = new Columns(access(), table, argCount, sel, rows, vals, tags, partNames[part]);
    try {
      call(fn - part, columns);
    } catch (error) {
      columns.failRest(error instanceof Error ? error.message : String(error));
      return;
    }
    columns.failRest('the function gave no result');
  };
}

const partNames: Readonly<Record<number, HostColumns['part']>> = {
  [HostPart.step]: 'step',
  [HostPart.merge]: 'merge',
};

class Columns implements HostColumns {
  name = '';
  errorsBeginWith = '';
  private readonly done: Uint8Array;

  constructor(
    private readonly access: ValueAccess,
    private readonly table: number,
    readonly argCount: number,
    private readonly sel: number,
    readonly count: number,
    private readonly vals: number,
    private readonly tags: number,
    readonly part: HostColumns['part'],
  ) {
    this.done = new Uint8Array(count);
  }

  get longest(): number {
    return this.access.longest;
  }

  get(i: number, k: number): unknown {
    this.check('argument', i, this.argCount, k);
    const view = this.access.view();
    const entry = this.table + i * argument.size;
    const at = view.getUint32(this.sel + k * 4, true) * view.getUint32(entry + argument.at.stride, true);
    const tag = view.getUint8(view.getUint32(entry + argument.at.tags, true) + at);
    return this.access.read(tag, view.getUint32(entry + argument.at.vals, true) + at * 8);
  }

  set(k: number, value: unknown): void {
    this.check('result', 0, 1, k);
    const row = this.access.view().getUint32(this.sel + k * 4, true);
    const at = this.vals + row * 8;
    let tag: number = Tag.null;
    try {
      tag = this.write(at, (value === undefined ? null : value) as Value | Utf8);
    } finally {
      this.access.view().setUint8(this.tags + row, tag);
      this.done[k] = 1;
    }
  }

  /** A value without room becomes an error, an error without room one that says nothing but that. */
  private write(at: number, value: Value | Utf8): number {
    try {
      return this.access.write(at, value);
    } catch (error) {
      if (!(error instanceof UnwritableError)) throw error;
      if (!(value instanceof ValueError)) {
        const name = this.name === '' ? '' : `${this.name}: `;
        return this.write(at, new ValueError(`${this.errorsBeginWith}${name}${error.message}`));
      }
      this.access.view().setBigUint64(at, 0n, true);
      return Tag.error;
    }
  }

  get direct(): DirectColumns {
    const { access, table, sel, vals, tags, done } = this;
    return {
      memory: access.memory,
      table,
      sel,
      vals,
      tags,
      written: (from, to) => {
        if (from >= to) return;
        this.check('result', 0, 1, from);
        this.check('result', 0, 1, to - 1);
        done.fill(1, from, to);
      },
      mark: (k) => {
        this.check('result', 0, 1, k);
        const view = access.view();
        const row = view.getUint32(sel + k * 4, true);
        const at = vals + row * 8;
        // A text has a length in the upper half.
        if (view.getUint8(tags + row) !== Tag.error || view.getUint32(at + 4, true) !== 0) return undefined;
        return view.getUint32(at, true);
      },
      access,
    };
  }

  fail(k: number, message: string): void {
    this.set(k, new ValueError(`${this.errorsBeginWith}${message}`));
  }

  failRest(message: string): void {
    for (let k = 0; k < this.count; k++) {
      if (this.done[k] === 0) this.fail(k, message);
    }
  }

  /** An index is a whole number below a bound: others would be places outside of the columns. */
  private check(what: string, i: number, columns: number, k: number): void {
    if (i >>> 0 === i && i < columns && k >>> 0 === k && k < this.count) return;
    throw new RangeError(`no ${what} ${i} in row ${k} of ${this.count} rows`);
  }
}
