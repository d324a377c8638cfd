/**
 * Connections to SQL Server, by a package that users install themselves. Checked against a small imitation of a server,
 * not against a real one.
 */
import type { EventEmitter } from 'node:events';
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
import { SqlError, type SqlFailure, sqlClientErrors } from './errors.js';
import { inTime } from './in-time.js';
import { tlsOf } from './tls.js';

/** What is used of the package. */
interface Tedious {
  readonly Connection: new (config: object) => TediousConnection;
  readonly Request: new (text: string, done: (error: Error | null | undefined, rows?: number) => void) => Request;
  readonly TYPES: Readonly<Record<string, object>>;
}

interface TediousConnection extends EventEmitter {
  connect(done: (error?: Error) => void): void;
  execSql(request: Request): void;
  execSqlBatch(request: Request): void;
  close(): void;
}

interface Request extends EventEmitter {
  addParameter(name: string, type: object | undefined, value: unknown): void;
  pause(): void;
  resume(): void;
}

interface Column {
  readonly colName: string;
  readonly type: { readonly name: string };
}

/** A time, to 100 ns. */
type ExactDate = Date & { nanosecondsDelta?: number };
type Given = null | boolean | number | string | Buffer | ExactDate;

// A name that the compiler does not follow: the package is none of this program.
const packageName = 'tedious';

const kinds: Readonly<Record<string, CellKind>> = {
  TinyInt: 'int',
  SmallInt: 'int',
  Int: 'int',
  BigInt: 'int',
  IntN: 'int',
  Real: 'float',
  Float: 'float',
  FloatN: 'float',
  Decimal: 'decimal',
  DecimalN: 'decimal',
  Numeric: 'decimal',
  NumericN: 'decimal',
  Money: 'decimal',
  SmallMoney: 'decimal',
  MoneyN: 'decimal',
  Bit: 'bool',
  BitN: 'bool',
  Date: 'time',
  DateTime: 'time',
  DateTimeN: 'time',
  DateTime2: 'time',
  SmallDateTime: 'time',
  DateTimeOffset: 'time',
  Binary: 'bytes',
  VarBinary: 'bytes',
  Image: 'bytes',
};

export async function loadSqlserver(): Promise<Driver> {
  const loaded = (await import(packageName)) as Tedious & { default?: Tedious };
  const tedious = loaded.default ?? loaded;
  return { maxConnections: 8, connect: (options) => connect(tedious, options) };
}

async function connect(tedious: Tedious, options: ConnectOptions): Promise<SqlConnection> {
  const { address, timeoutMs, lost } = options;
  const given = address.options.get('encrypt');
  const wish = given === undefined ? undefined : given === 'false' || given === 'disable' ? 'none' : 'trusted';
  const tls = await tlsOf(options, wish);
  const { ca, cert, key, minVersion } = tls ?? {};
  const isTrusting = address.options.get('trustservercertificate') === 'true' || tls?.rejectUnauthorized === false;
  const connection = new tedious.Connection({
    server: address.host,
    authentication: { type: 'default', options: { userName: address.user, password: address.password } },
    options: {
      port: address.port,
      ...(address.database !== '' && { database: address.database }),
      encrypt: tls !== undefined,
      trustServerCertificate: isTrusting,
      ...(tls && { cryptoCredentialsDetails: { ca, cert, key, minVersion } }),
      connectTimeout: timeoutMs,
      // Statements have a time limit of their own.
      requestTimeout: 0,
      appName: 'haumea',
      useUTC: true,
    },
  });
  connection.on('error', lost);
  connection.on('end', lost);
  try {
    const connected = new Promise<void>((resolve, reject) => {
      connection.connect((error) => (error === undefined || error === null ? resolve() : reject(error)));
    });
    await inTime(connected, timeoutMs, 'connecting to the database', () => connection.close());
  } catch (error) {
    connection.close();
    throw new SqlError('away', reasonOf(origin(error)), { cause: error });
  }
  return new SqlserverConnection(tedious, connection, timeoutMs);
}

/** The failure behind those of the library, whose texts do not say why nobody answers. */
function origin(error: unknown): unknown {
  if (error instanceof AggregateError && error.errors.length > 0) return origin(error.errors[0]);
  return error instanceof Error && error.cause instanceof Error ? origin(error.cause) : error;
}

class SqlserverConnection implements SqlConnection {
  constructor(
    readonly tedious: Tedious,
    readonly connection: TediousConnection,
    readonly timeoutMs: number,
  ) {}

