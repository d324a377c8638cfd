/** SQLite files, made and read by the SQLite of Python: a native program beside the engine. */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { announceSkip, temporaryFolder } from '../harness.js';

const run = promisify(execFile);

const hasPython = spawnSync('python3', ['-c', 'import sqlite3']).status === 0;

/** Says why the tests don't run; in CI that is a failure. */
export function needsPython(what: string): boolean {
  if (hasPython) return true;
  if (process.env.CI === 'true') throw new Error(`${what}: python3 is not installed`);
  announceSkip(what, 'python3 is not installed');
  return false;
}

export interface TestSqlite {
  readonly path: string;
  readonly url: string;
  /** Runs a statement; throws what the native program says. */
  query(text: string): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

/** Makes an empty database. */
export function openSqlite(path = join(temporaryFolder(), 'test.db')): TestSqlite {
  const db: TestSqlite = {
    path,
    url: `sqlite:${path}`,
    query: async (text) => {
      const script = `
import json, sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=5)
db.row_factory = sqlite3.Row
rows = [dict(row) for row in db.execute(sys.argv[2])]
db.commit()
print(json.dumps(rows))
`;
      const { stdout } = await run('python3', ['-c', script, path, text], { maxBuffer: 64 << 20 });
      return JSON.parse(stdout);
    },
    close: async () => {},
  };
  spawnSync('python3', ['-c', `import sqlite3; sqlite3.connect(${JSON.stringify(path)}).execute('VACUUM')`]);
  return db;
}

/** Starts a native program; its standard output and input are pipes. */
export function python(script: string): ChildProcess {
  return spawn('python3', ['-c', script], { stdio: ['pipe', 'pipe', 'inherit'] });
}

const holding = `
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1])
db.execute('BEGIN EXCLUSIVE')
open(sys.argv[2], 'w').close()
time.sleep(1000)
`;

/** Holds the file as a program within a transaction does, before it returns; what it gives lets go. */
export function holdSqlite(path: string): () => void {
  const held = join(temporaryFolder(), 'held');
  const program = spawn('python3', ['-c', holding, path, held], { stdio: 'ignore' });
  const letGo = () => void program.kill('SIGKILL');
  process.once('exit', letGo);
  while (!existsSync(held)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
  return letGo;
}
