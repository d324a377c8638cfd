/**
 * Authentication of requests by JSON web tokens, RS256 only. The issuer (`iss`) is the name of a public key file in the
 * key folder, `aud` contains `eKuiper`; `exp`, `nbf` and `iat` are optional and hold when given, as `access` does.
 *
 * Tokens are read and verified by jose; here are the folder of keys and what this interface adds. The work for a
 * request is bounded whatever the token says: its length is limited, one listing of the folder and the keys are cached,
 * and no other algorithm is ever tried. Claims are judged only after the signature has been verified.
 */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { JWTPayload } from 'jose';
import { reasonOf } from '../errors.js';
import { type Clock, systemClock } from '../time/clock.js';

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
/** Shorter keys are not to be used for RS256. */
const minKeyBits = 2048;
/** The parts of a token as they are written; an unsigned one has an empty last part. */
const partForms = [/^[\w-]+$/, /^[\w-]+$/, /^[\w-]*$/];
const partNames = ['header', 'claims', 'signature'];

export interface Claims {
  readonly iss: string;
  readonly aud: readonly string[];
  readonly sub?: string;
  readonly jti?: string;
  /** `read`: nothing may be changed with the token. */
  readonly access: Access;
}

/** What a token allows; one that does not say so allows everything, as those made for servers of eKuiper. */
export type Access = 'read' | 'full';

export type AuthResult =
  | { readonly ok: true; readonly claims?: Claims }
  | { readonly ok: false; readonly status: 401; readonly text: string };

export type Authenticator = (
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  path: string,
) => Promise<AuthResult>;

export interface AuthOptions {
  /** Folder with the public keys (PEM), `etc/mgmt`. */
  readonly folder: string;
  readonly clock?: Clock;
}

/** Makes the check of requests: headers with lower-case names, path without query. The open paths need no token. */
export function createAuthenticator({ folder, clock = systemClock }: AuthOptions): Authenticator {
  const keys = new KeyFolder(folder);
  return async (headers, path) => {
    if (openPaths.has(path)) return { ok: true };
    const header = headers.authorization;
    if (typeof header !== 'string' || header.trim() === '') return refuse('missing_token');
    try {
      return { ok: true, claims: await verifyToken(header.trim().replace(/^Bearer +/i, ''), keys, clock.now()) };
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

function malformed(reason: string): TokenError {
  return invalid(`token is malformed: ${reason}`);
}

function unverifiable(reason: string): TokenError {
  return invalid(`token is unverifiable: error while executing keyfunc: ${reason}`);
}

async function verifyToken(token: string, keys: KeyFolder, now: number): Promise<Claims> {
  if (token.length > maxTokenLength) throw malformed(`more than ${maxTokenLength} characters`);
  const parts = token.split('.', 4);
  if (parts.length !== 3) throw malformed('token contains an invalid number of segments');
  for (const [i, form] of partForms.entries()) {
    if (!form.test(parts[i] as string)) throw malformed(`could not base64 decode ${partNames[i]}`);
  }
  // Loaded when the first token comes: most servers at the edge have none.
  const jose = await import('jose');
  const keyOf = () => {
    const { iss } = jose.decodeJwt(token);
    if (typeof iss !== 'string' || iss === '') throw unverifiable('issuer field not exist in jwt payload');
    return keys.get(iss);
  };
  const checks = { algorithms: ['RS256'], audience, currentDate: new Date(now) };
  const { payload } = await jose.jwtVerify(token, keyOf, checks).catch((error: unknown) => {
    throw error instanceof jose.errors.JOSEError
      ? refusalOf(error, () => jose.decodeProtectedHeader(token).alg)
      : error;
  });
  // The library overlooks bits that a last character has too many: a token could be written in several ways.
  const inexact = parts.findIndex((part) => Buffer.from(part, 'base64url').toString('base64url') !== part);
  if (inexact >= 0) throw malformed(`could not base64 decode ${partNames[inexact]}`);
  const { iss = '', iat, aud = [], sub, jti } = payload;
  // The library bounds the age of a token, not how far ahead it was made.
  if (iat !== undefined && now + issuedAheadMs < iat * 1000) {
    throw invalid('token has invalid claims: token used before issued');
  }
  return { iss, aud: [aud].flat(), sub: textOf(sub), jti: textOf(jti), access: accessOf(payload.access) };
}

/** A word that is not known may mean less than everything. */
function accessOf(given: unknown): Access {
  if (given === undefined) return 'full';
  if (given === 'read' || given === 'full') return given;
  throw invalid('token has invalid claims: access must be "read" or "full"');
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Translates an error of the library into a `TokenError`. */
function refusalOf(
  error: Error & { code: string; claim?: string; payload?: JWTPayload },
  alg: () => unknown,
): TokenError {
  const { code, message, claim, payload } = error;
  switch (code) {
    case 'ERR_JOSE_ALG_NOT_ALLOWED':
      return invalid(`token signature is invalid: signing method ${String(alg()).slice(0, 20)} is invalid`);
    case 'ERR_JOSE_NOT_SUPPORTED':
      return invalid('token is unverifiable: critical extensions are not supported');
    case 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED':
      return invalid('token signature is invalid: verification error');
    case 'ERR_JWT_EXPIRED':
      return invalid('token has invalid claims: token is expired');
    case 'ERR_JWT_CLAIM_VALIDATION_FAILED':
      if (claim === 'aud') {
        const given = [payload?.aud ?? []].flat().join(' ').slice(0, 200);
        return new TokenError(`audience field should contain ${audience}, but got [${given}]`);
      }
      return message.includes('must be a number')
        ? malformed(`${claim} is not a number`)
        : invalid('token has invalid claims: token is not valid yet');
    default:
      return malformed(message);
  }
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
  if ((key.asymmetricKeyDetails?.modulusLength ?? 0) < minKeyBits)
    throw new Error(`it has fewer than ${minKeyBits} bits`);
  return key;
}
