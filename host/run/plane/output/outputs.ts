/** Who gets what encode nodes write: rules with equal plans share a node. */
import type { NodeHandle, OutputChunk } from '../../../../kernels/api.js';
import type { Barrier } from '../acknowledge/barrier.js';
import type { RunningSink } from '../running/running.js';

export class Outputs {
  readonly #takers = new Map<NodeHandle, Set<RunningSink>>();

  add(node: NodeHandle, sinks: readonly RunningSink[]): void {
    const takers = this.#takers.get(node);
    if (takers === undefined) this.#takers.set(node, new Set(sinks));
    else for (const sink of sinks) takers.add(sink);
  }

  remove(node: NodeHandle, sinks: readonly RunningSink[]): void {
    const takers = this.#takers.get(node);
    if (takers === undefined) return;
    for (const sink of sinks) takers.delete(sink);
    if (takers.size === 0) this.#takers.delete(node);
  }

  /** Gives a chunk to the sinks of its node; they hold the barrier of the input that it came of. */
  write(chunk: OutputChunk, now: number, barrier: Barrier | undefined): void {
    const takers = this.#takers.get(chunk.node);
    if (takers === undefined) return;
    for (const sink of takers) {
      sink.write(chunk, now);
      if (barrier !== undefined) sink.hold(barrier);
    }
  }
}
