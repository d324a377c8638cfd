/** The columns that a table has, by the names that rows have for them. */
import { type Dialect, tableText } from '../../clients/sql/dialect.js';
import type { SqlConnection, TableColumn } from '../../clients/sql/driver.js';

/** Time after which columns that are missing are looked for again, ms. */
const againMs = 1000;

export class TableColumns {
  /** Name of the table as statements write it. */
  readonly table: string;
  #columns: ReadonlyMap<string, TableColumn> | undefined;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(dialect: Dialect, name: string) {
    this.table = tableText(dialect, name);
  }

  /** Reads the columns unless they are known; throws `SqlError`. */
  async read(connection: SqlConnection): Promise<void> {
    if (this.#columns === undefined) await this.#read(connection);
  }

  /** Reads them again when one of the names is missing: the table may have been changed. */
  async look(connection: SqlConnection, names: Iterable<string>): Promise<void> {
    await this.read(connection);
    for (const name of names) {
      if (this.find(name) === undefined) return void (await this.readAgain(connection));
    }
  }

  /** Reads them again, unless that was done just now; says whether it did. */
  async readAgain(connection: SqlConnection): Promise<boolean> {
    if (performance.now() - this.#readAt < againMs) return false;
    await this.#read(connection);
    return true;
  }

  /** The column of that name: the exact one before one in other letter case. */
  find(name: string): TableColumn | undefined {
    return this.#columns?.get(name) ?? this.#columns?.get(name.toLowerCase());
  }

  /** Forgets what it knows, since a statement has failed. */
  forget(): void {
    this.#columns = undefined;
  }

  async #read(connection: SqlConnection): Promise<void> {
    const columns = await connection.columns(this.table);
    this.#readAt = performance.now();
    const byName = new Map(columns.map((column) => [column.name, column]));
    for (const column of columns) {
      const lower = column.name.toLowerCase();
      if (!byName.has(lower)) byName.set(lower, column);
    }
    this.#columns = byName;
  }
}
