/** Snapshots: rows and groups that are saved separately from the nodes that refer to them, and loaded again. */
import type { Kernel, NodeHandle, StreamHandle } from '../api.js';
import { LoadFault, loadFaultTexts, readMore, Written } from '../gen/layouts.js';
import { KernelError, noMemory } from '../memory/error.js';
import type { LoadedSnapshot, Snapshot, SnapshotContent, SnapshotOrder } from '../snapshot-api.js';
import type { RowTransfer, StateReader, StateWriter } from './state.js';

const outcomes = Object.keys(Written) as (keyof typeof Written)[];

/**
 * As `saveNode` of the kernel, but large numbers of rows and groups are left to the snapshot, which is the time that
 * this takes. Null when memory is exhausted: then all is written at once.
 */
export function takeSnapshot(
  of: Kernel,
  nodes: readonly (NodeHandle | StreamHandle)[],
  { chain, segment, serial, small, atOnce }: SnapshotOrder,
  write: StateWriter,
): Snapshot | null {
  const transfer = of.saving as RowTransfer;
  const { kernel, state } = transfer;
  let at = 0;
  try {
    transfer.run('save state', () => {
      at = kernel.snapshotNew(chain, segment, serial, small, atOnce === true ? all : small) >>> 0;
      state.save(nodes, write);
      kernel.snapshotTaken();
    });
  } catch (error) {
    if (at !== 0) kernel.snapshotFree(at);
    throw error;
  }
  return at === 0 ? null : new KernelSnapshot(transfer, at, segment);
}

/** More values than there can be. */
const all = 0xffff_ffff;
/** A number that no set of groups has. */
const noSet = 0xffff_ffff;

/** Makes room for what a snapshot has written. */
export function openLoadedSnapshot(of: Kernel, content: SnapshotContent): LoadedSnapshot {
  return new KernelLoadedSnapshot(of.saving as RowTransfer, content);
}

class KernelSnapshot implements Snapshot {
  readonly pages: number;
  readonly sets: readonly number[];
  readonly serial: number;
  readonly least: number;
  readonly live: Uint32Array;
  #at: number;

  constructor(
    private readonly transfer: RowTransfer,
    at: number,
    segment: number,
  ) {
    const { kernel, arena } = transfer;
    this.#at = at;
    this.pages = kernel.snapshotCount(at) >>> 0;
    this.sets = [...arena.u32s(kernel.snapshotSetNumbers() >>> 0, kernel.snapshotSets(at) >>> 0)];
    this.serial = kernel.snapshotSerial(at) >>> 0;
    this.least = kernel.snapshotLeast(at) >>> 0;
    this.live = arena.u32s(kernel.snapshotLive(at) >>> 0, segment + 1).slice();
  }

  write(most: number, write: StateWriter): keyof typeof Written {
    if (this.#at === 0) throw new Error('the snapshot is closed');
    const { kernel, state, run } = this.transfer;
    const outcome = run('write rows', () => {
      state.begin(1, write, () => 0);
      return kernel.snapshotWrite(this.#at, most);
    });
    return outcomes[outcome] ?? 'changed';
  }

  close(): void {
    const at = this.#at;
    this.#at = 0;
    if (at !== 0) this.transfer.run('close a snapshot', () => this.transfer.kernel.snapshotFree(at));
  }
}

class KernelLoadedSnapshot implements LoadedSnapshot {
  #at: number;

  constructor(
    private readonly transfer: RowTransfer,
    { least, count, fresh = noSet, sets = [] }: SnapshotContent,
  ) {
    const { kernel, run } = transfer;
    this.#at = run('make a loaded snapshot', () => kernel.loadedSnapshotNew(least, count, fresh)) >>> 0;
    if (this.#at === 0) throw noMemory();
    this.#want(sets);
  }

  get at(): number {
    return this.#at;
  }

  fill(runs: number, read: StateReader): boolean {
    const { kernel, state, run } = this.transfer;
    const outcome = run('read rows', () => {
      state.begin(1, () => {}, read);
      return kernel.loadedSnapshotFill(this.#at, runs);
    });
    if (outcome === readMore) return true;
    if (outcome !== LoadFault.none) throw new KernelError(loadFaultTexts[outcome] as string, false);
    return false;
  }

  moveOn({ least, count, fresh = noSet, sets = [] }: SnapshotContent): void {
    const { kernel, run } = this.transfer;
    const isDone = run('move a loaded snapshot on', () => kernel.loadedSnapshotMoveOn(this.#at, least, count, fresh));
    if (isDone === 0) throw noMemory();
    this.#want(sets);
  }

  #want(sets: readonly number[]): void {
    const { kernel, run } = this.transfer;
    for (const number of sets) {
      const isDone = run('name a set of groups', () => kernel.loadedSnapshotWant(this.#at, number));
      if (isDone === 0) throw noMemory();
    }
  }

  close(): void {
    const at = this.#at;
    this.#at = 0;
    if (at !== 0) this.transfer.run('close a loaded snapshot', () => this.transfer.kernel.loadedSnapshotFree(at));
  }
}

/** Head of a slice: length, flags, format, checks (assembly/state/form.ts). */
const sliceHead = 16;
/** A run ends, or the segment. */
const endFlags = 2 | 4;

/**
 * How many whole runs a segment's bytes begin with, its end counted as one, and the bytes of these; little more than
 * `most` bytes.
 */
export function wholeRuns(bytes: Buffer, most: number): { runs: number; length: number } {
  let runs = 0;
  let length = 0;
  for (let at = 0; length < most && at + sliceHead <= bytes.length; ) {
    const end = at + sliceHead + bytes.readUInt32LE(at);
    if (end > bytes.length) break;
    if ((bytes[at + 4]! & endFlags) !== 0) {
      runs++;
      length = end;
    }
    at = end;
  }
  return { runs, length };
}
