/** The cluster as clients see it. */
import { clusterErrors } from '../../cluster/errors.js';
import type { ClusterNode, ClusterStatus } from '../../cluster/node.js';

export class ClusterService {
  constructor(private readonly node: ClusterNode | undefined) {}

  status(withLeases: boolean): ClusterStatus {
    return this.#node().status(withLeases);
  }

  async drain(name: string): Promise<string> {
    await this.#node().drain(name, true);
    return `Node ${name} drains: its rules move to other nodes.`;
  }

  async resume(name: string): Promise<string> {
    await this.#node().drain(name, false);
    return `Node ${name} takes rules again.`;
  }

  #node(): ClusterNode {
    if (this.node === undefined) throw clusterErrors.alone();
    return this.node;
  }
}
