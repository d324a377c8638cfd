/** Connections to MySQL and MariaDB. All statements are prepared ones, so values are sent apart from their texts. */
import mysql, { type Connection, type FieldPacket, type ResultSetHeader, type SslOptions } from 'mysql2';
import { reasonOf } from '../../base/errors.js';
import {
  type Cell,
  type CellKind,
  type ConnectOptions,
  type Driver,
  pieceRows,
  type SqlColumn,
  type SqlConnection,
  type SqlParam,
  type SqlRows,
  type TableColumn,
} from './driver.js';
import { SqlError, type SqlFailure } from './errors.js';
import { inTime } from './in-time.js';
import { tlsOf } from './tls.js';

const { Types } = mysql as unknown as { Types: Readonly<Record<string, number>> };

const kinds = new Map<number | undefined, CellKind>([
  [Types.TINY, 'int'],
  [Types.SHORT, 'int'],
  [Types.LONG, 'int'],
  [Types.INT24, 'int'],
  [Types.LONGLONG, 'int'],
  [Types.YEAR, 'int'],
  [Types.FLOAT, 'float'],
  [Types.DOUBLE, 'float'],
  [Types.DECIMAL, 'decimal'],
  [Types.NEWDECIMAL, 'decimal'],
  [Types.JSON, 'json'],
  [Types.BIT, 'bytes'],
]);
const times = new Set([Types.TIMESTAMP, Types.DATETIME, Types.DATE, Types.NEWDATE]);
const blobs = new Set([
  Types.TINY_BLOB,
  Types.MEDIUM_BLOB,
  Types.LONG_BLOB,
  Types.BLOB,
  Types.STRING,
  Types.VAR_STRING,
]);
/** Number of the character set of columns of bytes. */
const binary = 63;

export const mysqlDriver: Driver = {
  maxConnections: 8,
  async connect(options) {
    const { address, timeoutMs, lost } = options;
    const ssl = await sslOf(options);
    const connection = mysql.createConnection({
      host: address.host,
      port: address.port,
      user: address.user,
      password: address.password,
      ...(address.database !== '' && { database: address.database }),
      charset: address.options.get('charset') ?? 'utf8mb4',
      connectTimeout: timeoutMs,
      ...(ssl && { ssl }),
      rowsAsArray: true,
      supportBigNumbers: true,
      bigNumberStrings: false,
      dateStrings: true,
      jsonStrings: true,
      maxPreparedStatements: 200,
      enableKeepAlive: true,
    });
    // The library does not say for which host the certificate has to be: Node.js takes this one.
    if (ssl !== undefined) Object.assign((connection as unknown as { stream: object }).stream, { _host: address.host });
    connection.on('error', lost);
    connection.on('end', lost);
    try {
      const connected = new Promise<void>((resolve, reject) => {
        connection.connect((error) => (error === null ? resolve() : reject(error)));
      });
      await inTime(connected, timeoutMs, 'connecting to the database', () => connection.destroy());
    } catch (error) {
      connection.destroy();
      throw new SqlError('away', reasonOf(error), { cause: error });
    }
    return new MysqlConnection(connection, options);
  },
};

async function sslOf(options: ConnectOptions): Promise<SslOptions | undefined> {
  const given = options.address.options.get('tls');
  const wish = { true: 'trusted', false: 'none', 'skip-verify': 'any', preferred: 'any' } as const;
  const tls = await tlsOf(options, wish[given as keyof typeof wish]);
  if (tls === undefined) return undefined;
  const { ca, cert, key, rejectUnauthorized, minVersion } = tls;
  const files = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
  return { ...files, rejectUnauthorized, verifyIdentity: rejectUnauthorized, minVersion };
}

/** What `execute` gives: rows as lists, or what a statement without rows has done. */
type Executed = readonly [ResultSetHeader | Cell[][], FieldPacket[] | undefined];

/** A query whose rows come one after the other. */
interface Streamed extends AsyncIterable<Cell[]> {
  on(event: 'fields', take: (fields: FieldPacket[]) => void): void;
}

class MysqlConnection implements SqlConnection {
  readonly #timeoutMs: number;
  /** Times have the form of RFC 3339, as `parseTime` of the address asks for. */
  readonly #hasTimes: boolean;

