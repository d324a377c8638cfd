/** Looks rows up by their keys: those of a batch are asked for together. */
import type { LookupAnswer } from '../../../kernels/api.js';
import { Instant, type Value } from '../../../kernels/values/value.js';
import { reasonOf } from '../../base/errors.js';
import { writeExactJson } from '../../base/text/exact-json.js';
import type { SharedDatabase } from '../../clients/sql/database.js';
import { type Dialect, dialects } from '../../clients/sql/dialect.js';
import type { SqlConnection, SqlParam, SqlRows } from '../../clients/sql/driver.js';
import { isRefusal } from '../../clients/sql/errors.js';
import { answerFrom } from '../rows-by-key.js';
import type { Lookup, LookupContext, LookupRequest } from '../running.js';
import { cellValue } from './cells.js';
import { TableColumns } from './columns.js';
import { checkFile } from './file.js';
import { type SqlConf, takeDatabase } from './settings.js';
import { TemplateQuery } from './template-query.js';

export interface SqlLookupConf extends SqlConf {
  templateSqlQueryCfg: { templateSql: string | undefined };
}

type Row = Readonly<Record<string, Value>>;

/** Most keys of a query. */
const mostKeys = 500;

export class SqlLookup implements Lookup {
  readonly #database: SharedDatabase;
  readonly #dialect: Dialect;
  readonly #table: TableColumns;
  readonly #template: TemplateQuery | undefined;

  constructor(conf: SqlLookupConf, context: LookupContext) {
    const { dataSource, paths } = context;
    checkFile(conf.dburl, paths, 'read');
    this.#database = takeDatabase(conf, context);
    this.#dialect = dialects[this.#database.address.kind];
    this.#table = new TableColumns(this.#dialect, dataSource);
    const { templateSql = '' } = conf.templateSqlQueryCfg;
    this.#template = templateSql === '' ? undefined : new TemplateQuery(templateSql, this.#dialect);
  }

  ask(request: LookupRequest, signal: AbortSignal): Promise<LookupAnswer> {
    return this.#database.use(async (connection) => {
      try {
        if (this.#template !== undefined) return await this.#each(connection, request);
        return await this.#together(connection, request);
      } catch (error) {
        this.#table.forget();
        throw error;
      }
    }, signal);
  }

  async close(): Promise<void> {
    this.#database.giveBack();
  }

  async #together(connection: SqlConnection, request: LookupRequest): Promise<LookupAnswer> {
    const { names, fields, count } = request;
    await this.#table.look(connection, [...names, ...(fields ?? [])]);
    let rows: Row[] = [];
    try {
      const perQuery = Math.min(mostKeys, Math.floor(this.#dialect.maxParams / names.length));
      for (let from = 0; from < count; from += perQuery) {
        rows = rows.concat(await this.#rows(connection, request, from, Math.min(count, from + perQuery)));
      }
    } catch (error) {
      // One key that the table can't compare with takes all others with it.
      if (!isRefusal(error) || count === 1) throw error;
      return this.#each(connection, request);
    }
    const answer = answerFrom(rows, request);
    // The database takes more values for equal than we do, such as texts in another letter case.
    return answer.of.length === rows.length ? answer : this.#each(connection, request);
  }

  /** Asks for each key by itself. */
  async #each(connection: SqlConnection, request: LookupRequest): Promise<LookupAnswer> {
    const of: number[] = [];
    const all: Row[] = [];
    const failed = new Map<number, string>();
    for (let i = 0; i < request.count; i++) {
      try {
        const rows = await this.#rows(connection, request, i, i + 1);
        of.push(...rows.map(() => i));
        all.push(...rows);
      } catch (error) {
        if (!isRefusal(error)) throw error;
        failed.set(i, reasonOf(error));
      }
    }
    const read = request.fields ?? [...new Set(all.flatMap((row) => Object.keys(row)))];
    return { of, columns: Object.fromEntries(read.map((name) => [name, all.map((row) => row[name])])), failed };
  }

  /** The rows of the keys from one index to another. */
  async #rows(connection: SqlConnection, request: LookupRequest, from: number, to: number): Promise<Row[]> {
    const { names, keys, fields } = request;
    if (this.#template !== undefined) {
      const values = names.map((name, k) => [name, paramOf(keys[k]?.[from])] as const);
      const { text, params } = this.#template.with(new Map(values));
      return rowsOf(await connection.run(text, params));
    }
    const params: SqlParam[] = [];
    const place = (k: number, i: number) => {
      params.push(paramOf(keys[k]?.[i]));
      return this.#dialect.place(params.length);
    };
    const range = Array.from({ length: to - from }, (_, i) => from + i);
    const [single] = names;
    const condition =
      names.length === 1
        ? `${this.#column(single as string)} IN (${range.map((i) => place(0, i)).join(', ')})`
        : range
            .map((i) => `(${names.map((name, k) => `${this.#column(name)} = ${place(k, i)}`).join(' AND ')})`)
            .join(' OR ');
    const what = fields === null ? '*' : this.#selected([...new Set([...names, ...fields])]);
    const text = this.#dialect.select(what, this.#table.table, ` WHERE ${condition}`, 0);
    return rowsOf(await connection.run(text, params));
  }

  #column(name: string): string {
    return this.#dialect.quote(this.#table.find(name)?.name ?? name);
  }

  /** Columns under the names that are asked for, in whatever letter case the table has them. */
  #selected(names: readonly string[]): string {
    return names.map((name) => `${this.#column(name)} AS ${this.#dialect.quote(name)}`).join(', ');
  }
}

function rowsOf({ columns, rows }: SqlRows): Row[] {
  return rows.map((row) =>
    Object.fromEntries(columns.map(({ name, kind }, i) => [name, cellValue(row[i] ?? null, kind)])),
  );
}

/** What a value of a row is compared as. */
function paramOf(value: Value): SqlParam {
  if (value === undefined || value === null) return null;
  if (value instanceof Instant) return new Date(Number(value.nanos / 1_000_000n)).toISOString();
  if (typeof value !== 'object' || value instanceof Uint8Array) return value;
  return writeExactJson(value);
}
