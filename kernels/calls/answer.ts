/**
 * Answers on their way into the kernel: columns of values become rows that an `ask` node joins
 * (assembly/lookup/asking/answer.ts).
 */

import type { LookupAnswer } from '../api.js';
import { batchRows, column } from '../gen/layouts.js';
import type { KernelExports } from '../memory/abi.js';
import type { Arena } from '../memory/arena.js';
import { KernelError } from '../memory/error.js';
import { CarriedColumn, type CarriedColumns, carry } from '../values/carried.js';
import { UnwritableError, type Value, type ValueAccess, ValueError } from '../values/value.js';

/** Reads the keys of a request, column by column: value i of column k belongs to key i. */
export function keysAt(access: ValueAccess, table: number, keys: number, count: number): Value[][] {
  return Array.from({ length: keys }, (_, k) => {
    const view = access.view();
    const vals = view.getUint32(table + 8 * k, true);
    const tags = view.getUint32(table + 8 * k + 4, true);
    return Array.from({ length: count }, (_value, i) => access.read(access.view().getUint8(tags + i), vals + 8 * i));
  });
}

/** As `keysAt`, in a form that can go to another thread. */
export function carriedKeys(access: ValueAccess, table: number, keys: number, count: number): CarriedColumns {
  const view = access.view();
  const columns = Array.from({ length: keys }, (_, k) => ({
    vals: view.getUint32(table + 8 * k, true),
    tags: view.getUint32(table + 8 * k + 4, true),
  }));
  return carry(access, columns, count);
}

/** Throws RangeError for an answer that is none. */
export function checkAnswer({ of, columns }: LookupAnswer): void {
  for (let i = 0; i < of.length; i++) {
    const list = of[i] as number;
    if (list >>> 0 !== list) throw new RangeError(`row ${i} of the answer is of list ${list}`);
  }
  for (const [name, values] of Object.entries(columns)) {
    if (values.length !== of.length) {
      throw new RangeError(`the answer has ${of.length} rows, but ${values.length} values of ${name}`);
    }
  }
}

/** Gives the rows to the kernel, a batch at a time. */
export function giveAnswer(
  kernel: KernelExports,
  arena: Arena,
  access: ValueAccess,
  node: number,
  request: number,
  { of, columns, failed }: LookupAnswer,
  now: number,
): boolean {
  const lists = kernel.answerBegin(node, request, now) >>> 0;
  if (lists === 0) return false;
  const names = Object.keys(columns)
    .map((name) => ({ name, bytes: Buffer.from(name) }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes));
  arena.lend(
    [nameTable(names.map(({ bytes }) => bytes)), Buffer.concat(names.map(({ bytes }) => bytes))],
    (table, texts) => {
      relocate(access, table as number, names.length, texts as number);
      for (let from = 0; from < of.length; from += batchRows) {
        const n = Math.min(batchRows, of.length - from);
        const blocks = kernel.answerBlocks(names.length) >>> 0;
        if (blocks === 0) throw new KernelError('the memory of the kernel is exhausted', false);
        fill(access, blocks, (i) => BigInt(of[from + i] as number), n);
        names.forEach(({ name }, c) => {
          const values = columns[name] as ArrayLike<Value> | CarriedColumn;
          if (values instanceof CarriedColumn) putCarried(access, blocks + 4 * (c + 1), values, from, n);
          else fill(access, blocks + 4 * (c + 1), (i) => values[from + i], n);
        });
        kernel.answerRows(blocks, table as number, names.length, n);
      }
    },
  );
  for (const [list, reason] of failed ?? []) {
    if (!(list >= 0 && list < lists)) continue;
    const text = Buffer.from(reason === '' ? 'no answer' : reason);
    arena.lend([text], (at) => kernel.answerFail(list, at as number, text.length));
  }
  kernel.answerEnd(node);
  return true;
}

function nameTable(names: readonly Buffer[]): Buffer {
  const table = Buffer.alloc(Math.max(8, 8 * names.length));
  let at = 0;
  names.forEach((name, i) => {
    table.writeUInt32LE(at, 8 * i);
    table.writeUInt32LE(name.length, 8 * i + 4);
    at += name.length;
  });
  return table;
}

/** Makes offsets of names addresses. */
function relocate(access: ValueAccess, table: number, count: number, texts: number): void {
  const view = access.view();
  for (let i = 0; i < count; i++) view.setUint32(table + 8 * i, view.getUint32(table + 8 * i, true) + texts, true);
}

/** Writes a column to the block whose address stands at `pointer`. */
function fill(access: ValueAccess, pointer: number, valueAt: (i: number) => Value, n: number): void {
  const block = access.view().getUint32(pointer, true);
  for (let i = 0; i < n; i++) {
    const tag = written(access, block + column.at.vals + 8 * i, valueAt(i));
    access.view().setUint8(block + column.at.tags + i, tag);
  }
}

/** Writes rows of a column that came from another thread to the block whose address stands at `pointer`. */
function putCarried(access: ValueAccess, pointer: number, values: CarriedColumn, from: number, n: number): void {
  const block = access.view().getUint32(pointer, true);
  if (!values.put(access, block + column.at.vals, block + column.at.tags, from, n)) {
    fill(
      access,
      pointer,
      () => new ValueError('memory is exhausted, or the values computed for one batch of rows take too much'),
      n,
    );
  }
}

/** Writes a value; one that can't be written becomes an error in its place. */
function written(access: ValueAccess, at: number, value: Value): number {
  try {
    return access.write(at, value);
  } catch (error) {
    if (!(error instanceof UnwritableError) || value instanceof ValueError) throw error;
    return access.write(at, new ValueError(error.message));
  }
}
