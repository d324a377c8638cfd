/** Statements that write rows of one kind with the same members. Values are parameters. */
import type { Dialect } from '../../clients/sql/dialect.js';
import type { SqlRow } from './rows.js';
import type { Run, Statement } from './run.js';
import { jsonStatements } from './statements-json.js';
import { valueStatements } from './statements-values.js';

export function statementsOf(dialect: Dialect, table: string, run: Run): Statement[] {
  const { key, kind, rows } = run;
  // Of several changes of a row the last has its place: one statement changes a row once.
  const last = key === undefined || kind === 'insert' ? rows : lastOf(rows, key.member);
  const isJson = dialect.kind === 'postgres' || dialect.kind === 'sqlite';
  return (isJson ? jsonStatements : valueStatements)(dialect, table, { ...run, rows: last });
}

function lastOf(rows: readonly SqlRow[], member: string): SqlRow[] {
  const byKey = new Map<string, SqlRow>();
  for (const row of rows) {
    const key = String(row.members[member]);
    byKey.delete(key);
    byKey.set(key, row);
  }
  return [...byKey.values()];
}
