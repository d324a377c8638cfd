/** Asks a table again and again for new rows. While the sinks are full nothing is asked, and no row is read. */
import { HaumeaError, reasonOf } from '../../base/errors.js';
import { systemClock, type Timer } from '../../base/time/clock.js';
import { sqlPeer } from '../../clients/sql/address.js';
import type { SharedDatabase } from '../../clients/sql/database.js';
import { type Dialect, dialects } from '../../clients/sql/dialect.js';
import type { SqlConnection, SqlParam, SqlRows } from '../../clients/sql/driver.js';
import { isRefusal } from '../../clients/sql/errors.js';
import { FrameBuffer } from '../messages/frames.js';
import type { Source, SourceContext } from '../running.js';
import { cellJson } from './cells.js';
import { TableColumns } from './columns.js';
import { sqlErrors } from './errors.js';
import { checkFile } from './file.js';
import { IndexValues } from './index-values.js';
import type { SourceQueryConf } from './query-props.js';
import { type SqlConf, takeDatabase } from './settings.js';
import { tableQuery } from './table-query.js';
import { type Query, TemplateQuery } from './template-query.js';

export interface SqlSourceConf extends SqlConf, SourceQueryConf {
  /** ms */
  interval: number;
}

/** A limit up to which the rows of a query are read at once. */
const fewRows = 1000;

export class SqlSource implements Source {
  readonly peer: string;
  readonly position?: () => unknown;
  readonly seek?: (position: unknown) => void;
  #database: SharedDatabase;
  /** The database with the renewed login, used from the next call of `open` on. */
  #renewed: SharedDatabase | undefined;
  readonly #dialect: Dialect;
  readonly #index: IndexValues;
  readonly #template: TemplateQuery | undefined;
  readonly #table: TableColumns;
  readonly #limit: number;
  readonly #frames = new FrameBuffer();
  #timer: Timer | undefined;
  #isClosed = false;
  /** A query under way when it closes is given up. */
  readonly #ending = new AbortController();

  constructor(
    readonly conf: SqlSourceConf,
    readonly context: SourceContext,
  ) {
    const { internalSqlQueryCfg: internal, templateSqlQueryCfg: template, dburl } = conf;
    checkFile(dburl, context.paths, 'read');
    this.#database = takeDatabase(conf, context, true);
    this.#dialect = dialects[this.#database.address.kind];
    this.peer = sqlPeer(dburl);
    const { templateSql = '' } = template;
    this.#template = templateSql === '' ? undefined : new TemplateQuery(templateSql, this.#dialect);
    this.#index = new IndexValues(this.#template === undefined ? internal : template);
    const unknown = this.#template?.names.find((name) => !this.#index.fields.some((field) => field.name === name));
    if (unknown !== undefined) throw sqlErrors.noIndex(unknown);
    this.#table = new TableColumns(this.#dialect, internal.table || context.dataSource);
    this.#limit = internal.limit ?? 0;
    if (this.#index.fields.length === 0) return;
    this.position = () => this.#index.position;
    this.seek = (position) => this.#index.seek(position as never);
  }

  renew(conf: SqlSourceConf): void {
    this.#renewed?.giveBack();
    this.#renewed = takeDatabase(conf, this.context, true);
  }

  async open(): Promise<void> {
    if (this.#renewed !== undefined) {
      this.#database.giveBack();
      this.#database = this.#renewed;
      this.#renewed = undefined;
    }
    await this.#poll();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.close();
    this.#ending.abort();
    this.#renewed?.giveBack();
    this.#database.giveBack();
  }

  /** Asks once and says when to ask again; throws when the database is away. */
  async #poll(): Promise<void> {
    try {
      if (!this.context.isFull) await this.#read();
    } catch (error) {
      if (this.#isClosed) return;
      if (error instanceof HaumeaError && error.kind === 'config') throw error;
      this.#table.forget();
      this.context.sendError(reasonOf(error));
      if (!isRefusal(error)) throw sqlErrors.away(reasonOf(error), { cause: error });
      this.context.exception(reasonOf(error));
    }
    if (!this.#isClosed) this.#timer = systemClock.after(this.conf.interval, () => void this.#again());
  }

  async #again(): Promise<void> {
    if (this.context.isFull) await this.context.ready();
    if (this.#isClosed) return;
    await this.#poll().catch((error: unknown) => this.context.disconnected(reasonOf(error)));
  }

  async #read(): Promise<void> {
    const pieces: SqlRows[] = [];
    await this.#database.use(async (connection) => {
      const { text, params } = await this.#query(connection);
      const isSmall = this.#template === undefined && this.#limit > 0 && this.#limit <= fewRows;
      // The only connection to a file is given back before anything waits for a sink, which may write to that file.
      const isAlone = this.#dialect.kind === 'sqlite';
      if (isSmall) pieces.push(await connection.run(text, params));
      else if (isAlone) await connection.pieces(text, params, async (rows) => void pieces.push(rows));
      else await connection.pieces(text, params, (rows) => this.#take(rows));
    }, this.#ending.signal);
    for (const rows of pieces) await this.#take(rows);
  }

  async #query(connection: SqlConnection): Promise<Query> {
    if (this.#template !== undefined) {
      const values = this.#index.fields.map(({ name, value }) => [name, value ?? null] as [string, SqlParam]);
      return this.#template.with(new Map(values));
    }
    if (this.#index.fields.length > 0)
      await this.#table.look(
        connection,
        this.#index.fields.map(({ name }) => name),
      );
    return tableQuery(this.#dialect, this.#table, this.#index, this.#limit);
  }

  /** Writes rows and goes on behind them; waits until more are wanted. */
  async #take({ columns, rows }: SqlRows): Promise<void> {
    const last = rows.at(-1);
    if (this.#isClosed || last === undefined) return;
    const names = columns.map(({ name }, i) => `${i === 0 ? '{' : ','}${JSON.stringify(name)}:`);
    for (const row of rows) {
      const members = columns.map(({ kind }, i) => names[i] + cellJson(row[i] ?? null, kind));
      this.#frames.add(Buffer.from(`${members.join('')}}`));
    }
    const isWanted = this.context.write(this.#frames.bytes);
    this.#frames.clear();
    this.#index.take(columns, last);
    if (!isWanted) await this.context.ready();
  }
}
