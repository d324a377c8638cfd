/**
 * Columns that rules use of a stream. Of a column that is an object, or a list of such, the members are decoded that
 * some of its rules read: what nobody reads can't fail, and costs nothing.
 */

import type { StreamHandle } from '../api.js';
import type { StreamEntry } from '../entries.js';
import { maxUses, SourceError } from '../gen/layouts.js';
import type { KernelExports } from '../memory/abi.js';
import type { Arena } from '../memory/arena.js';
import { noMemory } from '../memory/error.js';
import type { ColumnType, ColumnUse } from '../plan/ir.js';
import { decodedType, encodeColumnUse, encodeType } from './stream-spec.js';

type Field = Extract<ColumnUse, { kind: 'field' }>;

/** Parts of a kernel that this file uses. */
export interface ColumnKernel {
  readonly exports: Pick<KernelExports, 'sourceUse' | 'sourceUseAt' | 'sourceRelease' | 'sourceRetype'>;
  readonly arena: Arena;
}

/** True for a column of which some members may be read and others not. */
export function hasMembers(use: ColumnUse): use is Field {
  let type = use.kind === 'field' ? use.type : undefined;
  while (type?.type === 'array') type = type.element;
  return type?.type === 'struct';
}

/** Adds uses of columns and returns their places in the batch; on failure none is left. */
export function useColumns(kernel: ColumnKernel, stream: StreamHandle, entry: StreamEntry, uses: readonly ColumnUse[]) {
  const indexes: number[] = [];
  try {
    for (const use of uses) {
      const widened = hasMembers(use) ? widen(kernel, stream, entry, use) : use;
      const index = added(kernel, stream, widened);
      indexes.push(index);
      entry.columns[index] = widened;
      if (hasMembers(use)) addReader(entry, index, use);
    }
    return indexes;
  } catch (error) {
    releaseColumns(kernel, stream, entry, indexes, uses.slice(0, indexes.length));
    throw error;
  }
}

/** Takes back uses of columns, those that were given for the places. */
export function releaseColumns(
  kernel: ColumnKernel,
  stream: StreamHandle,
  entry: StreamEntry,
  indexes: readonly number[],
  uses: readonly ColumnUse[] = [],
): void {
  indexes.forEach((index, i) => {
    kernel.exports.sourceRelease(stream, index);
    const use = uses[i];
    if (use !== undefined && hasMembers(use)) removeReader(kernel, stream, entry, index, use);
  });
}

/** Adds the column at a place that is free; returns a negative number when there is no room. */
export function useColumnAt(
  { exports, arena }: ColumnKernel,
  stream: StreamHandle,
  index: number,
  use: ColumnUse,
): number {
  const { kind, name } = encodeColumnUse(use);
  return arena.lend([name, decodedType(use)], (nameAt, typeAt) =>
    exports.sourceUseAt(stream, index, kind, nameAt as number, name.length, typeAt as number),
  );
}

function added({ exports, arena }: ColumnKernel, stream: StreamHandle, use: ColumnUse): number {
  const { kind, name } = encodeColumnUse(use);
  const index = arena.lend([name, decodedType(use)], (nameAt, typeAt) =>
    exports.sourceUse(stream, kind, nameAt as number, name.length, typeAt as number),
  );
  if (index >= 0) return index;
  throw index === SourceError.memory ? noMemory() : new RangeError(`a stream has at most ${maxUses} columns`);
}

/** The use with the members that other rules read of the column, too, which are decoded from now on. */
function widen(kernel: ColumnKernel, stream: StreamHandle, { columns, readers }: StreamEntry, use: Field): Field {
  const index = columns.findIndex((one, i) => one?.kind === 'field' && one.name === use.name && readers.has(i));
  const known = columns[index];
  if (known?.kind !== 'field') return use;
  const before = known.read ?? known.type;
  const read = union(before, use.read ?? use.type);
  const widened = { ...use, read };
  if (!isSame(before, read)) retype(kernel, stream, index, read);
  return widened;
}

function addReader({ readers }: StreamEntry, index: number, { read, type }: Field): void {
  const all = readers.get(index) ?? [];
  const own = read ?? type;
  const same = all.find((reader) => isSame(reader.type, own));
  if (same === undefined) readers.set(index, [...all, { type: own, count: 1 }]);
  else same.count++;
}

/** Removes a reader of a column: members that no rule reads any more are no longer decoded. */
function removeReader(kernel: ColumnKernel, stream: StreamHandle, entry: StreamEntry, index: number, use: Field): void {
  const { readers, columns } = entry;
  const all = readers.get(index) ?? [];
  const own = all.find((reader) => isSame(reader.type, use.read ?? use.type));
  if (own === undefined || --own.count > 0) return;
  const [first, ...others] = all.filter((reader) => reader !== own);
  const known = columns[index];
  if (first === undefined) {
    readers.delete(index);
    return;
  }
  readers.set(index, [first, ...others]);
  const read = others.reduce((type, reader) => union(type, reader.type), first.type);
  if (known?.kind !== 'field' || isSame(known.read ?? known.type, read)) return;
  retype(kernel, stream, index, read);
  columns[index] = { ...known, read };
}

function retype({ exports, arena }: ColumnKernel, stream: StreamHandle, index: number, type: ColumnType): void {
  const isDone = arena.lend([encodeType(type)], (at) => exports.sourceRetype(stream, index, at as number));
  if (isDone === 0) throw noMemory();
}

/** The members of both; both are parts of one type. */
function union(a: ColumnType, b: ColumnType): ColumnType {
  if (a.type === 'array' && b.type === 'array') return { type: 'array', element: union(a.element, b.element) };
  if (a.type !== 'struct' || b.type !== 'struct') return a;
  const fields = a.fields.map(({ name, type }) => {
    const other = b.fields.find((field) => field.name === name);
    return { name, type: other === undefined ? type : union(type, other.type) };
  });
  const more = b.fields.filter(({ name }) => !a.fields.some((field) => field.name === name));
  return { type: 'struct', fields: [...fields, ...more] };
}

/** Whether both have the same members, in whatever order. */
function isSame(a: ColumnType, b: ColumnType): boolean {
  if (a.type === 'array' && b.type === 'array') return isSame(a.element, b.element);
  if (a.type !== 'struct' || b.type !== 'struct') return a.type === b.type;
  return (
    a.fields.length === b.fields.length &&
    a.fields.every(({ name, type }) => {
      const other = b.fields.find((field) => field.name === name);
      return other !== undefined && isSame(type, other.type);
    })
  );
}
