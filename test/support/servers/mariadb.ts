/** A MariaDB server of its own, as far as the machine has one. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import mysql from 'mysql2/promise';
import { announceSkip, eventually, freePort, temporaryFolder } from '../harness.js';

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

export interface TestMariadb {
  readonly port: number;
  readonly url: string;
  /** Runs a statement as the owner of the database. */
  query(text: string): Promise<Record<string, unknown>[]>;
  /** Ends it as a loss of power would. */
  kill(): Promise<void>;
  /** Starts it again on the same port. */
  start(): Promise<void>;
  /** It stays connected and does nothing any more, until it goes on. */
  pause(): void;
  resume(): void;
  close(): Promise<void>;
}

const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
const password = 's3cret!';

/** Makes a database in a folder of its own and starts the server on a free port. */
export async function openMariadb(): Promise<TestMariadb> {
  const folder = temporaryFolder();
  const data = join(folder, 'data');
  mkdirSync(data);
  if (isRoot) {
    chmodSync(folder, 0o711);
    chownSync(data, nobody, nobody);
  }
  const as = isRoot ? { uid: nobody, gid: nobody } : {};
  const user = isRoot ? 'nobody' : userInfo().username;
  const install = ['--no-defaults', `--datadir=${data}`, `--user=${user}`, '--auth-root-authentication-method=normal'];
  const made = spawnSync('mariadb-install-db', install, { ...as, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`mariadb-install-db: ${made.stdout} ${made.stderr}`);
  const port = await freePort();
  let child: ChildProcess | undefined;
  const connect = (user: string, secret?: string) =>
    mysql.createConnection({ host: '127.0.0.1', port, user, ...(secret && { password: secret, database: 'test' }) });
  const start = async (ready: () => Promise<boolean>) => {
    const options = ['--no-defaults', `--datadir=${data}`, `--port=${port}`, '--bind-address=127.0.0.1'];
    const started = spawn('mariadbd', [...options, `--socket=${join(data, 's')}`, '--skip-name-resolve'], {
      ...as,
      stdio: 'ignore',
    });
    child = started;
    children.add(started);
    await eventually('the start of MariaDB', () => ready().catch(() => undefined));
  };
  const server: TestMariadb = {
    port,
    url: `mysql://owner:${encodeURIComponent(password)}@127.0.0.1:${port}/test`,
    query: async (text) => {
      const connection = await connect('owner', password);
      try {
        return (await connection.query(text))[0] as Record<string, unknown>[];
      } finally {
        connection.destroy();
      }
    },
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
    const root = await connect('root');
    await root.query('CREATE DATABASE IF NOT EXISTS test');
    await root.query(`CREATE USER owner@'%' IDENTIFIED BY '${password}'`);
    await root.query("GRANT ALL ON *.* TO owner@'%'");
    root.destroy();
    return true;
  });
  return server;
}
