/** A MariaDB server of its own, as far as the machine has one. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import mysql from 'mysql2/promise';
import type { Certified } from '../certificates.js';
import { announceSkip, eventually, freePort, temporaryFolder } from '../harness.js';
import { askRunner } from './ask-runner.js';

const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

const hasMariadb = spawnSync('mariadbd', ['--version']).error === undefined;

/** Says why the tests with a server don't run; in CI that is a failure. */
export function needsMariadb(what: string): boolean {
  if (hasMariadb) return true;
  if (process.env.CI === 'true') throw new Error(`${what}: mariadbd is not installed`);
  announceSkip(what, 'mariadbd is not installed');
  return false;
}

/** A database of one's own. */
export interface MariadbDatabase {
  readonly port: number;
  readonly url: string;
  /** Runs a statement as the owner of the database. */
  query(text: string): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

export interface TestMariadb extends MariadbDatabase {
  /** Ends it as a loss of power would. */
  kill(): Promise<void>;
  /** Starts it again on the same port. */
  start(): Promise<void>;
  /** It stays connected and does nothing any more, until it goes on. */
  pause(): void;
  resume(): void;
}

const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
const password = 's3cret!';

const owner = 'owner';

function databaseAt(port: number, database: string): MariadbDatabase {
  return {
    port,
    url: `mysql://${owner}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`,
    query: async (text) => {
      const connection = await mysql.createConnection({ host: '127.0.0.1', port, user: owner, password, database });
      try {
        return (await connection.query(text))[0] as Record<string, unknown>[];
      } finally {
        connection.destroy();
      }
    },
    close: async () => {},
  };
}

let lastDatabase = 0;

/** A database in the server that the files of a run share; nobody may end that server. */
export async function sharedMariadb(): Promise<MariadbDatabase> {
  const place = await askRunner('mariadb');
  if (place === undefined) return openMariadb();
  const name = `of_${process.pid}_${++lastDatabase}`;
  await databaseAt(Number(place.port), 'test').query(`CREATE DATABASE ${name}`);
  return databaseAt(Number(place.port), name);
}

/** Makes a database in a folder of its own and starts the server on a free port. */
export async function openMariadb(tls?: { own: Certified; clients: Certified }): Promise<TestMariadb> {
  const folder = temporaryFolder();
  const data = join(folder, 'data');
  mkdirSync(data);
  if (isRoot) {
    chmodSync(folder, 0o711);
    chownSync(data, nobody, nobody);
  }
  const file = (name: string, text: string) => {
    const path = join(data, name);
    writeFileSync(path, text, { mode: 0o600 });
    if (isRoot) chownSync(path, nobody, nobody);
    return path;
  };
  const as = isRoot ? { uid: nobody, gid: nobody } : {};
  const user = isRoot ? 'nobody' : userInfo().username;
  const install = ['--no-defaults', `--datadir=${data}`, `--user=${user}`, '--auth-root-authentication-method=normal'];
  const made = spawnSync('mariadb-install-db', install, { ...as, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`mariadb-install-db: ${made.stdout} ${made.stderr}`);
  const port = await freePort();
  let child: ChildProcess | undefined;
  const start = async (ready: () => Promise<boolean>) => {
    const certificates = [
      ['ssl-cert', tls?.own.cert],
      ['ssl-key', tls?.own.key],
      ['ssl-ca', tls?.clients.cert],
    ].flatMap(([name, text]) => (text === undefined ? [] : [`--${name}=${file(`${name}.pem`, text)}`]));
    const options = [
      '--no-defaults',
      ...certificates,
      `--datadir=${data}`,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
    ];
    const started = spawn('mariadbd', [...options, `--socket=${join(data, 's')}`, '--skip-name-resolve'], {
      ...as,
      stdio: 'ignore',
    });
    child = started;
    children.add(started);
    await eventually('the start of MariaDB', () => ready().catch(() => undefined));
  };
  const server: TestMariadb = {
    ...databaseAt(port, 'test'),
    start: () => start(async () => (await server.query('SELECT 1')).length === 1),
    kill: async () => {
      if (child === undefined) return;
      const ended = child;
      child = undefined;
      children.delete(ended);
      if (ended.exitCode !== null || ended.signalCode !== null) return;
      ended.kill('SIGKILL');
      await once(ended, 'exit');
    },
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    close: () => server.kill(),
  };
  await start(async () => {
    const root = await mysql.createConnection({ host: '127.0.0.1', port, user: 'root' });
    await root.query('CREATE DATABASE IF NOT EXISTS test');
    await root.query(`CREATE USER ${owner}@'%' IDENTIFIED BY '${password}'`);
    await root.query(`GRANT ALL ON *.* TO ${owner}@'%'`);
    root.destroy();
    return true;
  });
  return server;
}

/** What a server says first that can speak TLS and has passwords of the usual kind. */
export function mysqlHandshake(): Buffer {
  const low = 0x0001 | 0x0008 | 0x0200 | 0x0800 | 0x2000 | 0x8000;
  const high = 0x0008;
  const body = Buffer.concat([
    Buffer.from('\x0a10.11.0-MariaDB\0', 'latin1'),
    Buffer.from([1, 0, 0, 0]),
    Buffer.from('12345678\0', 'latin1'),
    Buffer.from([low & 0xff, low >> 8, 45, 2, 0, high & 0xff, high >> 8, 21]),
    Buffer.alloc(10),
    Buffer.from('123456789012\0mysql_native_password\0', 'latin1'),
  ]);
  return Buffer.concat([Buffer.from([body.length & 0xff, body.length >> 8, 0, 0]), body]);
}
