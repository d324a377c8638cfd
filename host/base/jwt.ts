/**
 * Authentication of requests by JSON web tokens, RS256 only. The issuer (`iss`) is the name of a public key file in the
 * key folder, `aud` contains `eKuiper`; `exp`, `nbf` and `iat` are optional and hold when given.
 *
 * The work for a request is bounded whatever the token says: its length is limited, one listing of the folder and the
 * keys are cached, and no other algorithm is ever tried. Claims are judged only after the signature has been verified.
 */
import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, systemClock } from './clock.js';
import { reasonOf } from './errors.js';

const audience = 'eKuiper';
const openPaths: ReadonlySet<string> = new Set(['/', '/ping']);

/** Longest token looked at, in characters; real ones have less than a tenth. */
const maxTokenLength = 16 * 1024;
/** How far ahead the issuer's clock may be when it says when a token was made. */
const issuedAheadMs = 60_000;
/** Larger key files are no keys. */
const maxKeyBytes = 64 * 1024;
/** Age from which a folder's time of change tells it from every later change. */
const settledMs = 2000;
const base64url = /^[A-Za-z0-9_-]+$/;

export interface Claims {
  readonly iss: string;
  readonly aud: readonly string[];
  readonly sub?: string;
  readonly jti?: string;
}

export type AuthResult =
  | { readonly ok: true; readonly claims?: Claims }
  | { readonly ok: false; readonly status: 401; readonly text: string };

export type Authenticator = (
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  path: string,
) => AuthResult;

export interface AuthOptions {
  /** Folder with the public keys (PEM), `etc/mgmt`. */
  readonly folder: string;
  readonly clock?: Clock;
}

/** Makes the check of requests: headers with lower-case names, path without query. The open paths need no token. */
export function createAuthenticator({ folder, clock = systemClock }: AuthOptions): Authenticator {
  const keys = new KeyFolder(folder);
  return (headers, path) => {
    if (openPaths.has(path)) return { ok: true };
    const header = headers.authorization;
    if (typeof header !== 'string' || header.trim() === '') return refuse('missing_token');
    try {
      return { ok: true, claims: verifyToken(header.trim().replace(/^Bearer +/i, ''), keys, clock.now()) };
    } catch (error) {
      if (error instanceof TokenError) return refuse(error.message);
      throw error;
    }
  };
}

function refuse(text: string): AuthResult {
  return { ok: false, status: 401, text };
}

class TokenError extends Error {}

function invalid(reason: string): TokenError {
  return new TokenError(`validate token error: ${reason}`);
}

function verifyToken(token: string, keys: KeyFolder, now: number): Claims {
  if (token.length > maxTokenLength) throw invalid(`token is malformed: more than ${maxTokenLength} characters`);
  const parts = token.split('.', 4);
  if (parts.length !== 3) throw invalid('token is malformed: token contains an invalid number of segments');
  const [head, body, signature] = parts as [string, string, string];
  const header = readObject(head, 'header');
  const claims = readObject(body, 'claims');
  if (header.alg !== 'RS256')
    throw invalid(`token signature is invalid: signing method ${show(header.alg)} is invalid`);
  if (header.crit !== undefined) throw invalid('token is unverifiable: critical extensions are not supported');
  const { iss } = claims;
  if (typeof iss !== 'string' || iss === '') throw unverifiable('issuer field not exist in jwt payload');
  const key = keys.get(iss);
  if (!base64url.test(signature)) throw invalid('token is malformed: could not base64 decode signature');
  if (!verify('RSA-SHA256', Buffer.from(`${head}.${body}`), key, Buffer.from(signature, 'base64url'))) {
    throw invalid('token signature is invalid: verification error');
  }
  checkTimes(claims, now);
  const aud = textsOf(claims.aud);
  if (!aud.includes(audience)) {
    throw new TokenError(`audience field should contain ${audience}, but got [${aud.join(' ').slice(0, 200)}]`);
  }
  return { iss, aud, sub: textOf(claims.sub), jti: textOf(claims.jti) };
}

function unverifiable(reason: string): TokenError {
  return invalid(`token is unverifiable: error while executing keyfunc: ${reason}`);
}