  constructor(
    readonly connection: Connection,
    { timeoutMs, address }: ConnectOptions,
  ) {
    this.#timeoutMs = timeoutMs;
    this.#hasTimes = address.options.get('parsetime') === 'true';
  }

  async run(text: string, params: readonly SqlParam[] = []): Promise<SqlRows> {
    try {
      const ran = new Promise<Executed>((resolve, reject) => {
        const done = (error: unknown, result: unknown, fields: unknown) =>
          error === null ? resolve([result, fields] as unknown as Executed) : reject(error);
        // Transactions can't be prepared by every server.
        if (params.length === 0) this.connection.query(text, done);
        else this.connection.execute(text, params.map(sent), done);
      });
      const [result, fields] = await inTime(ran, this.#timeoutMs, 'the statement', () => this.destroy());
      if (!Array.isArray(result)) return { columns: [], rows: [], changed: result.affectedRows };
      return { columns: this.#columns(fields ?? []), rows: result, changed: 0 };
    } catch (error) {
      throw failureOf(error);
    }
  }

  async pieces(text: string, params: readonly SqlParam[], take: (rows: SqlRows) => Promise<void>): Promise<void> {
    const isSimple = params.length === 0;
    const query = isSimple ? this.connection.query(text) : this.connection.execute(text, params.map(sent));
    const stream = query.stream({ highWaterMark: pieceRows }) as unknown as Streamed;
    let columns: SqlColumn[] = [];
    query.on('fields', (fields: FieldPacket[]) => {
      columns = this.#columns(fields);
    });
    const rows = stream[Symbol.asyncIterator]();
    let piece: Cell[][] = [];
    const give = () => {
      const given = { columns, rows: piece, changed: 0 };
      piece = [];
      return take(given);
    };
    for (;;) {
      const next = await this.#next(rows);
      if (next.done === true) break;
      piece.push(next.value);
      if (piece.length === pieceRows) await give();
    }
    await give();
  }

  async columns(table: string): Promise<TableColumn[]> {
    const { rows } = await this.run(`SHOW COLUMNS FROM ${table}`);
    return rows.map(([name, type]) => ({ name: String(name), type: String(type) }));
  }

  destroy(): void {
    this.connection.destroy();
  }

  async #next(rows: AsyncIterator<Cell[]>): Promise<IteratorResult<Cell[]>> {
    try {
      return await inTime(rows.next(), this.#timeoutMs, 'the statement', () => this.destroy());
    } catch (error) {
      throw failureOf(error);
    }
  }

  #columns(fields: readonly FieldPacket[]): SqlColumn[] {
    return fields.map((field) => {
      const { name, columnType: type, characterSet } = field as FieldPacket & { characterSet: number };
      const isBytes = characterSet === binary && blobs.has(type as number);
      const timeKind = this.#hasTimes && times.has(type as number) ? 'time' : 'text';
      return { name, kind: isBytes ? 'bytes' : (kinds.get(type) ?? timeKind) };
    });
  }
}

/** Integers that a double can't hold are sent as their digits. */
function sent(param: SqlParam): string | number | boolean | Buffer | null {
  if (typeof param === 'bigint') return String(param);
  return param instanceof Uint8Array ? Buffer.from(param) : param;
}

const failures: ReadonlyMap<number, SqlFailure> = new Map<number, SqlFailure>([
  // No such table or database, no right to it.
  [1146, 'refusedAll'],
  [1049, 'refusedAll'],
  [1142, 'refusedAll'],
  // Locks, too many connections, a full disk, read only, rolled back.
  ...[1205, 1213, 1040, 1203, 1021, 1114, 1290, 1792, 1180, 3024, 1969, 1041, 1037].map(
    (code) => [code, 'later'] as [number, SqlFailure],
  ),
  // It ends, or has ended the connection.
  ...[1053, 1927, 1317, 4031].map((code) => [code, 'away'] as [number, SqlFailure]),
]);

function failureOf(error: unknown): SqlError {
  if (error instanceof SqlError) return error;
  const { errno, fatal, sqlState } = error as { errno?: number; fatal?: boolean; sqlState?: string };
  const isAway = fatal === true || sqlState === undefined || errno === undefined;
  return new SqlError(isAway ? 'away' : (failures.get(errno) ?? 'refused'), reasonOf(error), { cause: error });
}
