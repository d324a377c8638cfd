/**
 * The SQLite file of definitions: one table for each kind with the columns `key` and `val`, readable by any SQLite
 * tool. It is read at start and written as a whole at times; between two writes the journal holds the changes.
 */
import { existsSync, readFileSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Database, SqlJsStatic } from 'sql.js';
import { reasonOf } from '../../base/errors.js';
import { syncFolder } from '../../base/files/folder.js';
import { isBundled, programFile } from '../../base/program/bundle.js';
import { storedErrors } from '../errors.js';
import type { DatabaseContent, Kinds } from './database-content.js';
import { readImage, readLastImage, writeImage } from './database-image.js';

/** Table with our own settings; its row `generation` numbers the first journal that the file does not contain. */
const ownTable = 'haumea';

/** Reads a database file; throws when it is no whole SQLite database. */
export async function readDatabase(path: string): Promise<DatabaseContent> {
  const bytes = readFileSync(path);
  const image = readImage(path, bytes);
  if (image) return image;
  // SQLite takes an empty file for an empty database; one that has lost its content is no such thing.
  if (bytes.length === 0 && readLastImage(path) !== undefined) {
    throw storedErrors.emptyDatabase(path);
  }
  const sql = await loadSql();
  let db: Database | undefined;
  try {
    db = new sql.Database(bytes);
    const check = db.exec('PRAGMA quick_check(1)')[0]?.values[0]?.[0];
    if (check !== 'ok') throw new Error(String(check));
    return readTables(db);
  } catch (error) {
    throw storedErrors.damagedDatabase(path, reasonOf(error), { cause: error });
  } finally {
    db?.close();
  }
}

function readTables(db: Database): DatabaseContent {
  const kinds: Kinds = new Map();
  let generation = 0;
  let isOwn = false;
  const names = db.exec("SELECT name FROM sqlite_master WHERE type = 'table'")[0]?.values ?? [];
  for (const [value] of names) {
    const name = String(value);
    const columns = (db.exec(`PRAGMA table_info(${quoteName(name)})`)[0]?.values ?? []).map((row) => String(row[1]));
    if (columns.length !== 2 || !columns.includes('key') || !columns.includes('val')) continue;
    const rows = new Map<string, string>();
    const statement = db.prepare(`SELECT key, val FROM ${quoteName(name)}`);
    while (statement.step()) {
      const [key, val] = statement.get();
      rows.set(String(key), val instanceof Uint8Array ? textOf(val) : String(val ?? ''));
    }
    statement.free();
    if (name === ownTable) {
      isOwn = true;
      generation = Number(rows.get('generation') ?? 0);
    } else {
      kinds.set(name, rows);
    }
  }
  return { kinds, generation, isOwn };
}

/** Writes a complete database file: temporary name, fsync, rename, so that one whole file is there at any time. */
export async function writeDatabase(path: string, kinds: Kinds, generation: number): Promise<void> {
  const sql = await loadSql();
  const db = new sql.Database();
  let bytes: Uint8Array;
  try {
    db.run('BEGIN');
    for (const [name, rows] of [[ownTable, new Map([['generation', String(generation)]])] as const, ...kinds]) {
      db.run(`CREATE TABLE ${quoteName(name)} (key VARCHAR(255) PRIMARY KEY, val BLOB)`);
      const insert = db.prepare(`INSERT INTO ${quoteName(name)} (key, val) VALUES (?, ?)`);
      for (const [key, value] of rows) insert.run([key, value]);
      insert.free();
    }
    db.run('COMMIT');
    bytes = db.export();
  } finally {
    db.close();
  }
  const temporary = temporaryOf(path);
  try {
    const file = await open(temporary, 'w', 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    // When the disk is full the journal needs the room.
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
  await writeImage(path, bytes, kinds, generation);
}

/** Path at which the database is written before it takes its name. */
export function temporaryOf(path: string): string {
  return `${path}.tmp`;
}

/**
 * Reads a stored value: text, or the form in which eKuiper writes one (Go's gob coding of a string: length of the
 * message, type 6 as 0x0c, 0x00, length of the text, text).
 */
export function textOf(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const message = gobNumber(buffer, 0);
  if (message !== undefined && message.end + message.value === buffer.length && buffer[message.end] === 0x0c) {
    const text = buffer[message.end + 1] === 0 ? gobNumber(buffer, message.end + 2) : undefined;
    if (text !== undefined && text.end + text.value === buffer.length) return buffer.toString('utf8', text.end);
  }
  return buffer.toString('utf8');
}

/**
 * Unsigned number of the gob coding: one byte below 128, otherwise the negated count of big-endian bytes before them.
 */
function gobNumber(bytes: Buffer, at: number): { value: number; end: number } | undefined {
  const first = bytes[at];
  if (first === undefined) return undefined;
  if (first < 128) return { value: first, end: at + 1 };
  const count = 256 - first;
  if (count > 6 || at + 1 + count > bytes.length) return undefined;
  return { value: bytes.readUIntBE(at + 1, count), end: at + 1 + count };
}

function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

let loading: Promise<SqlJsStatic> | undefined;

/** Loads the SQLite library when it is first needed: an empty store never does. */
function loadSql(): Promise<SqlJsStatic> {
  loading ??= import('sql.js').then(({ default: init }) => init({ wasmBinary: wasmBinary() }));
  return loading;
}

function wasmBinary(): ArrayBuffer {
  const beside = fileURLToPath(programFile('sql-wasm.wasm', 'node_modules/sql.js/dist/sql-wasm.wasm'));
  // Packages may be hoisted to a folder above the project.
  const path =
    isBundled || existsSync(beside) ? beside : createRequire(import.meta.url).resolve('sql.js/dist/sql-wasm.wasm');
  const bytes = readFileSync(path);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
}
