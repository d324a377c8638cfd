/** A cluster of three NATS servers that flush each message, as processes that are killed and started again. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { natsProgram } from '../../../test/support/servers/nats.js';
import { freePort, Repeatable } from '../../chaos/processes.js';
import { pause } from '../../process.js';

const startMs = 30_000;

export class NatsCluster {
  private constructor(
    readonly servers: readonly Repeatable[],
    readonly ports: readonly number[],
    readonly urls: string,
    readonly client: NatsConnection,
    readonly manager: JetStreamManager,
  ) {}

  static async open(folder: string, count: number): Promise<NatsCluster> {
    const program = natsProgram();
    if (program === undefined) throw new Error('nats-server is not installed (2.12 or later, in PATH)');
    const names = Array.from({ length: count }, (_, i) => `nats${i + 1}`);
    const ports = await Promise.all(names.map(() => freePort()));
    const routes = await Promise.all(names.map(() => freePort()));
    const list = routes.map((port) => `"nats://127.0.0.1:${port}"`).join(', ');
    const servers = names.map((name, i) => {
      const own = join(folder, name);
      mkdirSync(own, { recursive: true });
      const conf = join(own, 'nats.conf');
      const lines = [
        `server_name: ${name}`,
        `listen: "127.0.0.1:${ports[i]}"`,
        `jetstream { store_dir: "${join(own, 'store')}", sync_interval: always }`,
        `cluster { name: chaos, listen: "127.0.0.1:${routes[i]}", routes: [${list}], no_advertise: true }`,
      ];
      writeFileSync(conf, lines.join('\n'));
      return new Repeatable(name, [program, '-c', conf], {});
    });
    for (const server of servers) server.start();
    const addresses = ports.map((port) => `nats://127.0.0.1:${port}`);
    try {
      const client = await connected(addresses, servers);
      // There is no answer before a leader is elected.
      const manager = await jetstreamManager(client, { checkAPI: false });
      return new NatsCluster(servers, ports, addresses.join(','), client, manager);
    } catch (error) {
      await Promise.all(servers.map((server) => server.end('SIGKILL')));
      throw error;
    }
  }

  /** A stream that all servers keep. */
  async addStream(name: string, subjects: string[]): Promise<void> {
    await this.#try(() => this.manager.streams.add({ name, subjects, num_replicas: this.servers.length }));
  }

  /** The server that leads the stream; any of them while there is none. */
  async leaderOf(stream: string): Promise<Repeatable> {
    const info = await this.manager.streams.info(stream).catch(() => undefined);
    return this.servers.find(({ name }) => name === info?.cluster?.leader) ?? (this.servers[0] as Repeatable);
  }

  /** Resolves when all servers have all of the streams again. */
  async whole(timeoutMs: number): Promise<void> {
    const end = performance.now() + timeoutMs;
    while (!(await this.#isWhole())) {
      if (performance.now() > end) throw new Error('the servers of NATS do not agree again');
      await pause(200);
    }
  }

  async close(): Promise<void> {
    await this.client.close().catch(() => {});
    await Promise.all(this.servers.map((server) => server.end('SIGKILL')));
  }

  async #isWhole(): Promise<boolean> {
    try {
      for await (const { cluster } of this.manager.streams.list()) {
        const others = cluster?.replicas ?? [];
        if (!cluster?.leader || others.length < this.servers.length - 1) return false;
        if (others.some(({ current, offline }) => !current || offline === true)) return false;
      }
      return true;
    } catch {
      return false;
    }
  }

  /** The servers elect a leader first. */
  async #try<T>(step: () => Promise<T>): Promise<T> {
    const end = performance.now() + startMs;
    for (;;) {
      try {
        return await step();
      } catch (error) {
        if (performance.now() > end) throw error;
        await pause(200);
      }
    }
  }
}

async function connected(servers: string[], processes: readonly Repeatable[]): Promise<NatsConnection> {
  const end = performance.now() + startMs;
  for (;;) {
    try {
      return await connect({ servers, maxReconnectAttempts: -1, reconnectTimeWait: 100, pingInterval: 1000 });
    } catch (error) {
      if (performance.now() > end) throw new Error(processes.map(({ output }) => output).join('\n'), { cause: error });
      await pause(100);
    }
  }
}
