/** The nodes of the cluster. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ChaosEngine } from '../../chaos/engine.js';
import { pause } from '../../process.js';
import { Clock } from './clock.js';

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
  ) {}

  static async open(program: readonly string[], folder: string, name: string, env: Record<string, string>) {
    const own = join(folder, name);
    mkdirSync(own, { recursive: true });
    const clock = new Clock(own);
    const engine = await ChaosEngine.open(program, own, { KUIPER__CLUSTER__NODE: name, ...env, ...clock.env });
    return new ChaosNode(name, engine, clock);
  }

  /** What the node says about the cluster; undefined while it does not answer. */
  async cluster(): Promise<ClusterAnswer | undefined> {
    return this.engine.call('GET', '/cluster?leases=true', undefined, 1000).then(
      (text) => JSON.parse(text) as ClusterAnswer,
      () => undefined,
    );
  }

  /** Whether it has a lease, and all rules run somewhere as it sees it. */
  async isWhole(): Promise<boolean> {
    const answer = await this.cluster();
    if (answer === undefined || !answer.hasLease || answer.unplaced.length > 0) return false;
    const list = await this.engine.call('GET', '/rules', undefined, 5000).catch(() => '[]');
    const rules = JSON.parse(list) as { id: string; status: string }[];
    const triggered = rules.filter(({ id }) => !id.startsWith('d'));
    return triggered.length > 0 && triggered.every(({ status }) => status.toLowerCase() === 'running');
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
