/** What connections to databases have in common, whatever the library. */
import type { SqlAddress } from './address.js';
import type { SqlSecurity } from './tls.js';

export type SqlParam = null | boolean | number | bigint | string | Uint8Array;

/** What the cells of a column are; `any`: each cell is what its JavaScript type says. */
export type CellKind = 'int' | 'float' | 'decimal' | 'bool' | 'text' | 'time' | 'bytes' | 'json' | 'any';

/** Numbers that a double can't hold, decimals, times and JSON are texts. */
export type Cell = null | boolean | number | bigint | string | Uint8Array;

export interface SqlColumn {
  readonly name: string;
  readonly kind: CellKind;
}

export interface SqlRows {
  readonly columns: readonly SqlColumn[];
  readonly rows: readonly (readonly Cell[])[];
  /** Rows that a statement without columns has changed. */
  readonly changed: number;
}

/** A column of a table, with its type as the database writes it. */
export interface TableColumn {
  readonly name: string;
  readonly type: string;
}

/** One connection; statements run one after the other. */
export interface SqlConnection {
  /** Runs one statement; throws `SqlError`. */
  run(text: string, params?: readonly SqlParam[]): Promise<SqlRows>;
  /**
   * Runs a query and gives its rows in pieces; the next piece is read when `take` has resolved. Throws `SqlError`, and
   * what `take` throws.
   */
  pieces(text: string, params: readonly SqlParam[], take: (rows: SqlRows) => Promise<void>): Promise<void>;
  /** Columns of a table, whose name is written as in a statement; throws `SqlError`. */
  columns(table: string): Promise<TableColumn[]>;
  /** Ends it at once, whatever it does; what is under way fails. */
  destroy(): void;
}

export interface ConnectOptions {
  readonly address: SqlAddress;
  /** Longest wait for the server, ms. */
  readonly timeoutMs: number;
  /** Certificates that properties name; left out where they can name none. */
  readonly security?: SqlSecurity | undefined;
  /** Called when the connection is lost without a statement under way. */
  readonly lost: () => void;
}

export interface Driver {
  /** Most connections that are open at once, where no setting says it. */
  readonly maxConnections: number;
  /** Throws `SqlError` with the reason. */
  connect(options: ConnectOptions): Promise<SqlConnection>;
}

/** Rows of a piece. */
export const pieceRows = 1000;
