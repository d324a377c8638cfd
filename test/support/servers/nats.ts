/** A NATS server of its own, as far as the machine has one. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { announceSkip, eventually, freePort, temporaryFolder } from '../harness.js';

const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** Where the server may be: in the path, or where `.ci/run` has put it. */
const places = ['nats-server', join(homedir(), '.cache/haumea-servers/bin/nats-server')];
const program = places.find((place) => spawnSync(place, ['--version']).status === 0);

/** The program; undefined where there is none. */
export const natsProgram = (): string | undefined => program;

/** Says why the tests with a server don't run; in CI that is a failure. */
export function needsNats(what: string): boolean {
  if (program !== undefined) return true;
  if (process.env.CI === 'true') throw new Error(`${what}: nats-server is not installed`);
  announceSkip(what, 'nats-server is not installed');
  return false;
}

export interface TestNats {
  readonly port: number;
  readonly url: string;
  /** Folder of its streams, with which another server goes on. */
  readonly store: string;
  readonly client: NatsConnection;
  /** Ends it by kill -9. */
  close(): Promise<void>;
  /** It stays connected and does nothing any more, until it goes on. */
  pause(): void;
  resume(): void;
}

export interface NatsOptions {
  readonly port?: number;
  readonly store?: string;
  /** More lines of its configuration. */
  readonly conf?: string;
  /** How the client of the test logs in. */
  readonly login?: Readonly<Record<string, unknown>>;
}

/** What it answers is on its disk, which other tests may keep busy for longer than the library waits, ms. */
const answerMs = 60_000;
/** JetStream for the messages of a test. */
export const streamsOf = (client: NatsConnection) => jetstream(client, { timeout: answerMs });
/** JetStream for the streams and consumers of a test. */
export const managerOf = (client: NatsConnection) => jetstreamManager(client, { timeout: answerMs });

/** Starts a server with JetStream. */
export async function openNats(options: NatsOptions = {}): Promise<TestNats> {
  const port = options.port ?? (await freePort());
  const store = options.store ?? temporaryFolder();
  const conf = join(temporaryFolder(), 'nats.conf');
  const lines = [
    `listen: "127.0.0.1:${port}"`,
    'max_payload: 33554432',
    'max_pending: 134217728',
    `jetstream { store_dir: "${store}", sync_interval: always }`,
    options.conf ?? '',
  ];
  writeFileSync(conf, lines.join('\n'));
  const child = spawn(program!, ['-c', conf], { stdio: ['ignore', 'ignore', 'pipe'] });
  children.add(child);
  let output = '';
  child.stderr?.on('data', (text: Buffer) => {
    output += text.toString();
  });
  const client = await eventually('nats-server', async () => {
    if (child.exitCode !== null) throw new Error(`nats-server ended: ${output}`);
    try {
      return await connect({ servers: `127.0.0.1:${port}`, reconnect: false, ...options.login });
    } catch {
      return undefined;
    }
  });
  return {
    port,
    url: `nats://127.0.0.1:${port}`,
    store,
    client,
    close: async () => {
      children.delete(child);
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      await client.close().catch(() => {});
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
  };
}
