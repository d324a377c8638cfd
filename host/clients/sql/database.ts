/** Databases: parts with the same address share one and its connections. None connects again by itself. */
import { HaumeaError, reasonOf } from '../../base/errors.js';
import { type SqlAddress, sqlAddress, sqliteFile } from './address.js';
import type { Driver, SqlConnection } from './driver.js';
import { driverOf } from './drivers.js';
import { isRefusal, SqlError, sqlClientErrors } from './errors.js';
import type { SqlSecurity } from './tls.js';

export interface DatabaseConf {
  dburl: string;
  /** ms */
  timeout: number;
  security?: SqlSecurity;
}

export class SqlDatabases {
  readonly #databases = new Map<string, SharedDatabase>();

  /** @param maxConnections most connections to one database, half of them for readers; 0: as the driver has it */
  constructor(readonly maxConnections = 0) {}

  /**
   * Returns the database of this address; each user gives it back. Who reads waits for sinks with a connection in hand,
   * so that readers have others than sinks and lookups.
   */
  take(conf: DatabaseConf, isReader = false): SharedDatabase {
    // A file is open once in this program: others that change it are told apart that way.
    const file = sqliteFile(conf.dburl);
    const key = file ?? JSON.stringify([conf.dburl, conf.timeout, conf.security?.key, isReader]);
    let database = this.#databases.get(key);
    if (database === undefined) {
      database = new SharedDatabase(conf, this.#most(isReader), () => this.#databases.delete(key));
      this.#databases.set(key, database);
    }
    database.users++;
    return database;
  }

  /** Readers and others have one at least, so that neither waits for the other. */
  #most(isReader: boolean): number {
    const forReaders = Math.max(1, this.maxConnections >> 1);
    if (this.maxConnections === 0) return 0;
    return isReader ? forReaders : Math.max(1, this.maxConnections - forReaders);
  }
}

interface Waiting {
  readonly give: (connection: SqlConnection | undefined) => void;
  readonly fail: (error: Error) => void;
}

export class SharedDatabase {
  users = 0;
  readonly address: SqlAddress;
  readonly #timeoutMs: number;
  readonly #security: SqlSecurity | undefined;
  readonly #idle: SqlConnection[] = [];
  readonly #busy = new Set<SqlConnection>();
  #connecting = 0;
  readonly #waiting: Waiting[] = [];
  #driver: Driver | undefined;
  #isClosed = false;

  constructor(
    conf: DatabaseConf,
    readonly maxConnections: number,
    readonly onUnused: () => void,
  ) {
    this.address = sqlAddress(conf.dburl);
    this.#timeoutMs = conf.timeout;
    this.#security = conf.security;
  }

  /**
   * Does work on a connection that nobody else uses meanwhile. Throws what the work throws, and `SqlError` `away` when
   * there is no connection. When the signal is aborted it loses the connection: others need not wait for it.
   */
  async use<T>(work: (connection: SqlConnection) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const connection = await this.#take(signal);
    const leave = () => this.#drop(connection);
    signal?.addEventListener('abort', leave, { once: true });
    try {
      const result = await work(connection);
      this.#giveBack(connection);
      return result;
    } catch (error) {
      // Whoever begins a transaction also ends it.
      if (isRefusal(error) || (error instanceof SqlError && error.failure === 'later')) this.#giveBack(connection);
      else this.#drop(connection);
      throw error;
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }

  giveBack(): void {
    if (--this.users > 0) return;
    this.onUnused();
    this.#isClosed = true;
    for (const connection of [...this.#idle, ...this.#busy]) this.#drop(connection);
    for (const { fail } of this.#waiting.splice(0)) fail(sqlClientErrors.closed());
  }

  async #take(signal: AbortSignal | undefined): Promise<SqlConnection> {
    if (this.#isClosed || signal?.aborted) throw sqlClientErrors.closed();
    this.#driver ??= await driverOf(this.address.kind);
    const idle = this.#idle.pop();
    if (idle !== undefined) {
      this.#busy.add(idle);
      return idle;
    }
    // A file takes one connection only.
    const { maxConnections: usual } = this.#driver;
    const most = this.maxConnections === 0 || usual === 1 ? usual : this.maxConnections;
    if (this.#busy.size + this.#connecting < most) this.#connecting++;
    else {
      const given = await this.#wait(signal);
      if (given !== undefined) return given;
    }
    const made = await this.#connect(this.#driver);
    if (!signal?.aborted) return made;
    this.#giveBack(made);
    throw sqlClientErrors.closed();
  }

  /** Makes a connection that is counted as one under way. */
  async #connect(driver: Driver): Promise<SqlConnection> {
    let made: SqlConnection | undefined;
    try {
      made = await driver.connect({
        address: this.address,
        timeoutMs: this.#timeoutMs,
        security: this.#security,
        lost: () => {
          if (made !== undefined) this.#drop(made);
        },
      });
    } catch (error) {
      this.#connecting--;
      this.#next();
      if (error instanceof SqlError || error instanceof HaumeaError) throw error;
      throw new SqlError('away', reasonOf(error), { cause: error });
    }
    this.#connecting--;
    if (this.#isClosed) {
      made.destroy();
      throw sqlClientErrors.closed();
    }
    this.#busy.add(made);
    return made;
  }

  /** Resolves with a connection, or with none when one is to be made, which is counted already. */
  #wait(signal: AbortSignal | undefined): Promise<SqlConnection | undefined> {
    return new Promise((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', leave);
      };
      const waiting: Waiting = {
        give: (connection) => {
          settle();
          resolve(connection);
        },
        fail: (error) => {
          settle();
          reject(error);
        },
      };
      const end = (error: Error) => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        waiting.fail(error);
      };
      const leave = () => end(sqlClientErrors.closed());
      const timer = setTimeout(() => end(sqlClientErrors.noAnswer(this.#timeoutMs)), this.#timeoutMs);
      signal?.addEventListener('abort', leave, { once: true });
      this.#waiting.push(waiting);
    });
  }

  #giveBack(connection: SqlConnection): void {
    if (!this.#busy.has(connection)) return;
    const next = this.#waiting.shift();
    if (next !== undefined) {
      next.give(connection);
      return;
    }
    this.#busy.delete(connection);
    this.#idle.push(connection);
  }

  #drop(connection: SqlConnection): void {
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    const wasBusy = this.#busy.delete(connection);
    connection.destroy();
    if (wasBusy) this.#next();
  }

  /** Lets who waits longest make a connection. */
  #next(): void {
    const next = this.#waiting.shift();
    if (next === undefined) return;
    // Nobody else takes its place before it goes on.
    this.#connecting++;
    next.give(undefined);
  }
}

/** Connects once and asks a question; throws the reason when there is no answer. */
export async function pingDatabase(conf: DatabaseConf): Promise<void> {
  const database = new SqlDatabases().take(conf);
  try {
    await database.use((connection) => connection.run('SELECT 1'));
  } catch (error) {
    if (error instanceof HaumeaError) throw error;
    throw sqlClientErrors.connection(reasonOf(error), { cause: error });
  } finally {
    database.giveBack();
  }
}
