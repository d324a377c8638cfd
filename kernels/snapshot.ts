/** Rows that are saved apart from what refers to them: written by a snapshot, read to a shelf. */
import type { KernelExports } from './abi.js';
import type { NodeHandle, Shelf, Snapshot, SnapshotOrder, StreamHandle } from './api.js';
import type { Arena } from './arena.js';
import type { Nodes, Streams } from './entries.js';
import { noMemory } from './error.js';
import { Written } from './gen/layouts.js';
import { type StateReader, StateTransfer, type StateWriter } from './state.js';

/** What saving needs of the kernel. */
export interface RowTransfer {
  readonly kernel: KernelExports;
  readonly arena: Arena;
  readonly state: StateTransfer;
  /** Runs a call of the kernel. */
  run<T>(doing: string, call: () => T): T;
}

export function transferOf(
  kernel: KernelExports,
  arena: Arena,
  streams: Streams,
  nodes: Nodes,
  run: RowTransfer['run'],
): RowTransfer {
  return { kernel, arena, state: new StateTransfer(kernel, streams, nodes), run };
}

const outcomes = Object.keys(Written) as (keyof typeof Written)[];

/** Saves the nodes and streams without their rows, which the snapshot has; null when there is no memory for one. */
export function takeSnapshot(
  transfer: RowTransfer,
  all: readonly (NodeHandle | StreamHandle)[],
  order: SnapshotOrder,
  write: StateWriter,
): Snapshot | null {
  let at = 0;
  try {
    transfer.run('save state', () => {
      at = transfer.state.snapshot(all, order, write);
    });
  } catch (error) {
    if (at !== 0) transfer.kernel.snapshotFree(at);
    throw error;
  }
  return at === 0 ? null : new KernelSnapshot(transfer, at, order.segment);
}

class KernelSnapshot implements Snapshot {
  readonly pages: number;
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
    this.serial = kernel.snapshotSerial(at) >>> 0;
    this.least = kernel.snapshotLeast(at) >>> 0;
    this.live = arena.u32s(kernel.snapshotLive(at) >>> 0, segment + 1).slice();
  }

  write(most: number, write: StateWriter): keyof typeof Written {
    if (this.#at === 0) throw new Error('the snapshot is closed');
    const { state, run } = this.transfer;
    return outcomes[run('write rows', () => state.writeRows(this.#at, most, write))] ?? 'changed';
  }

  close(): void {
    const at = this.#at;
    this.#at = 0;
    if (at !== 0) this.transfer.run('close a snapshot', () => this.transfer.kernel.snapshotFree(at));
  }
}

export class KernelShelf implements Shelf {
  #at: number;

  constructor(
    private readonly transfer: RowTransfer,
    least: number,
    count: number,
  ) {
    this.#at = transfer.run('make a shelf', () => transfer.kernel.shelfNew(least, count)) >>> 0;
    if (this.#at === 0) throw noMemory();
  }

  get at(): number {
    return this.#at;
  }

  fill(runs: number, read: StateReader): boolean {
    return this.transfer.run('read rows', () => this.transfer.state.fill(this.#at, runs, read));
  }

  close(): void {
    const at = this.#at;
    this.#at = 0;
    if (at !== 0) this.transfer.run('close a shelf', () => this.transfer.kernel.shelfFree(at));
  }
}

/** Head of a slice: length, flags, format, checks (assembly/state/form.ts). */
const sliceHead = 16;
/** A run ends, or the segment. */
const endFlags = 2 | 4;

/** How many whole runs a segment's bytes begin with, its end counted as one, and the bytes of these; little more than `most` bytes. */
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
