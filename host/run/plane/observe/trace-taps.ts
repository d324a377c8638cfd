/** Nodes of the kernel that show what the nodes of a traced rule give on; they are there only while it is traced. */
import type { Kernel, NodeHandle } from '../../../../kernels/api.js';
import type { Tap } from '../../../../kernels/plan/ir.js';
import { reasonOf } from '../../../base/errors.js';
import { placeOf } from '../running/rule-groups.js';
import type { RunningRule } from '../running/running.js';

export class TraceTaps {
  readonly #added: NodeHandle[] = [];
  /** By the node they show. */
  readonly #handles = new Map<NodeHandle, NodeHandle>();

  /** Adds the nodes below those of the rule. Without memory for them traces show less. */
  constructor(
    rule: RunningRule,
    readonly kernel: Kernel,
    taps: readonly Tap[],
  ) {
    try {
      for (const tap of taps) this.#add(rule, tap);
    } catch (error) {
      rule.log.warn(`traces don't show the rows between all operators: ${reasonOf(error)}`);
    }
  }

  /** The node that shows what this one gives on. */
  of(node: NodeHandle): NodeHandle | undefined {
    return this.#handles.get(node);
  }

  release(): void {
    for (const handle of this.#added.splice(0)) this.kernel.releaseNode(handle);
    this.#handles.clear();
  }

  #add(rule: RunningRule, { of, plan, source }: Tap): void {
    const shown = rule.nodes[of];
    const { input } = plan;
    if (shown === undefined || input === null) return;
    const above = 'node' in input ? rule.nodes[input.node] : undefined;
    const parent =
      'source' in input ? { stream: placeOf(rule, rule.sources[input.source]!).stream } : { node: above!.handle };
    const columnMap = source === null ? null : [...rule.columnsOf(source)];
    const handle = this.kernel.addNode(parent, { plan, columnMap, host: rule.run });
    this.#added.push(handle);
    this.#handles.set(shown.handle, handle);
  }
}
