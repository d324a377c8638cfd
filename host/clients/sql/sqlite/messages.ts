/** What goes between a connection to a SQLite file and the thread that has the file open. */
import type { SqlParam, SqlRows, TableColumn } from '../driver.js';
import type { SqlFailure } from '../errors.js';

export type ToFile =
  | { readonly do: 'run' | 'read'; readonly text: string; readonly params: readonly SqlParam[] }
  /** The next rows of what was read. */
  | { readonly do: 'more' }
  | { readonly do: 'columns'; readonly table: string };

export interface Failure {
  readonly failure: SqlFailure;
  readonly reason: string;
}

export type FromFile =
  | { readonly rows: SqlRows; readonly isLast: boolean }
  | { readonly columns: TableColumn[] }
  | Failure;

export interface FileSettings {
  /** Absolute path. */
  readonly path: string;
  /** Longest wait for others that use the file, ms. */
  readonly waitMs: number;
}
