/** A RabbitMQ server of its own, as far as the machine has one. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ChannelModel, connect } from 'amqplib';
import { announceSkip, eventually, freePort, temporaryFolder } from '../harness.js';
import { askRunner } from './ask-runner.js';

/** Groups of processes that belong to servers. */
const groups = new Set<number>();
process.on('exit', () => {
  for (const group of groups) signal(group, 'SIGKILL');
});

function signal(group: number, name: NodeJS.Signals): void {
  try {
    process.kill(-group, name);
  } catch {
    // They have ended.
  }
}

/** The script behind the wrapper that wants a user of its own. */
const lib = '/usr/lib/rabbitmq/lib';
const script = (existsSync(lib) ? readdirSync(lib) : [])
  .map((name) => join(lib, name, 'sbin/rabbitmq-server'))
  .find((path) => existsSync(path));

/** Says why the tests with a server don't run; in CI that is a failure. */
export function needsRabbit(what: string): boolean {
  if (script !== undefined) return true;
  if (process.env.CI === 'true') throw new Error(`${what}: rabbitmq-server is not installed`);
  announceSkip(what, 'rabbitmq-server is not installed');
  return false;
}

/** A server that others may have as well. */
export interface RabbitServer {
  readonly url: string;
  readonly client: ChannelModel;
  /** Ends it, if it is one's own. */
  close(): Promise<void>;
}

export interface TestRabbit extends RabbitServer {
  readonly port: number;
  /** Ends it by kill -9. */
  kill(): Promise<void>;
  /** Starts it again with what it has on disk. */
  start(): Promise<void>;
  /** It stays connected and does nothing any more, until it goes on. */
  pause(): void;
  resume(): void;
}

/** Login of the server. */
export const rabbitLogin = { username: 'rows', password: 'rabbit-secret-41' };
/** It is a virtual machine with many applications. */
const startMs = 120_000;

async function connectTo(port: number): Promise<ChannelModel> {
  const client = await connect({ hostname: '127.0.0.1', port, ...rabbitLogin });
  client.on('error', () => {});
  return client;
}

/** The server that the files of a run share: names of queues and exchanges belong to one file. */
export async function sharedRabbit(): Promise<RabbitServer> {
  const place = await askRunner('rabbitmq');
  if (place === undefined) return openRabbit();
  const port = Number(place.port);
  const client = await connectTo(port);
  return { url: `amqp://127.0.0.1:${port}`, client, close: () => client.close() };
}

/** Starts a server with its own names and ports. */
export async function openRabbit(): Promise<TestRabbit> {
  const port = await freePort();
  const names = await freePort();
  const home = temporaryFolder();
  const conf = join(home, 'rabbitmq.conf');
  writeFileSync(
    conf,
    [
      `listeners.tcp.local = 127.0.0.1:${port}`,
      'loopback_users = none',
      `default_user = ${rabbitLogin.username}`,
      `default_pass = ${rabbitLogin.password}`,
      'disk_free_limit.absolute = 1MB',
    ].join('\n'),
  );
  writeFileSync(join(home, 'enabled_plugins'), '[].');
  for (const name of ['mnesia', 'log']) mkdirSync(join(home, name));
  const env = {
    ...process.env,
    HOME: home,
    ERL_EPMD_PORT: String(names),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    RABBITMQ_NODENAME: `t${port}@localhost`,
    RABBITMQ_DIST_PORT: String(await freePort()),
    RABBITMQ_CONFIG_FILE: conf,
    RABBITMQ_ENABLED_PLUGINS_FILE: join(home, 'enabled_plugins'),
    RABBITMQ_MNESIA_BASE: join(home, 'mnesia'),
    RABBITMQ_LOG_BASE: join(home, 'log'),
    RABBITMQ_PID_FILE: join(home, 'pid'),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '+S 1:1 +sbwt none',
  };
  const epmd = spawn('epmd', ['-port', String(names)], { env, stdio: 'ignore', detached: true });
  groups.add(epmd.pid!);
  let child: ChildProcess;
  const rabbit = {
    port,
    url: `amqp://127.0.0.1:${port}`,
    client: undefined as unknown as ChannelModel,
    start: async () => {
      child = spawn(script!, [], { env, cwd: home, stdio: 'ignore', detached: true });
      groups.add(child.pid!);
      const open = async () => {
        if (child.exitCode !== null) throw new Error(`rabbitmq-server ended with code ${child.exitCode}`);
        return connectTo(port).catch(() => undefined);
      };
      rabbit.client = await eventually('rabbitmq-server', open, startMs);
    },
    kill: async () => {
      groups.delete(child.pid!);
      const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
      signal(child.pid!, 'SIGKILL');
      await ended;
    },
    close: async () => {
      await rabbit.kill();
      signal(epmd.pid!, 'SIGKILL');
      groups.delete(epmd.pid!);
    },
    pause: () => signal(child.pid!, 'SIGSTOP'),
    resume: () => signal(child.pid!, 'SIGCONT'),
  };
  await rabbit.start();
  return rabbit;
}
