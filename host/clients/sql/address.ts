/** Addresses of databases: `mysql://user:password@host:3306/name?charset=utf8mb4`. */
import { isAbsolute } from 'node:path';

export type SqlKind = 'postgres' | 'mysql' | 'sqlite' | 'sqlserver';

export interface SqlAddress {
  readonly kind: SqlKind;
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** Parameters behind the `?`; names in lower case. */
  readonly options: ReadonlyMap<string, string>;
}

const kinds: Readonly<Record<string, SqlKind>> = {
  postgres: 'postgres',
  postgresql: 'postgres',
  pgsql: 'postgres',
  pg: 'postgres',
  mysql: 'mysql',
  mariadb: 'mysql',
  maria: 'mysql',
  my: 'mysql',
  sqlite: 'sqlite',
  sqlite3: 'sqlite',
  sq: 'sqlite',
  file: 'sqlite',
  sqlserver: 'sqlserver',
  mssql: 'sqlserver',
  ms: 'sqlserver',
  azuresql: 'sqlserver',
};

const ports: Readonly<Record<SqlKind, number>> = { postgres: 5432, mysql: 3306, sqlserver: 1433, sqlite: 0 };

/** Parameters of other programs that name files, and the properties for them. */
const fileProperties: Readonly<Record<string, string>> = {
  sslrootcert: 'rootCaPath',
  sslcert: 'certificationPath',
  sslkey: 'privateKeyPath',
};

const expected = 'expected postgres://, mysql://, sqlserver:// or sqlite:';

/** Why the text is no address of a database that can be used; undefined when it is one. */
export function sqlAddressReason(url: string): string | undefined {
  const scheme = schemeOf(url);
  if (scheme === undefined) return `has no scheme, ${expected}`;
  if (/^(oracle|or|ora|oci8?|odpi-?c|godror)$/.test(scheme)) return 'names an Oracle database, which is not supported';
  const kind = kinds[scheme];
  if (kind === undefined) return `has the scheme ${scheme}, ${expected}`;
  if (kind === 'sqlite') return pathIn(url) === '' ? 'names no file' : undefined;
  const parsed = parsedUrl(url);
  if (parsed === undefined || parsed.hostname === '') return `must be an address such as ${scheme}://host/name`;
  const file = [...parsed.searchParams.keys()].find((name) => fileProperties[name.toLowerCase()] !== undefined);
  return file === undefined
    ? undefined
    : `has the parameter ${file}: the file goes into the property ${fileProperties[file.toLowerCase()]}`;
}

/** Reads an address that `sqlAddressReason` finds nothing wrong with. */
export function sqlAddress(url: string): SqlAddress {
  const kind = kinds[schemeOf(url) ?? ''] ?? 'sqlite';
  if (kind === 'sqlite') {
    return { kind, host: '', port: 0, user: '', password: '', database: pathIn(url), options: new Map() };
  }
  const { hostname, port, username, password, pathname, searchParams } = parsedUrl(url) as URL;
  const path = decodeURIComponent(pathname.slice(1));
  const options = new Map([...searchParams].map(([name, value]) => [name.toLowerCase(), value]));
  // The path of a SQL Server names its instance where a parameter names the database.
  const database = kind === 'sqlserver' ? (options.get('database') ?? path) : path;
  return {
    kind,
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? ports[kind] : Number(port),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database,
    options,
  };
}

/** Path of the file of a SQLite database; undefined for a server. */
export function sqliteFile(url: string): string | undefined {
  return kinds[schemeOf(url) ?? ''] === 'sqlite' ? pathIn(url) : undefined;
}

/** Name of the server or the file, without secrets. */
export function sqlPeer(url: string): string {
  const { kind, host, port, database } = sqlAddress(url);
  return kind === 'sqlite' ? `sqlite ${database}` : `${kind} ${host}:${port}`;
}

/** A text without a scheme is a file where it looks like one: the engine makes paths of files absolute. */
function schemeOf(url: string): string | undefined {
  if (isAbsolute(url)) return 'file';
  const scheme = /^([a-z][\w.-]*)(?:\+[a-z]+)?:/i.exec(url)?.[1]?.toLowerCase();
  if (scheme !== undefined) return scheme;
  return /\.(db3?|sqlite3?)$/i.test(url) ? 'file' : undefined;
}

/** `sqlite:file`, `sqlite:/path`, `sqlite://file` and `sqlite:///path` without their parameters. */
function pathIn(url: string): string {
  if (isAbsolute(url)) return url;
  return url.replace(/^[a-z][\w.+-]+:(\/\/)?/i, '').replace(/\?.*$/s, '');
}

/** The scheme is replaced, since only known ones have a host. */
function parsedUrl(url: string): URL | undefined {
  const text = url.replace(/^[^:]*:/, 'http:');
  try {
    return /^[^:]*:\/\/[^/?#]/.test(url) ? withPort(new URL(text), url) : undefined;
  } catch {
    return undefined;
  }
}

/** 80 is the port that the replaced scheme leaves out. */
function withPort(parsed: URL, url: string): URL {
  if (parsed.port !== '' || !/:80([/?]|$)/.test(url.replace(/^[^@]*@/, ''))) return parsed;
  const other = new URL(parsed.href.replace(/^http:/, 'ftp:'));
  other.port = '80';
  return other;
}
