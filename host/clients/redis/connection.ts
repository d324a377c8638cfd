/** The properties of a connection to a Redis server. */
import { field, type Parsed } from '../../base/fields/field.js';

/** Databases that a server has unless it is told otherwise. */
const databases = 16;

/** Address of the server, under any name that a connector gives it. */
export const redisAddress = field.address().check(addressReason).doc('Address of the server: host:port');

export const redisLogin = {
  username: field.string().default('').doc('Name to log in with; empty: the default user'),
  password: field.secret().default('').doc('Password to log in with'),
};

export const redisDatabase = field
  .int()
  .min(0)
  .max(databases - 1)
  .default(0)
  .doc('Number of the database');

export interface RedisConf extends Parsed<typeof redisLogin> {
  addr: string;
  db: number;
}

/** Host and port of an address. */
export function redisHost(addr: string): { host: string; port: number } {
  const { hostname, port } = new URL(`redis://${addr}`);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? 6379 : Number(port) };
}

/** The server, whatever the connection is otherwise. */
export function redisPeer(addr: string): string {
  const { host, port } = redisHost(addr);
  return `redis ${host}:${port}`;
}

/** Why the text is no number of a database. */
export function databaseReason(database: string): string | undefined {
  return /^\d+$/.test(database) && Number(database) < databases
    ? undefined
    : `the option DATASOURCE is "${database}", expected the number of a Redis database, 0 to ${databases - 1}`;
}

function addressReason(addr: string): string | undefined {
  const expected = 'must be an address such as 127.0.0.1:6379';
  if (/[/@?#\s]/.test(addr)) return expected;
  try {
    return redisHost(addr).host === '' ? expected : undefined;
  } catch {
    return expected;
  }
}
