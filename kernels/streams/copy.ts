/**
 * Copies of streams: a copy has the spec of a stream and some of its columns, with the same indexes. Nodes of throttled
 * rules move there with their state, so that their input waits in a queue of its own (assembly/tree/move.ts).
 */
import type { Kernel, NodeHandle, StreamHandle } from '../api.js';
import type { NodeEntry, StreamEntry } from '../entries.js';
import { maxUses, node as nodeLayout, SourceError } from '../gen/layouts.js';
import { KernelError, noMemory } from '../memory/error.js';
import { keyAt } from '../sharing.js';
import type { RowTransfer } from '../state/state.js';
import { useColumnAt } from './columns.js';

/** Gives a new copy columns of the stream, with the indexes that they have there. Throws KernelError without memory. */
export function useSameColumns(of: Kernel, stream: StreamHandle, copy: StreamHandle, indexes: Iterable<number>): void {
  const { kernel, arena, run } = of.saving as RowTransfer;
  const from = entryOf(of, stream).columns;
  const to = entryOf(of, copy).columns;
  run('use columns', () => {
    for (const index of new Set(indexes)) {
      const column = from[index];
      if (column === undefined) throw new RangeError(`stream ${stream} has no column ${index}`);
      const used = useColumnAt({ exports: kernel, arena }, copy, index, column);
      if (used < 0)
        throw used === SourceError.memory ? noMemory() : new RangeError(`a stream has at most ${maxUses} columns`);
      to[index] = column;
    }
  });
}

/**
 * Nodes directly below the stream, in their order, that are among the given ones or were added for one of the hosts
 * alone.
 */
export function nodesBelow(
  of: Kernel,
  stream: StreamHandle,
  among: ReadonlySet<NodeHandle>,
  hosts: ReadonlySet<number>,
): NodeHandle[] {
  const { arena, nodes } = of.saving as RowTransfer;
  const isOne = (node: NodeHandle, uses: number) =>
    among.has(node) || (uses === 1 && hosts.has(arena.u32(node + nodeLayout.at.host)));
  return [...nodes].filter(([node, { parent, uses }]) => parent === stream && isOne(node, uses)).map(([node]) => node);
}

/**
 * Moves nodes that are directly below a stream to its copy, or back; they come after the nodes that are there. With
 * `isShared` a rule that needs an equal node uses the moved one.
 */
export function moveNodes(
  of: Kernel,
  moved: readonly NodeHandle[],
  from: StreamHandle,
  to: StreamHandle,
  isShared: boolean,
): void {
  const { kernel, nodes, shared, run } = of.saving as RowTransfer;
  const [before, after] = [entryOf(of, from), entryOf(of, to)];
  run('move operators', () => {
    for (const node of moved) {
      const entry = nodes.get(node);
      if (entry?.parent !== from) throw new RangeError(`operator ${node} is not below stream ${from}`);
      kernel.nodeMove(node, to);
      entry.parent = to;
      before.children--;
      after.children++;
      leaveShared(shared, node, entry);
      if (isShared) comeShared(shared, node, entry);
    }
  });
}

/** Nodes that were added at a place of their own may be shared from now on. */
export function shareFromNow(of: Kernel, nodes: Iterable<NodeHandle>): void {
  const { nodes: entries, shared } = of.saving as RowTransfer;
  for (const node of nodes) {
    const entry = entries.get(node);
    if (entry?.place === undefined) continue;
    leaveShared(shared, node, entry);
    comeShared(shared, node, entry);
  }
}

function leaveShared(shared: Map<string, NodeHandle>, node: NodeHandle, { key, place }: NodeEntry): void {
  const sharedAs = keyAt(key, place);
  if (sharedAs !== null && shared.get(sharedAs) === node) shared.delete(sharedAs);
}

function comeShared(shared: Map<string, NodeHandle>, node: NodeHandle, entry: NodeEntry): void {
  entry.place = undefined;
  if (entry.key !== null && !shared.has(entry.key)) shared.set(entry.key, node);
}

/**
 * State that a stream keeps between two inputs, as half a message or the topic aliases of its connection; undefined
 * without memory.
 */
export function inputOf(of: Kernel, stream: StreamHandle): Uint8Array | undefined {
  const { kernel, state, run } = of.saving as RowTransfer;
  const { inlet, identity } = entryOf(of, stream);
  const slices: Uint8Array[] = [];
  const isSaved = hasMemoryFor(() =>
    run('save input', () => {
      state.begin(
        kernel.saveBegin(),
        (bytes) => slices.push(bytes.slice()),
        () => 0,
      );
      kernel.streamSave(stream, inlet, identity);
      kernel.saveEnd();
    }),
  );
  return isSaved ? Buffer.concat(slices) : undefined;
}

/** Sets the input state of a copy to that of its stream, as `inputOf` gave it; false without memory for it. */
export function setInput(of: Kernel, copy: StreamHandle, input: Uint8Array): boolean {
  let left = input;
  let isWhole = false;
  const isRead = hasMemoryFor(() => {
    const { failed } = of.loadNode(copy, (into) => {
      const part = left.subarray(0, into.length);
      into.set(part);
      left = left.subarray(part.length);
      return part.length;
    });
    isWhole = failed.length === 0;
  });
  return isRead && isWhole;
}

/** False when the kernel had no memory for the call. */
function hasMemoryFor(call: () => void): boolean {
  try {
    call();
    return true;
  } catch (error) {
    if (!(error instanceof KernelError) || error.isFatal) throw error;
    return false;
  }
}

/** Samples the times of nodes often, to know within a second which one takes the time, or as rarely as usual. */
export function sampleOften(of: Kernel, isOn: boolean): void {
  (of.saving as RowTransfer).kernel.sampleOften(isOn ? 1 : 0);
}

function entryOf(of: Kernel, stream: StreamHandle): StreamEntry {
  const entry = (of.saving as RowTransfer).streams.get(stream);
  if (entry === undefined) throw new RangeError(`no stream ${stream}`);
  return entry;
}
