/** A Redis server of its own, as far as the machine has one. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createClient } from '@redis/client';
import { announceSkip, eventually, freePort, temporaryFolder } from '../harness.js';

const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

const hasRedis = spawnSync('redis-server', ['--version']).error === undefined;

/** Says why the tests with a server don't run; in CI that is a failure. */
export function needsRedis(what: string): boolean {
  if (hasRedis) return true;
  if (process.env.CI === 'true') throw new Error(`${what}: redis-server is not installed`);
  announceSkip(what, 'redis-server is not installed');
  return false;
}

export type RedisClient = ReturnType<typeof redisClient>;

export interface TestRedis {
  readonly port: number;
  readonly addr: string;
  /** Connected to database 0. */
  readonly client: RedisClient;
  close(): Promise<void>;
  /** It stays connected and does nothing any more, until it goes on. */
  pause(): void;
  resume(): void;
}

function redisClient(port: number, password: string | undefined) {
  const socket = { host: '127.0.0.1', port, reconnectStrategy: false } as const;
  // Floods of commands may wait for longer than 5 s, the default, on a busy machine.
  const client = createClient({ socket, password, commandOptions: { timeout: undefined } });
  client.on('error', () => {});
  return client;
}

/** A subscriber that is slow is not cut off: what Redis throws away then, nobody can count. */
export const patient = ['--client-output-buffer-limit', 'pubsub 0 0 0'];

/** Starts a server on the port, or on a free one; `options` are arguments of it. */
export async function openRedis(
  given?: number,
  options: readonly string[] = [],
  password?: string,
): Promise<TestRedis> {
  const port = given ?? (await freePort());
  const own = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--dir', temporaryFolder()];
  const secret = password === undefined ? [] : ['--requirepass', password];
  const child = spawn('redis-server', [...own, ...secret, ...options], { stdio: 'ignore' });
  children.add(child);
  const client = await eventually('redis-server', async () => {
    const one = redisClient(port, password);
    try {
      await one.connect();
      // It answers so while it loads what it has on disk.
      await one.ping();
      return one;
    } catch {
      if (one.isOpen) one.destroy();
      return undefined;
    }
  });
  return {
    port,
    addr: `127.0.0.1:${port}`,
    client,
    close: async () => {
      children.delete(child);
      if (client.isOpen) client.destroy();
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
  };
}
