/** The thread that has a SQLite file open: orders come one after the other. */
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import type { Database, QueryResult } from 'node-sqlite3-wasm';
import { reasonOf } from '../../../base/errors.js';
import { type Cell, type CellKind, pieceRows, type SqlColumn, type SqlParam, type SqlRows } from '../driver.js';
import { SqlError, type SqlFailure } from '../errors.js';
import { FileGuard } from './guard.js';
import type { FileSettings, FromFile, ToFile } from './messages.js';

const { path, waitMs } = workerData as FileSettings;

/** Bytes of what one query may read: nothing is handed on before all of it was read without a change between. */
const mostBytes = 128 << 20;

/**
 * The library takes its own lock for one of another writer, and so it never rolls back what a killed program has left
 * half written. Only who has the lock asks for it.
 */
const { accessSync } = fs;
fs.accessSync = (file, mode) => {
  if (guard?.mayRecover && String(file).endsWith('.lock'))
    throw Object.assign(new Error('our own'), { code: 'ENOENT' });
  accessSync(file, mode);
};

/** What the system has said to the library, which tells no more than that there was an error. */
let said: string | undefined;
noted('writeSync');
noted('fsyncSync');
noted('ftruncateSync');
noted('mkdirSync');

function noted(name: 'writeSync' | 'fsyncSync' | 'ftruncateSync' | 'mkdirSync'): void {
  const call = fs[name] as (...given: unknown[]) => unknown;
  const note = (...given: unknown[]) => {
    try {
      const done = call(...given);
      const wanted = name === 'writeSync' ? (given[1] as Uint8Array).length : done;
      if (done !== wanted) said = `the disk took ${done} of ${wanted} bytes, it is full`;
      return done;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') said = reasonOf(error);
      throw error;
    }
  };
  Object.assign(fs, { [name]: note });
}

let database: Database | undefined;
let guard: FileGuard | undefined;
let isInTransaction = false;
/** Rows that were read and not asked for yet. */
let left: SqlRows | undefined;

parentPort!.on('message', (order: ToFile) => {
  parentPort!.postMessage(answerTo(order));
});

function answerTo(order: ToFile): FromFile {
  said = undefined;
  try {
    if (order.do === 'more') return nextPiece();
    guard ??= new FileGuard(path, waitMs);
    database ??= guard.read(() => opened(guard!.path));
    if (order.do === 'columns') return { columns: looked(guard, () => columnsOf(order.table)) };
    if (order.do === 'run') return { rows: run(database, guard, order.text, order.params), isLast: true };
    left = looked(guard, () => queried(database!, order.text, order.params));
    return nextPiece();
  } catch (error) {
    return failureOf(error);
  }
}

function opened(file: string): Database {
  const { Database } = createRequire(import.meta.url)('node-sqlite3-wasm') as typeof import('node-sqlite3-wasm');
  const made = new Database(file, { fileMustExist: true });
  made.exec('PRAGMA cache_size = -8000');
  return made;
}

/** Within a transaction the file is ours. */
function looked<T>(alone: FileGuard, look: () => T): T {
  return isInTransaction ? look() : alone.read(look);
}

function nextPiece(): FromFile {
  const { columns, rows, changed } = left ?? { columns: [], rows: [], changed: 0 };
  const piece = { columns, rows: rows.slice(0, pieceRows), changed };
  left = rows.length > pieceRows ? { columns, rows: rows.slice(pieceRows), changed } : undefined;
  return { rows: piece, isLast: left === undefined };
}

function run(db: Database, alone: FileGuard, text: string, params: readonly SqlParam[]): SqlRows {
  const isQuery = isRead(text);
  if (isInTransaction) {
    const rows = isQuery ? queried(db, text, params) : changed(db, text, params);
    if (/^\s*(COMMIT|ROLLBACK\s*$)/i.test(text)) {
      isInTransaction = false;
      alone.afterWrite();
    }
    return rows;
  }
  if (isQuery) return alone.read(() => queried(db, text, params));
  alone.beforeWrite();
  const rows = changed(db, text, params);
  if (/^\s*BEGIN/i.test(text)) isInTransaction = true;
  else alone.afterWrite();
  return rows;
}

