/** How the kinds of databases write SQL. */
import type { SqlKind } from './address.js';

export interface Dialect {
  readonly kind: SqlKind;
  /** A name exactly as it is. */
  quote(name: string): string;
  /** The placeholder of parameter `i`, from 1. */
  place(i: number): string;
  readonly begin: string;
  readonly rollback: string;
  /** Sets a point to go back to; undoes all behind it; forgets it, where that is possible. */
  readonly savepoint: { readonly set: string; readonly undo: string; readonly forget: string | undefined };
  /** Most parameters of a statement. */
  readonly maxParams: number;
  /** A query of a table; `rest` is condition and order, 0 rows are all. */
  select(what: string, table: string, rest: string, limit: number): string;
}

const quoted = (quote: string) => (name: string) => {
  const text = name.replaceAll('\0', '');
  return `${quote}${text.replaceAll(quote, quote + quote)}${quote}`;
};

const limited = (what: string, table: string, rest: string, limit: number): string =>
  `SELECT ${what} FROM ${table}${rest}${limit === 0 ? '' : ` LIMIT ${limit}`}`;

const savepoint = {
  set: 'SAVEPOINT haumea',
  undo: 'ROLLBACK TO SAVEPOINT haumea',
  forget: 'RELEASE SAVEPOINT haumea',
};

export const dialects: Readonly<Record<SqlKind, Dialect>> = {
  postgres: {
    kind: 'postgres',
    quote: quoted('"'),
    place: (i) => `$${i}`,
    begin: 'BEGIN',
    rollback: 'ROLLBACK',
    savepoint,
    maxParams: 65_535,
    select: limited,
  },
  mysql: {
    kind: 'mysql',
    quote: quoted('`'),
    place: () => '?',
    begin: 'START TRANSACTION',
    rollback: 'ROLLBACK',
    savepoint,
    maxParams: 65_535,
    select: limited,
  },
  sqlite: {
    kind: 'sqlite',
    quote: quoted('"'),
    place: () => '?',
    begin: 'BEGIN IMMEDIATE',
    rollback: 'ROLLBACK',
    savepoint,
    maxParams: 32_766,
    select: limited,
  },
  sqlserver: {
    kind: 'sqlserver',
    quote: (name) => `[${name.replaceAll('\0', '').replaceAll(']', ']]')}]`,
    place: (i) => `@p${i}`,
    begin: 'BEGIN TRANSACTION',
    // Some errors end the transaction themselves.
    rollback: 'IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION',
    savepoint: {
      set: 'SAVE TRANSACTION haumea',
      undo: 'ROLLBACK TRANSACTION haumea',
      forget: undefined,
    },
    maxParams: 2000,
    select: (what, table, rest, limit) => `SELECT ${limit === 0 ? '' : `TOP ${limit} `}${what} FROM ${table}${rest}`,
  },
};

/**
 * The name of a table as users write it, with parts such as a schema: names that are plain words are compared as the
 * database does it, quoted ones and all others are taken as they are.
 */
export function tableText(dialect: Dialect, name: string): string {
  return partsOf(name)
    .map(({ text, isQuoted }) => dialect.quote(isQuoted ? text : folded(dialect, text)))
    .join('.');
}

/** PostgreSQL compares plain words in lower case. */
function folded({ kind }: Dialect, name: string): string {
  return kind === 'postgres' && /^[A-Za-z_][\w$]*$/.test(name) ? name.toLowerCase() : name;
}

function partsOf(name: string): { text: string; isQuoted: boolean }[] {
  const parts = [...name.matchAll(/"((?:[^"]|"")+)"|`((?:[^`]|``)+)`|\[((?:[^\]]|\]\])+)\]|([^."`[\]]+)|\./g)];
  const isWhole = parts.map(([text]) => text).join('') === name;
  const words = parts.filter(([text]) => text !== '.');
  // What is no list of parts is one name, however odd.
  if (!isWhole || words.length === 0 || parts.length !== words.length * 2 - 1) return [{ text: name, isQuoted: true }];
  return words.map(([, double, back, square, plain]) => ({
    text:
      double?.replaceAll('""', '"') ?? back?.replaceAll('``', '`') ?? square?.replaceAll(']]', ']') ?? String(plain),
    isQuoted: plain === undefined,
  }));
}
