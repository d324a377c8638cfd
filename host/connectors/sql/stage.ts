/**
 * Output that waits for its checkpoint, in a table of the same database (`haumea_output`): each batch is a row of it,
 * as JSON. When the checkpoint counts, the rows of a batch are written and the batch is deleted in one transaction. So
 * they are in the table once, whoever is killed when.
 */
import { randomUUID } from 'node:crypto';
import type { Dialect } from '../../clients/sql/dialect.js';
import type { SqlConnection } from '../../clients/sql/driver.js';
import { RowReader, type SqlRow } from './rows.js';
import type { RowWriter } from './writer.js';

/** Position behind a transaction, by its number within a run of the sink. */
export interface StagePosition {
  readonly session: string;
  readonly cut: number;
}

const stageTable = 'haumea_output';

const textTypes: Readonly<Record<string, string>> = { mysql: 'LONGTEXT', sqlserver: 'NVARCHAR(MAX)' };

export class Stage {
  /** Name of this run: what an earlier one has left is told apart, however late it comes. */
  readonly #session = randomUUID();
  /** Number of the transaction under way. */
  cut = 1;
  /** Number of the last batch. */
  #part = 0;
  /** Position of the checkpoint that the rule goes on from. */
  #kept: StagePosition | undefined;
  /** Last transaction that is released, and last that is written as well. */
  #released = 0;
  #written = 0;
  #isOpen = false;

  /** @param failed takes a row that the table has refused, as its JSON, and why */
  constructor(
    readonly name: string,
    readonly writer: RowWriter,
    readonly failed: (row: string, reason: string) => void,
  ) {}

  /** Makes the table and, at first, writes what the checkpoint has and deletes all else. */
  async open(connection: SqlConnection): Promise<void> {
    if (this.#isOpen) return void (await connection.run('SELECT 1'));
    await this.#makeTable(connection);
    const { session, cut } = this.#kept ?? { session: '', cut: 0 };
    const text = `DELETE FROM ${stageTable} WHERE sink = $ AND NOT (session = $ AND cut <= $)`;
    await connection.run(placed(this.#dialect, text), [this.name, session, cut]);
    while (await this.#releaseOne(connection, session, cut));
    this.#isOpen = true;
  }

  /** The transaction under way ends here; returns the position behind it. */
  next(): StagePosition {
    return { session: this.#session, cut: this.cut++ };
  }

  keep(position: StagePosition): void {
    this.#kept = position;
  }

  /** The checkpoint with the position counts. */
  release(position: StagePosition): void {
    if (position.session === this.#session) this.#released = Math.max(this.#released, position.cut);
  }

  get isReleasing(): boolean {
    return this.#released > this.#written;
  }

  /** Whether a transaction is released; there need be none. */
  isReleased(cut: number | undefined): boolean {
    return cut !== undefined && cut <= this.#released;
  }

  /** Writes all rows that are released. */
  async releaseAll(connection: SqlConnection): Promise<void> {
    const upTo = this.#released;
    while (await this.#releaseOne(connection, this.#session, upTo));
    this.#written = upTo;
  }

  /** Adds a batch to a transaction; the same batch may come again when the answer was lost. */
  async add(connection: SqlConnection, cut: number, rows: readonly SqlRow[]): Promise<void> {
    const key = [this.name, this.#session, cut, this.#part + 1] as const;
    const text = `[${rows.map((row) => row.text).join(',')}]`;
    const { kind } = this.#dialect;
    const where = 'WHERE sink = $ AND session = $ AND cut = $ AND part = $';
    const select = kind === 'mysql' ? 'SELECT $, $, $, $, $ FROM DUAL' : 'SELECT $, $, $, $, $';
    const insert = `INSERT INTO ${stageTable} (sink, session, cut, part, batch) ${typed(this.#dialect, select)}`;
    const once = `${insert} WHERE NOT EXISTS (SELECT 1 FROM ${stageTable} ${where})`;
    await connection.run(placed(this.#dialect, once), [...key, text, ...key]);
    this.#part++;
  }

  get #dialect(): Dialect {
    return this.writer.dialect;
  }

  /** Writes one batch up to the transaction; false when there is none. */
  async #releaseOne(connection: SqlConnection, session: string, cut: number): Promise<boolean> {
    const { select } = this.#dialect;
    const of = ' WHERE sink = $ AND session = $ AND cut <= $ ORDER BY cut, part';
    const query = placed(this.#dialect, select('cut, part, batch', stageTable, of, 1));
    const { rows } = await connection.run(query, [this.name, session, cut]);
    const batch = rows[0];
    if (batch === undefined) return false;
    const key = [this.name, session, Number(batch[0]), Number(batch[1])];
    const refused = new Map<SqlRow, string>();
    await this.writer.transaction(connection, async () => {
      const text = `DELETE FROM ${stageTable} WHERE sink = $ AND session = $ AND cut = $ AND part = $`;
      const { changed } = await connection.run(placed(this.#dialect, text), key);
      // Somebody else has written it meanwhile.
      if (changed === 0) return;
      const all = new RowReader(this.writer.form).read(String(batch[2]), () => {});
      await this.writer.writeWithin(connection, all, (row, reason) => refused.set(row, reason));
    });
    for (const [row, reason] of refused) this.failed(row.text, reason);
    return true;
  }

  async #makeTable(connection: SqlConnection): Promise<void> {
    const { kind } = this.#dialect;
    const text = textTypes[kind] ?? 'TEXT';
    const create =
      `CREATE TABLE IF NOT EXISTS ${stageTable} (sink VARCHAR(190) NOT NULL, session VARCHAR(40) NOT NULL, ` +
      `cut BIGINT NOT NULL, part BIGINT NOT NULL, batch ${text} NOT NULL, PRIMARY KEY (sink, session, cut, part))`;
    await connection.run(create);
  }
}

/** Puts the placeholders of the database in the place of `$`. */
function placed(dialect: Dialect, text: string): string {
  let i = 0;
  return text.replace(/\$/g, () => dialect.place(++i));
}

/** PostgreSQL has to know the types of what is selected. */
function typed({ kind }: Dialect, select: string): string {
  if (kind !== 'postgres') return select;
  const types = ['varchar', 'varchar', 'bigint', 'bigint', 'text'];
  let i = 0;
  return select.replace(/\$/g, () => `$::${types[i++]}`);
}
