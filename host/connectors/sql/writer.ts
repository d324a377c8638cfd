/**
 * Writes rows of a batch in one transaction. What the table refuses does not take the rest with it: a batch that fails
 * is undone and written in halves.
 */
import { reasonOf } from '../../base/errors.js';
import type { Dialect } from '../../clients/sql/dialect.js';
import type { SqlConnection } from '../../clients/sql/driver.js';
import { isRefusal } from '../../clients/sql/errors.js';
import type { TableColumns } from './columns.js';
import { sqlErrors } from './errors.js';
import { isSameList, type RowForm, type SqlRow } from './rows.js';
import type { Run, Statement } from './run.js';
import { statementsOf } from './statements.js';

/** Takes a row that was not written, and why. */
export type Refused = (row: SqlRow, reason: string) => void;

export class RowWriter {
  constructor(
    readonly dialect: Dialect,
    readonly table: TableColumns,
    readonly form: RowForm,
  ) {}

  /** Writes all rows but the refused ones in a transaction. Throws what a database that is away or busy says. */
  async write(connection: SqlConnection, rows: readonly SqlRow[], refused: Refused): Promise<void> {
    const statements = await this.#prepare(connection, rows, refused);
    if (statements === undefined || statements.length === 0) return;
    try {
      if (statements.length === 1) await run(connection, statements);
      else await this.transaction(connection, () => run(connection, statements));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (this.#isOver(rows, error, refused)) return;
      // Some constraints are looked at when the transaction ends: each half has one of its own.
      try {
        await this.transaction(connection, () => this.writeWithin(connection, rows, refused, true));
      } catch (later) {
        if (!isRefusal(later)) throw later;
        for (const half of halves(rows)) await this.write(connection, half, refused);
      }
    }
  }

  /** Writes the rows within a transaction that is under way. */
  async writeWithin(
    connection: SqlConnection,
    rows: readonly SqlRow[],
    refused: Refused,
    hasFailed = false,
  ): Promise<void> {
    if (!hasFailed) {
      const { set, undo, forget } = this.dialect.savepoint;
      await connection.run(set);
      let failure: unknown;
      try {
        const statements = await this.#prepare(connection, rows, refused);
        await run(connection, statements ?? []);
      } catch (error) {
        if (!isRefusal(error)) throw error;
        await connection.run(undo);
        failure = error;
      }
      if (forget !== undefined) await connection.run(forget);
      if (failure === undefined || this.#isOver(rows, failure, refused)) return;
    }
    for (const half of halves(rows)) await this.writeWithin(connection, half, refused);
  }

  /** Does work in a transaction; undoes it when the work fails. */
  async transaction(connection: SqlConnection, work: () => Promise<void>): Promise<void> {
    await connection.run(this.dialect.begin);
    try {
      await work();
      await connection.run('COMMIT');
    } catch (error) {
      // The connection is given up when that fails, and the database undoes it.
      await connection.run(this.dialect.rollback).catch(() => connection.destroy());
      throw error;
    }
  }

  /** True when there is nothing left to try for the rows. */
  #isOver(rows: readonly SqlRow[], error: unknown, refused: Refused): boolean {
    const isForAll = isRefusal(error) && error.failure === 'refusedAll';
    if (isForAll) this.table.forget();
    if (!isForAll && rows.length > 1) return false;
    for (const row of rows) refused(row, reasonOf(error));
    return true;
  }

  /** Makes the statements; undefined when no row can be written. */
  async #prepare(
    connection: SqlConnection,
    rows: readonly SqlRow[],
    refused: Refused,
  ): Promise<Statement[] | undefined> {
    const unwritten: [SqlRow, string][] = [];
    const runs = () => this.#runs(rows, (row, reason) => unwritten.push([row, reason]));
    let made: Run[];
    try {
      await this.table.read(connection);
      made = runs();
      // The table may have got a column meanwhile.
      if (unwritten.length > 0 && (await this.table.readAgain(connection))) {
        unwritten.length = 0;
        made = runs();
      }
    } catch (error) {
      if (!isRefusal(error)) throw error;
      for (const row of rows) refused(row, reasonOf(error));
      return undefined;
    }
    for (const [row, reason] of unwritten) refused(row, reason);
    return made.flatMap((one) => statementsOf(this.dialect, this.table.table, one));
  }

  /** Rows that follow each other and go into the same columns, in their order. */
  #runs(rows: readonly SqlRow[], refused: Refused): Run[] {
    const runs: (Run & { rows: SqlRow[] })[] = [];
    let last: SqlRow | undefined;
    for (const row of rows) {
      if (last !== undefined && row.kind === last.kind && isSameList(row.names, last.names)) {
        runs.at(-1)!.rows.push(row);
        continue;
      }
      try {
        runs.push({ ...this.#columnsOf(row), kind: row.kind, rows: [row] });
        last = row;
      } catch (error) {
        refused(row, reasonOf(error));
      }
    }
    return runs;
  }

  #columnsOf({ kind, names }: SqlRow): Pick<Run, 'targets' | 'key'> {
    const { rowkindField, keyField, fields } = this.form;
    const targets = names.flatMap((member) => {
      const column = this.table.find(member);
      if (column !== undefined) return { member, column };
      // The kind of change is written where the table has a column for it.
      if (member === rowkindField && fields === undefined) return [];
      throw sqlErrors.noColumn(this.table.table, member);
    });
    if (targets.length === 0) throw sqlErrors.noMembers();
    if (kind === 'insert') return { targets, key: undefined };
    const column = this.table.find(keyField);
    if (column === undefined) throw sqlErrors.noColumn(this.table.table, keyField);
    const key = { member: keyField, column };
    const hasKey = targets.some((target) => target.column.name === column.name);
    return { targets: kind === 'upsert' && !hasKey ? [key, ...targets] : targets, key };
  }
}

async function run(connection: SqlConnection, statements: readonly Statement[]): Promise<void> {
  for (const { text, params } of statements) await connection.run(text, params);
}

function halves<T>(items: readonly T[]): (readonly T[])[] {
  const middle = Math.ceil(items.length / 2);
  return middle === items.length ? [items] : [items.slice(0, middle), items.slice(middle)];
}
