/** Statements for databases that read JSON: all rows are one parameter, as the texts that they came as. */

import { writeExactJson } from '../../base/text/exact-json.js';
import type { Dialect } from '../../clients/sql/dialect.js';
import type { SqlRow } from './rows.js';
import type { Run, Statement, Target } from './run.js';

export function jsonStatements(dialect: Dialect, table: string, run: Run): Statement[] {
  const { kind, key, targets } = run;
  const from = dialect.kind === 'postgres' ? postgresRows(dialect, run) : sqliteRows(run);
  const name = ({ column }: Target) => dialect.quote(column.name);
  const params = [from.param];
  const columns = targets.map(name).join(', ');
  const values = targets.map(from.value).join(', ');
  const insert = () => `INSERT INTO ${table} (${columns}) SELECT ${values} FROM ${from.rows}`;
  if (key === undefined || kind === 'insert') return [{ text: insert(), params }];
  const others = targets.filter(({ column }) => column.name !== key.column.name);
  if (kind === 'delete') {
    const keys = `SELECT ${from.value(key)} FROM ${from.rows}`;
    return [{ text: `DELETE FROM ${table} WHERE ${name(key)} IN (${keys})`, params }];
  }
  if (kind === 'upsert') {
    const set = others.map((one) => `${name(one)} = excluded.${name(one)}`).join(', ');
    const change = set === '' ? 'NOTHING' : `UPDATE SET ${set}`;
    // SQLite takes ON for a part of a join where no condition stands before it.
    return [{ text: `${insert()} WHERE true ON CONFLICT (${name(key)}) DO ${change}`, params }];
  }
  if (others.length === 0) return [];
  const given = [key, ...others].map((one) => `${from.value(one)} AS ${name(one)}`).join(', ');
  const set = others.map((one) => `${name(one)} = given.${name(one)}`).join(', ');
  const where = `target.${name(key)} = given.${name(key)}`;
  const text = `UPDATE ${table} AS target SET ${set} FROM (SELECT ${given} FROM ${from.rows}) AS given WHERE ${where}`;
  return [{ text, params }];
}

/** How the rows of the parameter are read. */
interface Rows {
  readonly rows: string;
  readonly param: string;
  value(target: Target): string;
}

function postgresRows(dialect: Dialect, { rows, targets, key }: Run): Rows {
  const read = new Map([...targets, ...(key === undefined ? [] : [key])].map((one) => [one.member, one] as const));
  const list = [...read.values()].map((one) => `${dialect.quote(one.member)} ${readAs(one, key)}`).join(', ');
  return {
    rows: `json_to_recordset($1::json) AS r(${list})`,
    param: listOf(rows.map(({ text }) => text)),
    value: ({ member, column }) => `r.${dialect.quote(member)}${isJson(column.type) ? `::${column.type}` : ''}`,
  };
}

/**
 * Integers are read as decimals, which the database rounds as it does in any INSERT; texts for columns of JSON are
 * JSON.
 */
function readAs({ column }: Target, key: Target | undefined): string {
  const { name, type } = column;
  if (isJson(type)) return 'text';
  return /^(smallint|integer|bigint)$/.test(type) && name !== key?.column.name ? 'numeric' : type;
}

const isJson = (type: string) => type === 'json' || type === 'jsonb';

function sqliteRows({ rows, targets, key }: Run): Rows {
  const names = [...new Set([...targets, ...(key === undefined ? [] : [key])].map(({ member }) => member))];
  // A path can't hold every name.
  const isPlain = names.every((name) => /^[^"\\\0]+$/.test(name));
  const path = (member: string) => (isPlain ? `$."${member}"` : `$[${names.indexOf(member)}]`);
  return {
    rows: 'json_each(?1) AS r',
    param: listOf(rows.map((row) => (isPlain ? row.text : membersOf(row, names)))),
    value: ({ member }) => `json_extract(r.value, ${textOf(path(member))})`,
  };
}

const textOf = (path: string) => `'${path.replaceAll("'", "''")}'`;

const listOf = (texts: readonly string[]) => `[${texts.join(',')}]`;

function membersOf({ members }: SqlRow, names: readonly string[]): string {
  return writeExactJson(names.map((name) => members[name] ?? null));
}
