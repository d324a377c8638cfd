/** The properties of a connection to a Redis server. */
import { field, type Parsed } from '../../base/fields/field.js';

/** Databases that a server has unless it is told otherwise. */
const databases = 16;

/** Address of the server, under any name that a connector gives it. */
export const redisAddress = field
  .address()
  .check(addressReason)
  .doc('Address of the server: host:port, or rediss://host:port with TLS');

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
  /** Certificates and keys, with a text that tells equal ones; left out without TLS. */
  security?: { readonly key: string; read(): Promise<object> };
}

/** Why the text is no number of a database. */
export function databaseReason(database: string): string | undefined {
  return /^\d+$/.test(database) && Number(database) < databases
    ? undefined
    : `the option DATASOURCE is "${database}", expected the number of a Redis database, 0 to ${databases - 1}`;
}

function addressReason(addr: string): string | undefined {
  const expected = 'must be an address such as 127.0.0.1:6379';
  const host = addr.replace(/^rediss?:\/\//i, '');
  if (/[/@?#\s]/.test(host)) return expected;
  return URL.canParse(`redis://${host}`) && new URL(`redis://${host}`).hostname !== '' ? undefined : expected;
}
