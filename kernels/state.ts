/**
 * State on its way out of a kernel and into another: parts of nodes and streams, in slices of at most 64 KiB
 * (assembly/state/form.ts). What does not fit any more leaves its node empty and says why.
 */
import type { KernelExports } from './abi.js';
import type {
  LinkedNode,
  LoadFailure,
  LoadReason,
  LoadReport,
  NodeHandle,
  Saving,
  Shelf,
  StreamHandle,
} from './api.js';
import type { Arena } from './arena.js';
import type { NodeEntry, Nodes, Streams } from './entries.js';
import { KernelError } from './error.js';
import { LoadFault, loadFaultTexts } from './gen/layouts.js';
import { Identity, ownIdentity } from './identity.js';
import type { ColumnUse } from './ir.js';

/** Takes the next bytes; they are a view that is good during the call. */
export type StateWriter = (bytes: Uint8Array) => void;
/** Fills the next bytes in and returns how many, 0 when there are no more. */
export type StateReader = (into: Uint8Array) => number;

function failure(of: number, reason: LoadReason): LoadFailure {
  return { of, reason, text: loadFaultTexts[LoadFault[reason]] as string };
}

/** The reason of an outcome of loading, null where there is none to complain of. */
function reasonOf(outcome: number): LoadReason | null {
  if (outcome === LoadFault.none) return null;
  const known = Object.entries(LoadFault).find(([, number]) => number === outcome);
  return known === undefined ? 'damaged' : (known[0] as LoadReason);
}

/** What saving needs of a kernel. */
export interface RowTransfer extends Saving {
  readonly kernel: KernelExports;
  readonly arena: Arena;
  readonly state: StateTransfer;
  readonly streams: Streams;
  readonly nodes: Nodes;
  /** Nodes that are used again for an equal one, by what makes them equal. */
  readonly shared: Map<string, NodeHandle>;
}

/** What has a part of its own. */
interface Saved {
  readonly of: NodeHandle | StreamHandle;
  readonly identity: bigint;
  /** Inlet of a stream, 0 of a node. */
  readonly inlet: number;
}

export class StateTransfer {
  /** Where the state that is being saved goes, and that which is being loaded comes from. */
  #write: StateWriter = () => {};
  #read: StateReader = () => 0;
  /** The host has thrown: what else there is finds no hearing. */
  #isBroken = false;

  constructor(
    private readonly kernel: KernelExports,
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

  /** Writes the parts of those that keep something. */
  save(all: readonly (NodeHandle | StreamHandle)[], write: StateWriter): void {
    const { kernel } = this;
    const parts = this.#parts(all);
    // What is under way has no form in which it could be saved.
    for (const { of } of parts) kernel.finishWork(of);
    this.begin(kernel.saveBegin(), write, () => 0);
    for (const { of, identity, inlet } of parts) {
      if (inlet !== 0) kernel.streamSave(of, inlet, identity);
      else if (kernel.nodeKeeps(of)) kernel.nodeSave(of, identity);
    }
    kernel.saveEnd();
  }

  /** Reads parts into those that they are of, by identity; parts of equal ones come in the order in which they were saved. */
  load(all: readonly (NodeHandle | StreamHandle)[], read: StateReader, shelf?: Shelf): LoadReport {
    const { kernel } = this;
    const waiting = this.#byIdentity(all);
    kernel.shelfUse(shelf?.at ?? 0);
    this.begin(kernel.loadBegin(), () => {}, read);
    const failed: LoadFailure[] = [];
    let loaded = 0;
    let unclaimed = 0;
    while (kernel.partNext()) {
      const part = waiting.get(BigInt.asUintN(64, kernel.partOwner()))?.shift();
      if (part === undefined) {
        unclaimed++;
        continue;
      }
      const reason = reasonOf(part.inlet !== 0 ? kernel.streamLoad(part.of, part.inlet) : kernel.nodeLoad(part.of));
      if (reason === null) loaded++;
      else failed.push(failure(part.of, reason));
    }
    const brokenOff = reasonOf(kernel.loadOutcome());
    const passed = kernel.partsPassed();
    kernel.loadEnd();
    kernel.shelfUse(0);
    const reason = brokenOff ?? (passed > 0 ? 'damaged' : unclaimed > 0 ? 'other' : 'nothing');
    for (const { of, inlet } of [...waiting.values()].flat()) {
      if (inlet !== 0) kernel.resetInput(of, inlet);
      else kernel.nodeEmpty(of);
      failed.push(failure(of, reason));
    }
    return { loaded, unclaimed: unclaimed + passed, brokenOff, failed };
  }

  /**
   * The nodes and streams with all nodes below them that were added to be saved: beside these there may be rules that
   * weren't, and nodes that show the rows of a trace.
   */
  below(roots: readonly (NodeHandle | StreamHandle)[]): (NodeHandle | StreamHandle)[] {
    const among = new Set(roots);
    // A node is made after the one above it.
    for (const [node, { parent, identity }] of this.nodes) if (among.has(parent) && identity !== null) among.add(node);
    return [...among];
  }

  /** Identity of a node that is made, without those above it. */
  identityOf(linked: LinkedNode, branches: number, parent: number): bigint {
    if (linked.columnMap === null) return ownIdentity(linked, branches, null);
    let root = parent;
    while (!this.streams.has(root)) root = this.#node(root).parent;
    const columns = this.streams.get(root)?.columns ?? [];
    return ownIdentity(
      linked,
      branches,
      linked.columnMap.map((i) => columns[i] as ColumnUse),
    );
  }

  /** Begins a call of the kernel that writes or reads; `isReady`: 0 when there is no memory for it. */
  begin(isReady: number, write: StateWriter, read: StateReader): void {
    if (!isReady) throw new KernelError(loadFaultTexts[LoadFault.memory] as string, false);
    this.#write = write;
    this.#read = read;
    this.#isBroken = false;
  }

  #byIdentity(all: readonly (NodeHandle | StreamHandle)[]): Map<bigint, Saved[]> {
    const parts = new Map<bigint, Saved[]>();
    for (const part of this.#parts(all)) {
      if (part.inlet === 0 && !this.kernel.nodeKeeps(part.of)) continue;
      const equal = parts.get(part.identity);
      if (equal === undefined) parts.set(part.identity, [part]);
      else equal.push(part);
    }
    return parts;
  }

  #parts(all: readonly (NodeHandle | StreamHandle)[]): Saved[] {
    const known = new Map<NodeHandle, bigint>();
    return all.map((of) => {
      const stream = this.streams.get(of);
      if (stream !== undefined) return { of, identity: stream.identity, inlet: stream.inlet };
      return { of, identity: this.#identityInTree(of, known), inlet: 0 };
    });
  }

  /** Identity of a node with all from which its rows come. */
  #identityInTree(node: NodeHandle, known: Map<NodeHandle, bigint>): bigint {
    const before = known.get(node);
    if (before !== undefined) return before;
    const { identity: own, parent, ports } = this.#node(node);
    if (own === null) throw new RangeError(`operator ${node} was not added to be saved`);
    const identity = new Identity().identity(own);
    for (const above of [...(this.nodes.has(parent) ? [parent] : []), ...ports]) {
      identity.identity(this.#identityInTree(above, known));
    }
    known.set(node, identity.value());
    return identity.value();
  }

  #node(node: NodeHandle): NodeEntry {
    const entry = this.nodes.get(node);
    if (entry === undefined) throw new RangeError(`no operator ${node}`);
    return entry;
  }
}
