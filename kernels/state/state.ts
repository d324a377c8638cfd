/**
 * Saves state from a kernel and loads it into another: parts of nodes and streams, in slices of at most 64 KiB
 * (assembly/state/form.ts). A part that no longer fits leaves its node empty, and the report says why.
 */

import type { LoadFailure, LoadReason, LoadReport, NodeHandle, SavedAs, Saving, StreamHandle } from '../api.js';
import type { Nodes, Streams } from '../entries.js';
import { LoadFault, loadFaultTexts } from '../gen/layouts.js';
import type { KernelExports } from '../memory/abi.js';
import type { Arena } from '../memory/arena.js';
import { KernelError } from '../memory/error.js';
import type { LoadedSnapshot } from '../snapshot-api.js';

/** Takes the next bytes, a view that is valid only during the call. */
export type StateWriter = (bytes: Uint8Array) => void;
/** Fills the next bytes in and returns how many, 0 when there are no more. */
export type StateReader = (into: Uint8Array) => number;

function failure(of: number, reason: LoadReason): LoadFailure {
  return { of, reason, text: loadFaultTexts[LoadFault[reason]] as string };
}

/** Reason of a failed outcome of loading; null when it succeeded. */
function reasonOf(outcome: number): LoadReason | null {
  if (outcome === LoadFault.none) return null;
  const known = Object.entries(LoadFault).find(([, number]) => number === outcome);
  return known === undefined ? 'damaged' : (known[0] as LoadReason);
}

/** Parts of a kernel that saving and loading use. */
export interface RowTransfer extends Saving {
  readonly kernel: KernelExports;
  readonly arena: Arena;
  readonly state: StateTransfer;
  readonly streams: Streams;
  readonly nodes: Nodes;
  /** Shared nodes, by the key that equal nodes have in common. */
  readonly shared: Map<string, NodeHandle>;
}

/** A node or stream whose state is a part of its own. */
interface Saved {
  readonly of: NodeHandle | StreamHandle;
  readonly identity: bigint;
  /** Inlet of a stream, 0 of a node. */
  readonly inlet: number;
  /** Encoded keys of the members of a node; null: it has no lists, or is a stream. */
  readonly members: Uint8Array | null;
  readonly isPooled: boolean;
}

/** The members of a node as assembly/state/members.ts has them. */
function membersBytes({ members }: SavedAs): Uint8Array | null {
  if (members.length === 0) return null;
  const count = members.reduce((sum, { length }) => sum + length, 0);
  const bytes = new Uint8Array(4 + 4 * members.length + 8 * count);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, members.length, true);
  members.forEach(({ length }, i) => {
    view.setUint32(4 + 4 * i, length, true);
  });
  members.flat().forEach((key, i) => {
    view.setBigUint64(4 + 4 * members.length + 8 * i, key, true);
  });
  return bytes;
}

function byIdentity(all: readonly Saved[]): Map<bigint, Saved[]> {
  const parts = new Map<bigint, Saved[]>();
  for (const part of all) {
    const equal = parts.get(part.identity);
    if (equal === undefined) parts.set(part.identity, [part]);
    else equal.push(part);
  }
  return parts;
}

export class StateTransfer {
  /** Writer of the save under way; `#read` is the reader of the load under way. */
  #write: StateWriter = () => {};
  #read: StateReader = () => 0;
  /** True during a callback of the host, and after it has thrown: further callbacks are then skipped. */
  #isBroken = false;

  constructor(
    private readonly kernel: KernelExports,
    private readonly arena: Arena,
    private readonly streams: Streams,
    private readonly nodes: Nodes,
  ) {}

  /** Called by the kernel. */
  write(bytes: Uint8Array): void {
    if (this.#isBroken) return;
    this.#isBroken = true;
    this.#write(bytes);
    this.#isBroken = false;
  }

  /** Called by the kernel. */
  read(into: Uint8Array): number {
    if (this.#isBroken) return 0;
    this.#isBroken = true;
    const taken = this.#read(into);
    this.#isBroken = false;
    return taken;
  }

  /** Writes the parts of all given nodes and streams that keep state. */
  save(all: readonly (NodeHandle | StreamHandle)[], write: StateWriter): void {
    const { kernel } = this;
    const parts = this.#parts(all);
    // Work in pieces cannot be saved, so it is finished first.
    for (const { of } of parts) kernel.finishWork(of);
    this.#lend(parts, (at) => {
      this.begin(kernel.saveBegin(), write, () => 0);
      for (const part of parts) {
        const { of, identity, inlet } = part;
        if (inlet !== 0) kernel.streamSave(of, inlet, identity);
        else if (kernel.nodeKeeps(of)) kernel.nodeSave(of, identity, at(part));
      }
      kernel.saveEnd();
    });
  }

