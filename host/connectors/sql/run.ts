/** Rows that are written together, and the statements that do it. */
import type { SqlParam, TableColumn } from '../../clients/sql/driver.js';
import type { RowKind, SqlRow } from './rows.js';

export interface Statement {
  readonly text: string;
  readonly params: readonly SqlParam[];
}

/** A member and the column that takes it. */
export interface Target {
  readonly member: string;
  readonly column: TableColumn;
}

/** Rows that go into the same columns in the same way. */
export interface Run {
  readonly kind: RowKind;
  readonly targets: readonly Target[];
  /** Where `update`, `upsert` and `delete` find rows; undefined for `insert`. */
  readonly key: Target | undefined;
  readonly rows: readonly SqlRow[];
}
