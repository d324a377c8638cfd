/** The nodes of the cluster. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ChaosEngine } from '../../chaos/engine.js';
import { pause } from '../../process.js';
import { Clock } from './clock.js';
import { Wire } from './wire.js';

export interface ClusterAnswer {
  readonly hasLease: boolean;
  readonly unplaced: readonly string[];
  readonly nodes: readonly { readonly name: string; readonly rules: number }[];
  readonly leases: readonly { readonly rule: string; readonly node: string }[];
}

export class ChaosNode {
  private constructor(
    readonly name: string,
    readonly engine: ChaosEngine,
    readonly clock: Clock,
    /** Its way to NATS as a node; its sources and sinks have their own. */
    readonly wire: Wire,
  ) {}

  static async open(
    program: readonly string[],
    folder: string,
    { name, ports, env }: { name: string; ports: readonly number[]; env: Record<string, string> },
  ): Promise<ChaosNode> {
    const own = join(folder, name);
    mkdirSync(own, { recursive: true });
    const clock = new Clock(own);
    const wire = await Wire.open(ports);
    const identity = { KUIPER__CLUSTER__NODE: name, KUIPER__CLUSTER__SERVERS: wire.urls };
    const engine = await ChaosEngine.open(program, own, { ...identity, ...env, ...clock.env });
    return new ChaosNode(name, engine, clock, wire);
  }

  /** What the node says about the cluster; undefined while it does not answer. */
  async cluster(): Promise<ClusterAnswer | undefined> {
    return this.engine.call('GET', '/cluster?leases=true', undefined, 1000).then(
      (text) => JSON.parse(text) as ClusterAnswer,
      () => undefined,
    );
  }

  /** Why it has no lease, or which rules do not run as it sees it; empty when all is well. */
  async lacks(): Promise<string> {
    const answer = await this.cluster();
    if (answer === undefined) return 'no answer';
    if (!answer.hasLease) return 'no lease';
    const list = await this.engine.call('GET', '/rules', undefined, 5000).catch(() => '[]');
    const rules = JSON.parse(list) as { id: string; status: string }[];
    const owners = new Map(answer.leases.map(({ rule, node }) => [rule, node]));
    const still = rules.filter(({ id, status }) => !id.startsWith('d') && status.toLowerCase() !== 'running');
    const reasons = await Promise.all(still.map(({ id }) => this.engine.status(id)));
    return still
      .map(({ id, status }, i) => `${id} of ${owners.get(id) ?? 'nobody'}: ${status} ${reasons[i]?.message ?? ''}`)
      .join(', ');
  }

  async close(): Promise<void> {
    await this.engine.process.end('SIGKILL');
    await this.engine.close();
    this.wire.close();
  }

  /** Starts it again after its end; a former process of its name may still hold the lease. */
  async start(): Promise<void> {
    await this.engine.start();
  }

  /** Stops it for an upgrade: its rules go to the others first. */
  async renew(timeoutMs: number): Promise<void> {
    await this.engine.call('POST', `/cluster/nodes/${this.name}/drain`);
    const end = performance.now() + timeoutMs;
    for (;;) {
      const own = (await this.cluster())?.nodes.find(({ name }) => name === this.name);
      if (own?.rules === 0) break;
      if (performance.now() > end) throw new Error(`${this.name} still has rules ${timeoutMs} ms after its drain`);
      await pause(50);
    }
    await this.engine.process.end('SIGTERM');
    await this.engine.start();
  }
}