function checkTimes(claims: Readonly<Record<string, unknown>>, now: number): void {
  const exp = timeOf(claims, 'exp');
  if (exp !== undefined && now >= exp) throw invalid('token has invalid claims: token is expired');
  const nbf = timeOf(claims, 'nbf');
  if (nbf !== undefined && now < nbf) throw invalid('token has invalid claims: token is not valid yet');
  const iat = timeOf(claims, 'iat');
  if (iat !== undefined && now + issuedAheadMs < iat) {
    throw invalid('token has invalid claims: token used before issued');
  }
}

/** Reads a claim in seconds since the epoch; returns milliseconds. */
function timeOf(claims: Readonly<Record<string, unknown>>, name: string): number | undefined {
  const value = claims[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number') throw invalid(`token is malformed: ${name} is not a number`);
  return value * 1000;
}

function readObject(part: string, what: string): Record<string, unknown> {
  if (!base64url.test(part)) throw invalid(`token is malformed: could not base64 decode ${what}`);
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(part, 'base64url')));
  } catch {
    throw invalid(`token is malformed: could not JSON decode ${what}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(`token is malformed: ${what} is not an object`);
  }
  return value as Record<string, unknown>;
}

function textsOf(value: unknown): string[] {
  const list = Array.isArray(value) ? value : [value];
  return list.filter((item) => typeof item === 'string');
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function show(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 20) : 'unspecified';
}

interface CachedKey {
  readonly stamp: string;
  readonly key: KeyObject;
}

/** The public keys of a folder, read again when a file has changed. */
class KeyFolder {
  /** Lower-case file name → file name: issuers match in any letter case. */
  private names = new Map<string, string>();
  private stamp = '';
  private readonly keys = new Map<string, CachedKey>();

  constructor(private readonly folder: string) {}

  /** Returns the key of an issuer. The name is only compared with the names in the folder, so it can't leave it. */
  get(issuer: string): KeyObject {
    this.refresh();
    const name = this.names.get(issuer.toLowerCase());
    if (name === undefined) throw unverifiable(`not found target key file ${issuer.slice(0, 100)} in /etc/mgmt`);
    const path = join(this.folder, name);
    try {
      const stat = statSync(path);
      const stamp = `${stat.mtimeMs} ${stat.size} ${stat.ino}`;
      const cached = this.keys.get(name);
      if (cached?.stamp === stamp) return cached.key;
      if (!stat.isFile() || stat.size > maxKeyBytes) throw new Error('this is no key file');
      const key = readKey(readFileSync(path, 'utf8'));
      this.keys.set(name, { stamp, key });
      return key;
    } catch (error) {
      this.keys.delete(name);
      const code = (error as NodeJS.ErrnoException).syscall === undefined ? reasonOf(error) : 'it cannot be read';
      throw unverifiable(`key file ${name}: ${code}`);
    }
  }

  private refresh(): void {
    try {
      const { mtimeMs, ino } = statSync(this.folder);
      const stamp = `${mtimeMs} ${ino}`;
      if (stamp === this.stamp) return;
      // Two changes within the resolution of time stamps look like one: a fresh folder is listed again next time.
      const isSettled = Math.abs(Date.now() - mtimeMs) > settledMs;
      this.names = new Map(readdirSync(this.folder).map((name) => [name.toLowerCase(), name]));
      this.stamp = isSettled ? stamp : '';
      for (const name of this.keys.keys()) if (!this.names.has(name.toLowerCase())) this.keys.delete(name);
    } catch {
      // Without the folder there are no keys, so that nobody gets in.
      this.names.clear();
      this.keys.clear();
      this.stamp = '';
    }
  }
}

/** Reads a public RSA key or a certificate with one. */
function readKey(pem: string): KeyObject {
  if (pem.includes('PRIVATE KEY')) throw new Error('this is a private key, the public one is needed');
  let key: KeyObject;
  try {
    key = createPublicKey(pem);
  } catch {
    throw new Error('this is no public key in PEM form');
  }
  if (key.asymmetricKeyType !== 'rsa') throw new Error(`this is a key for ${key.asymmetricKeyType}, not for RSA`);
  return key;
}