  async run(text: string, params: readonly SqlParam[] = []): Promise<SqlRows> {
    const all: Cell[][] = [];
    let columns: readonly SqlColumn[] = [];
    const changed = await this.#ask(text, params, (request) => {
      request.on('columnMetadata', (given: Column[]) => {
        columns = columnsOf(given);
      });
      request.on('row', (row: { value: Given }[]) => all.push(row.map(({ value }, i) => cellOf(value, columns[i]))));
    });
    return { columns, rows: all, changed };
  }

  async pieces(text: string, params: readonly SqlParam[], take: (rows: SqlRows) => Promise<void>): Promise<void> {
    let columns: readonly SqlColumn[] = [];
    let piece: Cell[][] = [];
    let taking = Promise.resolve();
    const give = () => {
      const given = { columns, rows: piece, changed: 0 };
      piece = [];
      taking = taking.then(() => take(given));
      return taking;
    };
    await this.#ask(text, params, (request, limit) => {
      request.on('columnMetadata', (given: Column[]) => {
        columns = columnsOf(given);
      });
      request.on('row', (row: { value: Given }[]) => {
        limit.begin();
        piece.push(row.map(({ value }, i) => cellOf(value, columns[i])));
        if (piece.length < pieceRows) return;
        request.pause();
        limit.stop();
        // What `take` throws is thrown when the request is over.
        const goOn = () => {
          limit.begin();
          request.resume();
        };
        give().then(goOn, goOn);
      });
    });
    await give();
  }

  async columns(table: string): Promise<TableColumn[]> {
    const text =
      'SELECT name, TYPE_NAME(user_type_id) FROM sys.columns WHERE object_id = OBJECT_ID(@p1) ORDER BY column_id';
    const { rows } = await this.run(text, [table]);
    if (rows.length === 0) throw new SqlError('refusedAll', `there is no table ${table}`);
    return rows.map(([name, type]) => ({ name: String(name), type: String(type) }));
  }

  destroy(): void {
    this.connection.close();
  }

  /** Runs a statement; returns how many rows it has changed. Its time limit begins anew with each row. */
  async #ask(
    text: string,
    params: readonly SqlParam[],
    prepare: (request: Request, limit: Limit) => void,
  ): Promise<number> {
    const limit = new Limit(this.timeoutMs, () => this.destroy());
    const asked = new Promise<number>((resolve, reject) => {
      const request = new this.tedious.Request(text, (error, rows = 0) => {
        if (error === null || error === undefined) resolve(rows);
        else reject(error);
      });
      params.forEach((param, i) => {
        request.addParameter(`p${i + 1}`, this.#typeOf(param), typeof param === 'bigint' ? String(param) : param);
      });
      prepare(request, limit);
      // Transactions end with the procedure that a statement with parameters is.
      if (params.length === 0) this.connection.execSqlBatch(request);
      else this.connection.execSql(request);
    });
    try {
      return await Promise.race([asked, limit.over]);
    } catch (error) {
      throw failureOf(error);
    } finally {
      limit.stop();
      asked.catch(() => {});
    }
  }

  #typeOf(param: SqlParam): object | undefined {
    const { TYPES } = this.tedious;
    if (typeof param === 'boolean') return TYPES.Bit;
    if (typeof param === 'bigint') return TYPES.BigInt;
    if (param instanceof Uint8Array) return TYPES.VarBinary;
    if (typeof param !== 'number') return TYPES.NVarChar;
    if (!Number.isSafeInteger(param)) return TYPES.Float;
    return Math.abs(param) < 2 ** 31 ? TYPES.Int : TYPES.BigInt;
  }
}

/** A time limit that can begin anew. */
class Limit {
  /** Rejects when the time is over. */
  readonly over: Promise<never>;
  #timer: NodeJS.Timeout | undefined;
  #late: () => void = () => {};

  constructor(
    readonly ms: number,
    late: () => void,
  ) {
    this.over = new Promise<never>((_resolve, reject) => {
      this.#late = () => {
        late();
        reject(new SqlError('late', sqlClientErrors.late('the statement', ms).message));
      };
    });
    this.over.catch(() => {});
    this.begin();
  }

  begin(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#late, this.ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

function columnsOf(given: readonly Column[]): SqlColumn[] {
  return given.map(({ colName, type }) => ({ name: colName, kind: kinds[type.name] ?? 'text' }));
}

function cellOf(value: Given, column: SqlColumn | undefined): Cell {
  if (!(value instanceof Date)) return value;
  const fraction = Math.round((value.nanosecondsDelta ?? 0) * 1e7);
  // Milliseconds, then what is finer.
  const text = value.toISOString().replace(/Z$/, `${String(fraction).padStart(4, '0')}Z`);
  return column?.kind === 'time' ? text : text.slice(11, -1);
}

const failures: ReadonlyMap<number, SqlFailure> = new Map<number, SqlFailure>([
  // No such table, no right to it.
  [208, 'refusedAll'],
  [229, 'refusedAll'],
  [230, 'refusedAll'],
  // Deadlocks, locks, no room, busy.
  ...[1205, 1222, 1105, 9002, 701, 3960, 40_501, 40_613, 10_928].map((code) => [code, 'later'] as [number, SqlFailure]),
]);

function failureOf(error: unknown): SqlError {
  if (error instanceof SqlError) return error;
  const { number, code } = error as { number?: number; code?: string };
  const isAway = number === undefined || code === 'ECONNCLOSED' || code === 'ESOCKET';
  return new SqlError(isAway ? 'away' : (failures.get(number) ?? 'refused'), reasonOf(error), { cause: error });
}
