/** SQLite files, made and read by the SQLite of Python: a native program beside the engine. */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
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
