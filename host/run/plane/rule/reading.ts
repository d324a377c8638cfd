/** What a rule reads of its sources. Rules that read one source alike share it: for each rule it would be 270 bytes. */
import type { Kernel, StreamCounters } from '../../../../kernels/api.js';
import type { ColumnUse } from '../../../../kernels/plan/ir.js';
import { hasMembers } from '../../../../kernels/streams/columns.js';
import type { SourceRun } from '../input/source-run.js';

/** The columns of a rule in the batches of one source. */
export interface ReadColumns {
  readonly source: SourceRun;
  /** Their places in the batch. */
  readonly indexes: readonly number[];
  /** Uses of members of columns; left out where there are none. */
  readonly uses?: readonly ColumnUse[];
}

export interface Reading {
  readonly sources: readonly SourceRun[];
  /** Counters of each source when the rule came. */
  readonly bases: readonly StreamCounters[];
  readonly columns: readonly ReadColumns[];
}

export const readsNothing: Reading = { sources: [], bases: [], columns: [] };

/** The reading with a source more. */
export function withSource({ sources, bases, columns }: Reading, source: SourceRun): Reading {
  return { sources: sources.concat(source), bases: bases.concat(source.base()), columns };
}

/** The reading with columns of its last source, which the kernel reads from now on. */
export function withColumns(
  { sources, bases, columns }: Reading,
  source: SourceRun,
  uses: readonly ColumnUse[],
  kernel: Pick<Kernel, 'useColumns'>,
): Reading {
  const indexes = kernel.useColumns(source.stream, uses).slice();
  return { sources, bases, columns: columns.concat({ source, indexes, ...(uses.some(hasMembers) && { uses }) }) };
}

/** The reading of the last rule that had this source alone. */
const lastOf = new WeakMap<SourceRun, Reading>();

/** Returns the reading of the rule before, where it is equal. */
export function sharedReading(reading: Reading): Reading {
  const [source, another] = reading.sources;
  if (source === undefined || another !== undefined) return reading;
  const last = lastOf.get(source);
  if (last !== undefined && isEqual(last, reading)) return last;
  lastOf.set(source, reading);
  return reading;
}

function isEqual(one: Reading, other: Reading): boolean {
  const [columns, others] = [one.columns[0], other.columns[0]];
  if (columns?.uses !== undefined || others?.uses !== undefined || one.bases[0] !== other.bases[0]) return false;
  const [indexes, wanted] = [columns?.indexes ?? [], others?.indexes ?? []];
  return indexes.length === wanted.length && indexes.every((index, i) => index === wanted[i]);
}
