/** What goes wrong in a round. */
import { spawnSync } from 'node:child_process';
import type { Repeatable } from '../../chaos/processes.js';
import { pause } from '../../process.js';
import type { NatsCluster } from './nats-cluster.js';
import type { ChaosNode } from './nodes.js';

export const faultKinds = ['kill', 'leader', 'stop', 'cut', 'disk', 'natsDisk', 'clock', 'upgrade'] as const;
export type FaultKind = (typeof faultKinds)[number];

export const faultDocs: Readonly<Record<FaultKind, string>> = {
  kill: 'kill -9 of a node, which comes back',
  leader: 'kill -9 of the server of NATS that leads the leases, which comes back',
  stop: 'SIGSTOP of a node for longer than its lease (split brain)',
  cut: 'a node does not reach NATS for longer than its lease, while its sources and sinks do (split brain)',
  disk: 'the disk of a node is full (size limit of files, needs prlimit)',
  natsDisk: 'the disk of a server of NATS is full; it is started again',
  clock: 'the clock of a node jumps by up to a day',
  upgrade: 'all nodes are drained, ended and started again, one after the other',
};

/** Streams whose leader may be killed. */
const led = ['KV_haumea_leases', 'KV_haumea_definitions', 'EVENTS', 'RESULTS'];
const drainMs = 30_000;

export interface Cast {
  readonly nodes: readonly ChaosNode[];
  readonly nats: NatsCluster;
  readonly leaseMs: number;
  readonly next: () => number;
}

/** Does it; resolves, with what it was, when it is over. */
export async function play(kind: FaultKind, { nodes, nats, leaseMs, next }: Cast): Promise<string> {
  const between = (low: number, high: number) => Math.round(low + next() * (high - low));
  const node = nodes[Math.floor(next() * nodes.length)] as ChaosNode;
  const { process } = node.engine;
  switch (kind) {
    case 'kill': {
      const holdMs = between(0, 3 * leaseMs);
      await process.end('SIGKILL');
      await pause(holdMs);
      await node.start();
      return `${node.name} away for ${holdMs} ms`;
    }
    case 'leader': {
      const stream = led[Math.floor(next() * led.length)] as string;
      const server = await nats.leaderOf(stream);
      const holdMs = between(500, 2 * leaseMs);
      await server.end('SIGKILL');
      await pause(holdMs);
      server.start();
      return `${server.name}, leader of ${stream}, away for ${holdMs} ms`;
    }
    case 'stop': {
      const holdMs = between(leaseMs, 3 * leaseMs);
      await process.hold(holdMs);
      return `${node.name} for ${holdMs} ms`;
    }
    case 'cut': {
      const holdMs = between(leaseMs, 3 * leaseMs);
      node.wire.cut();
      await pause(holdMs);
      node.wire.mend();
      return `${node.name} for ${holdMs} ms`;
    }
    case 'disk':
      await full(process, between(1000, 2 * leaseMs));
      return node.name;
    case 'natsDisk': {
      const server = nats.servers[Math.floor(next() * nats.servers.length)] as Repeatable;
      await full(server, between(1000, 2 * leaseMs));
      await server.end('SIGKILL');
      server.start();
      return server.name;
    }
    case 'clock': {
      const jumpMs = between(-86_400_000, 86_400_000);
      node.clock.jump(jumpMs);
      await pause(between(1000, 2 * leaseMs));
      node.clock.jump(0);
      return `${node.name} by ${Math.round(jumpMs / 1000)} s`;
    }
    case 'upgrade':
      for (const one of nodes) await one.renew(drainMs);
      return `${nodes.length} nodes`;
    default:
      return kind satisfies never;
  }
}

async function full(process: Repeatable, holdMs: number): Promise<void> {
  process.limitFiles(1);
  await pause(holdMs);
  process.limitFiles(undefined);
}

/** Kinds that can be done here. */
export function possible(kinds: readonly FaultKind[]): FaultKind[] {
  const canLimit = spawnSync('prlimit', ['--version']).status === 0;
  return kinds.filter((kind) => canLimit || !kind.toLowerCase().includes('disk'));
}
