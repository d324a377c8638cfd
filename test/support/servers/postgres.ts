/** A PostgreSQL server of its own, as far as the machine has one. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import type { Certified } from '../certificates.js';
import { announceSkip, eventually, freePort, temporaryFolder } from '../harness.js';
import { askRunner } from './ask-runner.js';

const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) kill(child);
});

/** Folder with the programs of the newest version. */
function binFolder(): string | undefined {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  return versions.map((version) => join(root, version, 'bin')).find((folder) => existsSync(join(folder, 'initdb')));
}

const bin = binFolder();

/** Says why the tests with a server don't run; in CI that is a failure. */
export function needsPostgres(what: string): boolean {
  if (bin !== undefined) return true;
  if (process.env.CI === 'true') throw new Error(`${what}: PostgreSQL is not installed`);
  announceSkip(what, 'PostgreSQL is not installed');
  return false;
}

/** A database of one's own. */
export interface TestDatabase {
  readonly port: number;
  readonly url: string;
  readonly password: string;
  /** Runs statements as the owner of the database. */
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

/** The certificate of a server, and the one that its clients are certified by. */
export interface ServerTls {
  readonly own: Certified;
  readonly clients: Certified;
}

export interface TestPostgres extends TestDatabase {
  /** Ends it as a loss of power would. */
  kill(): Promise<void>;
  /** Starts it again on the same port. */
  start(): Promise<void>;
  /** It stays connected and does nothing any more, until it goes on. */
  pause(): void;
  resume(): void;
}

/** PostgreSQL refuses to run as root. */
const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
const user = 'owner';
const password = 's3cret!';

function databaseAt(port: number, name: string): TestDatabase {
  const url = `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${port}/${name}`;
  return {
    port,
    url,
    password,
    query: async (text, values = []) => {
      const client = new pg.Client({ connectionString: url });
      client.on('error', () => {});
      await client.connect();
      try {
        return (await client.query(text, values)).rows;
      } finally {
        await client.end();
      }
    },
    close: async () => {},
  };
}

/** A database in the server that the files of a run share; nobody may end that server. */
export async function sharedPostgres(): Promise<TestDatabase> {
  const place = await askRunner('postgres');
  if (place === undefined) return openPostgres();
  const name = `of_${process.pid}_${++lastDatabase}`;
  await databaseAt(Number(place.port), 'postgres').query(`CREATE DATABASE ${name}`);
  return databaseAt(Number(place.port), name);
}

let lastDatabase = 0;

/** Makes a database in a folder of its own and starts the server on a free port; `settings` are for its file. */
export async function openPostgres(
  settings: Readonly<Record<string, string>> = {},
  starts = true,
  tls?: ServerTls,
): Promise<TestPostgres> {
  const folder = temporaryFolder();
  const data = join(folder, 'data');
  mkdirSync(data);
  if (isRoot) {
    chmodSync(folder, 0o711);
    chownSync(data, nobody, nobody);
  }
  const port = await freePort();
  const as = isRoot ? { uid: nobody, gid: nobody } : {};
  const made = spawnSync(
    'sh',
    [
      '-c',
      `printf '%s' "$0" | ${bin}/initdb -D ${data} -U ${user} -A scram-sha-256 --pwfile=/dev/stdin -N -E UTF8`,
      password,
    ],
    { ...as, encoding: 'utf8' },
  );
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr}`);
  const given = {
    listen_addresses: '127.0.0.1',
    port: `${port}`,
    unix_socket_directories: '',
    fsync: 'off',
    ...settings,
  };
  if (tls !== undefined) {
    const file = (name: string, text: string) => {
      const path = join(data, name);
      writeFileSync(path, text, { mode: 0o600 });
      if (isRoot) chownSync(path, nobody, nobody);
      return path;
    };
    Object.assign(given, {
      ssl: 'on',
      ssl_cert_file: file('server.crt', tls.own.cert),
      ssl_key_file: file('server.key', tls.own.key),
      ssl_ca_file: file('clients.crt', tls.clients.cert),
    });
    // The test itself comes in without TLS.
    const lines = 'hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca\n';
    file('pg_hba.conf', `${lines}hostnossl all all 127.0.0.1/32 scram-sha-256\n`);
  }
  const options = Object.entries(given).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  let child: ChildProcess | undefined;
  const server: TestPostgres = {
    ...databaseAt(port, 'postgres'),
    start: async () => {
      const begin = () => {
        if (child !== undefined) children.delete(child);
        child = spawn(`${bin}/postgres`, ['-D', data, ...options], { ...as, stdio: 'ignore', detached: true });
        children.add(child);
      };
      begin();
      await eventually('the start of PostgreSQL', () => {
        // It refuses to start while a process of the killed one is there.
        if (child?.exitCode !== null || child.signalCode !== null) begin();
        return server.query('SELECT 1').then(
          () => true,
          () => undefined,
        );
      });
    },
    kill: async () => {
      if (child === undefined) return;
      const ended = child;
      child = undefined;
      children.delete(ended);
      if (ended.exitCode !== null || ended.signalCode !== null) return;
      kill(ended);
      await once(ended, 'exit');
    },
    pause: () => signalAll(child, 'SIGSTOP'),
    resume: () => signalAll(child, 'SIGCONT'),
    close: () => server.kill(),
  };
  if (starts) await server.start();
  return server;
}

/** It and its processes, each of which is a session of its own. */
function signalAll(child: ChildProcess | undefined, name: NodeJS.Signals): void {
  if (child?.pid === undefined) return;
  child.kill(name);
  spawnSync('pkill', [`-${name}`, '-P', `${child.pid}`]);
}

/** None of its processes outlives it, not even for a moment: the next server would refuse to start. */
function kill(child: ChildProcess): void {
  child.kill('SIGSTOP');
  if (child.pid !== undefined) spawnSync('pkill', ['-KILL', '-P', `${child.pid}`]);
  child.kill('SIGKILL');
}
