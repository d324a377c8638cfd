/** TLS of connections to databases: whether an address or a property asks for it, and how it checks the server. */
import type { SecureVersion } from 'node:tls';

/** Certificates and keys that properties name. */
export interface SqlSecurity {
  /** Equal for equal properties. */
  readonly key: string;
  /** A property asks for TLS. */
  readonly isNamed: boolean;
  read(): Promise<SqlTls>;
}

export interface SqlTls {
  readonly cert?: Buffer;
  readonly key?: Buffer;
  readonly ca?: Buffer;
  readonly rejectUnauthorized: boolean;
  readonly minVersion: SecureVersion;
}

/** What an address says: no TLS, TLS with any server, or with one whose certificate is trusted; undefined: nothing. */
export type TlsWish = 'none' | 'any' | 'trusted' | undefined;

/** Undefined for a connection without TLS. An address that takes any server checks those that properties name. */
export async function tlsOf(
  { security }: { readonly security?: SqlSecurity },
  wish: TlsWish,
): Promise<SqlTls | undefined> {
  const isWanted = wish === undefined ? security?.isNamed === true : wish !== 'none';
  if (!isWanted) return undefined;
  const tls = await security?.read();
  const usual = { rejectUnauthorized: true, minVersion: 'TLSv1.2' } as const;
  return { ...usual, ...tls, ...(wish === 'any' && tls?.ca === undefined && { rejectUnauthorized: false }) };
}