  /** Loads parts into the nodes and streams of the same identity; equal ones get theirs in the order of saving. */
  load(all: readonly (NodeHandle | StreamHandle)[], read: StateReader, loadedSnapshot?: LoadedSnapshot): LoadReport {
    const { kernel } = this;
    const parts = this.#parts(all).filter(({ of, inlet }) => inlet !== 0 || kernel.nodeKeeps(of));
    return this.#lend(parts, (at) => {
      kernel.loadedSnapshotUse(loadedSnapshot?.at ?? 0);
      this.begin(kernel.loadBegin(), () => {}, read);
      const report = this.#loadAll(parts, at);
      kernel.loadEnd();
      kernel.loadedSnapshotUse(0);
      return report;
    });
  }

  #loadAll(all: readonly Saved[], at: (part: Saved) => number): LoadReport {
    const { kernel } = this;
    const waiting = byIdentity(all);
    /** Nodes that have got a part of a shared list already. */
    const filled = new Set<readonly Saved[]>();
    /** Nodes for which a part of a shared list has failed. */
    const spoilt = new Set<readonly Saved[]>();
    const failed: LoadFailure[] = [];
    let loaded = 0;
    let unclaimed = 0;
    while (kernel.partNext()) {
      const equal = waiting.get(BigInt.asUintN(64, kernel.partOwner())) ?? [];
      const isPooled = equal[0]?.isPooled === true;
      const takers = isPooled ? equal : equal.splice(0, 1);
      if (takers.length === 0) {
        unclaimed++;
        continue;
      }
      if (spoilt.has(takers)) continue;
      const reason = reasonOf(this.#loadPart(takers, at, filled.has(takers)));
      if (isPooled) filled.add(takers);
      if (reason === null) loaded++;
      else {
        for (const { of } of takers) failed.push(failure(of, reason));
        if (isPooled) spoilt.add(takers);
      }
    }
    const brokenOff = reasonOf(kernel.loadOutcome());
    const passed = kernel.partsPassed();
    const reason = brokenOff ?? (passed > 0 ? 'damaged' : unclaimed > 0 ? 'other' : 'nothing');
    // The number of parts of a shared list is not known, so that a missing part may belong to one.
    const isWhole = brokenOff === null && passed === 0;
    const lacking = [...waiting.values()].filter((parts) => !spoilt.has(parts) && !(isWhole && filled.has(parts)));
    for (const { of, inlet } of lacking.flat()) {
      if (inlet !== 0) kernel.resetInput(of, inlet);
      else kernel.nodeEmpty(of);
      failed.push(failure(of, reason));
    }
    return { loaded, unclaimed: unclaimed + passed, brokenOff, failed };
  }

  /**
   * Loads the part under way into the nodes, or the stream, beside what another has brought if it `adds`; returns a
   * LoadFault.
   */
  #loadPart(takers: readonly Saved[], at: (part: Saved) => number, adds: boolean): number {
    const { kernel } = this;
    const [{ of, inlet } = { of: 0, inlet: 0 }] = takers;
    if (inlet !== 0) return kernel.streamLoad(of, inlet);
    for (const part of takers) kernel.nodeTakes(part.of, at(part));
    return kernel.nodeLoad(adds);
  }

  /** Lends the members of all parts to the kernel during the call, which asks where those of a part are. */
  #lend<T>(parts: readonly Saved[], use: (at: (part: Saved) => number) => T): T {
    return this.arena.lend(
      parts.map(({ members }) => members),
      (...all) => {
        const places = new Map(parts.map((part, i) => [part, all[i] as number]));
        return use((part) => places.get(part) ?? 0);
      },
    );
  }

  /**
   * Returns the roots, with all nodes below them that were added with `saved`. Other nodes below belong to rules that
   * are not saved, or show the rows of a trace.
   */
  below(roots: readonly (NodeHandle | StreamHandle)[]): (NodeHandle | StreamHandle)[] {
    const reached = new Set(roots);
    const among = new Set(roots);
    // A node is made after the one above it.
    for (const [node, { parent, saved }] of this.nodes) {
      if (!reached.has(parent) && !reached.has(node)) continue;
      reached.add(node);
      if (saved !== undefined) among.add(node);
    }
    return [...among];
  }

  /**
   * Begins a call of the kernel that writes or reads. Throws KernelError when `isReady` is 0: there is no memory for
   * it.
   */
  begin(isReady: number, write: StateWriter, read: StateReader): void {
    if (!isReady) throw new KernelError(loadFaultTexts[LoadFault.memory] as string, false);
    this.#write = write;
    this.#read = read;
    this.#isBroken = false;
  }

  #parts(all: readonly (NodeHandle | StreamHandle)[]): Saved[] {
    return all.flatMap((of) => {
      const stream = this.streams.get(of);
      if (stream !== undefined) {
        return { of, identity: stream.identity, inlet: stream.inlet, members: null, isPooled: false };
      }
      const saved = this.nodes.get(of)?.saved;
      if (saved === undefined && !this.kernel.nodeKeeps(of)) return [];
      if (saved === undefined) throw new RangeError(`operator ${of} was not added to be saved`);
      return { of, identity: saved.identity, inlet: 0, members: membersBytes(saved), isPooled: saved.isPooled };
    });
  }
}
