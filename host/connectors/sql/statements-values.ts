/** Statements for databases that get each value as a parameter. */

import { writeExactJson } from '../../base/text/exact-json.js';
import type { Dialect } from '../../clients/sql/dialect.js';
import type { SqlParam } from '../../clients/sql/driver.js';
import type { SqlRow } from './rows.js';
import type { Run, Statement, Target } from './run.js';

/** SQL Server takes no more rows in one statement. */
const mostRows = 1000;

export function valueStatements(dialect: Dialect, table: string, run: Run): Statement[] {
  const { kind, key, targets, rows } = run;
  const name = ({ column }: Target) => dialect.quote(column.name);
  if (key === undefined || kind === 'insert') return inserts(dialect, table, run, '');
  const others = targets.filter(({ column }) => column.name !== key.column.name);
  if (kind === 'delete') {
    return pieces(rows.length, dialect.maxParams).map(([from, to]) => {
      const params = rows.slice(from, to).map((row) => memberOf(row, key));
      const keys = params.map((_, i) => dialect.place(i + 1)).join(', ');
      return { text: `DELETE FROM ${table} WHERE ${name(key)} IN (${keys})`, params };
    });
  }
  if (kind === 'update') {
    if (others.length === 0) return [];
    const set = others.map((one, i) => `${name(one)} = ${dialect.place(i + 1)}`).join(', ');
    const text = `UPDATE ${table} SET ${set} WHERE ${name(key)} = ${dialect.place(others.length + 1)}`;
    return rows.map((row) => ({ text, params: [...others, key].map((one) => memberOf(row, one)) }));
  }
  if (dialect.kind === 'sqlserver') return rows.map((row) => merge(dialect, table, run, row, key));
  const set = others.map((one) => `${name(one)} = VALUES(${name(one)})`).join(', ');
  return inserts(dialect, table, run, ` ON DUPLICATE KEY UPDATE ${set || `${name(key)} = ${name(key)}`}`);
}

function inserts(dialect: Dialect, table: string, { targets, rows }: Run, rest: string): Statement[] {
  const width = targets.length;
  const columns = targets.map(({ column }) => dialect.quote(column.name)).join(', ');
  return pieces(rows.length, Math.min(mostRows, Math.floor(dialect.maxParams / width))).map(([from, to]) => {
    const params = rows.slice(from, to).flatMap((row) => targets.map((one) => memberOf(row, one)));
    const tuples = Array.from(
      { length: to - from },
      (_, i) => `(${targets.map((_target, k) => dialect.place(i * width + k + 1)).join(', ')})`,
    );
    return { text: `INSERT INTO ${table} (${columns}) VALUES ${tuples.join(', ')}${rest}`, params };
  });
}

function merge(dialect: Dialect, table: string, { targets }: Run, row: SqlRow, key: Target): Statement {
  const name = ({ column }: Target) => dialect.quote(column.name);
  const all = targets.some(({ column }) => column.name === key.column.name) ? targets : [key, ...targets];
  const others = all.filter(({ column }) => column.name !== key.column.name);
  const names = all.map(name).join(', ');
  const given = all.map((_, i) => dialect.place(i + 1)).join(', ');
  const set = others.map((one) => `${name(one)} = given.${name(one)}`).join(', ');
  const matched = set === '' ? '' : ` WHEN MATCHED THEN UPDATE SET ${set}`;
  const values = all.map((one) => `given.${name(one)}`).join(', ');
  return {
    text:
      `MERGE INTO ${table} WITH (HOLDLOCK) AS target USING (VALUES (${given})) AS given (${names}) ` +
      `ON target.${name(key)} = given.${name(key)}${matched} ` +
      `WHEN NOT MATCHED THEN INSERT (${names}) VALUES (${values});`,
    params: all.map((one) => memberOf(row, one)),
  };
}

/**
 * Ranges of rows for statements of at most so many. All but the last ones have a power of two: a database keeps what it
 * has prepared by its text, and there are few texts that way.
 */
function pieces(count: number, most: number): [number, number][] {
  const ranges: [number, number][] = [];
  let size = 2 ** Math.floor(Math.log2(most));
  for (let from = 0; from < count; ) {
    while (size > count - from) size /= 2;
    ranges.push([from, from + size]);
    from += size;
  }
  return ranges;
}

/** Objects and lists are their JSON. */
function memberOf({ members }: SqlRow, { member }: Target): SqlParam {
  const value = members[member];
  if (value === undefined || value === null) return null;
  if (typeof value === 'object') return writeExactJson(value);
  return value as SqlParam;
}
