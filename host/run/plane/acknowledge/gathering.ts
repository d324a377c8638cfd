/**
 * An encode node that gathers rows for a batch: the messages they came in stay unacknowledged until the batch is sent.
 */
import type { Kernel, NodeHandle } from '../../../../kernels/api.js';
import type { NodePlan } from '../../../../kernels/plan/ir.js';
import { isBatch } from '../../../../kernels/plan/output-plan.js';
import { keepsRows } from '../../../../kernels/traits.js';
import type { Barrier } from './barrier.js';

/** A sink that gets what the node writes. */
interface Holder {
  hold(barrier: Barrier): void;
}

export class Gathering {
  #barriers: Barrier[] = [];
  /** The batch that the barriers wait for. */
  #batch = 0;

  constructor(
    readonly node: NodeHandle,
    readonly sinks: readonly Holder[],
    private readonly kernel: Kernel,
  ) {}

  get isHolding(): boolean {
    return this.#barriers.length > 0;
  }

  /** Holds the barrier of input that the kernel has processed, if it gathers rows now; to be called after `settle`. */
  hold(barrier: Barrier): boolean {
    const batch = this.kernel.gatheredBatch(this.node);
    if (batch === 0) return false;
    this.#batch = batch;
    barrier.left++;
    this.#barriers.push(barrier);
    return true;
  }

  /** Leaves the barriers of a batch that was sent to the sinks. To be called after work of the kernel. */
  settle(): void {
    if (this.#barriers.length === 0 || this.kernel.gatheredBatch(this.node) === this.#batch) return;
    for (const barrier of this.#barriers.splice(0)) {
      for (const sink of this.sinks) sink.hold(barrier);
      barrier.passed(false);
    }
  }

  /** The node goes, with what it holds. */
  giveBack(): void {
    for (const barrier of this.#barriers.splice(0)) barrier.passed(true);
  }
}

/** Says whether an encode node gathers the rows of single messages. */
export function gathersMessages(plan: NodePlan, nodes: readonly NodePlan[]): boolean {
  if (plan.kind !== 'encode' || plan.output.format === 'none' || !isBatch(plan.output)) return false;
  const above = ({ input }: NodePlan) => (input !== null && 'node' in input ? nodes[input.node] : undefined);
  for (let at: NodePlan | undefined = plan; at !== undefined; at = above(at)) {
    if (keepsRows(at)) return false;
    // Rows that come too late do not stay in the node that orders the others.
    if (at.kind === 'late') at = above(at) ?? at;
  }
  return true;
}
