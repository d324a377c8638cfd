/** Connections to PostgreSQL. All values come as the texts of the server. */
import type { ConnectionOptions } from 'node:tls';
import pg from 'pg';
import { reasonOf } from '../../base/errors.js';
import {
  type Cell,
  type CellKind,
  type ConnectOptions,
  type Driver,
  pieceRows,
  type SqlConnection,
  type SqlParam,
  type SqlRows,
  type TableColumn,
} from './driver.js';
import { SqlError, type SqlFailure } from './errors.js';
import { inTime } from './in-time.js';
import { type TlsWish, tlsOf } from './tls.js';

/** Kinds by the numbers of types (pg_type). */
const kinds: Readonly<Record<number, CellKind>> = {
  16: 'bool',
  17: 'bytes',
  20: 'int',
  21: 'int',
  23: 'int',
  26: 'int',
  114: 'json',
  700: 'float',
  701: 'float',
  1082: 'time',
  1114: 'time',
  1184: 'time',
  1700: 'decimal',
  3802: 'json',
};

/** Values stay the texts of the server. */
const rawTypes = { getTypeParser: () => (text: string | Buffer) => text } as unknown as pg.CustomTypesConfig;

export const postgres: Driver = {
  maxConnections: 8,
  async connect(options) {
    const { address, timeoutMs, lost } = options;
    const ssl = await sslOf(options);
    const client = new pg.Client({
      host: address.host,
      port: address.port,
      user: address.user,
      password: address.password,
      database: address.database === '' ? undefined : address.database,
      connectionTimeoutMillis: timeoutMs,
      statement_timeout: timeoutMs,
      application_name: address.options.get('application_name') ?? 'haumea',
      keepAlive: true,
      ssl: ssl ?? false,
      ...(address.options.has('search_path') && { options: `-c search_path=${address.options.get('search_path')}` }),
    });
    client.on('error', lost);
    client.on('end', lost);
    try {
      await inTime(client.connect(), timeoutMs, 'connecting to the database', () => destroy(client));
    } catch (error) {
      destroy(client);
      throw failureOf(error, true);
    }
    return new PostgresConnection(client, options);
  },
};

const wishes: Readonly<Record<string, TlsWish>> = {
  disable: 'none',
  require: 'any',
  'verify-ca': 'trusted',
  'verify-full': 'trusted',
};

/** As the library of PostgreSQL means it: with verify-ca the name in the certificate does not matter. */
async function sslOf(options: ConnectOptions): Promise<ConnectionOptions | undefined> {
  const mode = options.address.options.get('sslmode') ?? '';
  const tls = await tlsOf(options, wishes[mode]);
  return tls && { ...tls, ...(mode === 'verify-ca' && { checkServerIdentity: () => undefined }) };
}

function destroy(client: pg.Client): void {
  const { stream } = (client as unknown as { connection: { stream: { destroy(): void } } }).connection;
  stream.destroy();
}

class PostgresConnection implements SqlConnection {
  readonly #timeoutMs: number;

  constructor(
    readonly client: pg.Client,
    { timeoutMs }: ConnectOptions,
  ) {
    this.#timeoutMs = timeoutMs;
  }

  async run(text: string, params: readonly SqlParam[] = []): Promise<SqlRows> {
    // The library sends statements without parameters in another way, which takes several at once.
    const query = { text, values: [...params], rowMode: 'array' as const, types: rawTypes, queryMode: 'extended' };
    try {
      const late = () => this.destroy();
      const result = await inTime(this.client.query(query), this.#timeoutMs, 'the statement', late);
      const columns = result.fields.map(
        ({ name, dataTypeID }) => ({ name, kind: kinds[dataTypeID] ?? 'text' }) as const,
      );
      const rows = result.rows as (string | null)[][];
      const binary = columns.flatMap(({ kind }, i) => (kind === 'bytes' ? [i] : []));
      return {
        columns,
        rows: binary.length === 0 ? rows : rows.map((row) => withBytes(row, binary)),
        changed: result.rowCount ?? 0,
      };
    } catch (error) {
      throw failureOf(error, false);
    }
  }

  async pieces(text: string, params: readonly SqlParam[], take: (rows: SqlRows) => Promise<void>): Promise<void> {
    await this.run('BEGIN READ ONLY');
    try {
      await this.run(`DECLARE haumea NO SCROLL CURSOR FOR ${text}`, params);
      for (;;) {
        const rows = await this.run(`FETCH ${pieceRows} FROM haumea`);
        await take(rows);
        if (rows.rows.length < pieceRows) break;
      }
      await this.run('COMMIT');
    } catch (error) {
      if (error instanceof SqlError && error.failure !== 'away' && error.failure !== 'late') await this.run('ROLLBACK');
      throw error;
    }
  }

  async columns(table: string): Promise<TableColumn[]> {
    const text =
      'SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute ' +
      'WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum';
    const { rows } = await this.run(text, [table]);
    return rows.map(([name, type]) => ({ name: String(name), type: String(type) }));
  }

  destroy(): void {
    destroy(this.client);
  }
}

function withBytes(row: readonly (string | null)[], binary: readonly number[]): Cell[] {
  const cells: Cell[] = [...row];
  for (const i of binary) {
    const text = row[i];
    if (typeof text === 'string') cells[i] = Buffer.from(text.replace(/^\\x/, ''), 'hex');
  }
  return cells;
}

/** What a state of SQL means, by its class or as a whole. */
const failures: readonly [RegExp, SqlFailure][] = [
  // Connection lost, shutdown, start-up.
  [/^(08|57P0)/, 'away'],
  // Rolled back, out of room, busy, asked to cancel, or read only for a while.
  [/^(40|53|55P03|55006|57014|25006|58)/, 'later'],
  // No such table, no right to it, no unique index for ON CONFLICT.
  [/^(42P01|42501|42P10|3F000|42809)/, 'refusedAll'],
];

function failureOf(error: unknown, isConnecting: boolean): SqlError {
  if (error instanceof SqlError) return error;
  const { code, severity } = error as { code?: string; severity?: string };
  const reason = reasonOf(error);
  // Errors of the system have codes as well, but no severity.
  if (severity === undefined || code === undefined || isConnecting)
    return new SqlError('away', reason, { cause: error });
  const failure = failures.find(([states]) => states.test(code))?.[1] ?? 'refused';
  return new SqlError(failure, reason, { cause: error });
}