const isRead = (text: string) => /^\s*(SELECT|WITH|VALUES|PRAGMA table_info)\b/i.test(text);

function changed(db: Database, text: string, params: readonly SqlParam[]): SqlRows {
  const statement = db.prepare(text);
  try {
    return { columns: [], rows: [], changed: statement.run(valuesOf(params)).changes };
  } finally {
    // One that has failed would keep the file locked.
    statement.finalize();
  }
}

const valuesOf = (params: readonly SqlParam[]) => (params.length === 0 ? undefined : [...params]);

/** A statement that begins as a query may still write: `WITH … INSERT`. SQLite refuses it here. */
function queried(db: Database, text: string, params: readonly SqlParam[]): SqlRows {
  db.exec('PRAGMA query_only = 1');
  try {
    return rowsOf(db, text, params);
  } catch (error) {
    if (!/readonly database/.test(reasonOf(error))) throw error;
    throw new SqlError('refused', 'the query writes, and may only read', { cause: error });
  } finally {
    db.exec('PRAGMA query_only = 0');
  }
}

function rowsOf(db: Database, text: string, params: readonly SqlParam[]): SqlRows {
  const statement = db.prepare(text);
  try {
    const rows: Cell[][] = [];
    let names: string[] = [];
    let bytes = 0;
    for (const row of statement.iterate(valuesOf(params)) as Iterable<QueryResult>) {
      if (rows.length === 0) names = Object.keys(row);
      const cells = Object.values(row) as Cell[];
      for (const cell of cells) bytes += typeof cell === 'string' || cell instanceof Uint8Array ? cell.length : 8;
      if (bytes > mostBytes) throw new SqlError('refused', 'the query gives more than 128 MB: set a limit');
      rows.push(cells);
    }
    const kinds = kindsOf(text);
    const columns: SqlColumn[] = names.map((name) => ({ name, kind: kinds.get(name.toLowerCase()) ?? 'any' }));
    return { columns, rows, changed: 0 };
  } finally {
    statement.finalize();
  }
}

/** Kinds of the columns of the table that a query reads, by their declared types. */
function kindsOf(text: string): ReadonlyMap<string, CellKind> {
  const table = /\bFROM\s+("(?:[^"]|"")+"|[\w$]+)/i.exec(text)?.[1];
  if (table === undefined || /\bJOIN\b/i.test(text)) return new Map();
  return new Map(columnsOf(table).map(({ name, type }) => [name.toLowerCase(), kindOf(type)]));
}

function kindOf(type: string): CellKind {
  if (/INT/i.test(type)) return 'any';
  if (/BOOL/i.test(type)) return 'bool';
  if (/^(DATE|DATETIME|TIMESTAMP)/i.test(type)) return 'time';
  return /REAL|FLOA|DOUB|NUMERIC|DEC/i.test(type) ? 'float' : 'any';
}

function columnsOf(table: string): { name: string; type: string }[] {
  const rows = database!.all(`PRAGMA table_info(${table})`) as unknown as { name: string; type: string }[];
  if (rows.length === 0) throw new SqlError('refusedAll', `no such table: ${table}`);
  return rows.map(({ name, type }) => ({ name, type }));
}

const failures: readonly [RegExp, SqlFailure][] = [
  [/no such table|ON CONFLICT clause does not match/, 'refusedAll'],
  [/locked|busy|full|disk I\/O|readonly|unable to open|malformed|out of memory/i, 'later'],
  [/not a database/, 'later'],
];

function failureOf(error: unknown): FromFile {
  const reason = reasonOf(error);
  if (error instanceof SqlError) return { failure: error.failure, reason };
  // The system has said it, not the database: nothing is wrong with the statement.
  if ((error as NodeJS.ErrnoException).syscall !== undefined) return { failure: 'away', reason };
  const failure = failures.find(([texts]) => texts.test(reason))?.[1] ?? 'refused';
  return { failure, reason: failure === 'later' && said !== undefined ? `${reason}: ${said}` : reason };
}
