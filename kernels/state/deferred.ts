/**
 * Work that nodes have deferred: a kernel made with `longRows` does it piece by piece, when the host asks for it
 * (assembly/node/deferred.ts).
 */
import type { Kernel, NodeHandle } from '../api.js';
import { node as nodeLayout } from '../gen/layouts.js';
import type { RowTransfer } from './state.js';

/** A node that has deferred work. */
export interface DeferredWork {
  readonly node: NodeHandle;
  /** Handle of the host, as given with the node. */
  readonly host: number;
  /** Results of a window that wait to be sent, or batches of rows that wait in a pattern. */
  readonly results: number;
}

/** True when some node has deferred work. */
export function hasDeferred(of: Kernel): boolean {
  return (of.saving as RowTransfer).kernel.nextDeferred(0) !== 0;
}

/** Lists the nodes that have deferred work. */
export function deferredWork(of: Kernel): DeferredWork[] {
  const { kernel, arena } = of.saving as RowTransfer;
  const all: DeferredWork[] = [];
  for (let node = kernel.nextDeferred(0) >>> 0; node !== 0; node = kernel.nextDeferred(node) >>> 0) {
    const host = arena.u32(node + nodeLayout.at.host);
    all.push({ node: node as NodeHandle, host, results: kernel.deferredResults(node) });
  }
  return all;
}

/** Goes on with deferred work for `ms` milliseconds, node by node in turn; true when some is left. */
export function workOn(of: Kernel, ms: number): boolean {
  const { kernel, run } = of.saving as RowTransfer;
  return run('go on with deferred work', () => kernel.workOn(ms * 1000)) !== 0;
}

/** Does all deferred work of the nodes, and of those below them. */
export function finishWork(of: Kernel, nodes: readonly NodeHandle[]): void {
  if (!hasDeferred(of)) return;
  const { kernel, run } = of.saving as RowTransfer;
  run('end deferred work', () => {
    for (const node of nodes) kernel.finishWork(node);
  });
}

/** Says whether nodes with that handle of the host have deferred work. */
export function isAtWork(of: Kernel, host: number): boolean {
  return hasDeferred(of) && deferredWork(of).some((one) => one.host === host);
}
