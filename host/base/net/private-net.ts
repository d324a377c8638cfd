/**
 * Guard for files that the server fetches from addresses somebody else chose (plugins, schemas, uploads, imports):
 * http and https only, no loopback or private targets unless allowed, limits on size and time.
 *
 * A name is resolved once, all its addresses are checked, and the connection goes to one of exactly these addresses, so
 * a name server that changes its answer in between gains nothing. Each redirect is checked like a new request.
 */
import { closeSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';
import { HaumeaError, reasonOf } from '../errors.js';
import { fetchErrors } from './fetch-errors.js';
import { type AddressKind, addressKind } from './ip-address.js';

/** The system's answer to a name: every address it has. */
export type Resolve = (host: string) => Promise<readonly { readonly address: string; readonly family: number }[]>;

export interface FetchOptions {
  /** Longest body in bytes. */
  readonly maxBytes?: number;
  /** Longest time of the whole fetch in milliseconds: names, redirects and body together. */
  readonly timeoutMs?: number;
  /** True lets loopback and private targets pass (`enablePrivateNet`); a list lets only these addresses pass. */
  readonly allowPrivate?: boolean | readonly string[];
  /** File for the body, in place of memory; it appears complete or not at all. */
  readonly file?: string;
  readonly maxRedirects?: number;
  readonly signal?: AbortSignal;
  /** Name resolution, the system's by default. */
  readonly resolve?: Resolve;
  /** Certificates (PEM) trusted besides the built-in ones. */
  readonly ca?: string | Buffer;
}

export interface Fetched {
  /** Address after redirects, without user and password. */
  readonly url: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  /** The body; empty when it went to a file. */
  readonly bytes: Buffer;
}

const defaults = { maxBytes: 256 * 1024 * 1024, timeoutMs: 60_000, maxRedirects: 5 } as const;
const redirectStatus: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

// Loaded at the first use, as TLS is below: each start of the server would pay for them.
const systemResolve: Resolve = async (host) => {
  const { lookup } = await import('node:dns/promises');
  return lookup(host, { all: true, verbatim: true });
};

/**
 * Fetches a file by GET; throws a `general` error for a refused target and a broken limit, and a `connection` error
 * when the other side does not answer or answers with a failure.
 */
export async function fetchGuarded(url: string, options: FetchOptions = {}): Promise<Fetched> {
  const timeoutMs = options.timeoutMs ?? defaults.timeoutMs;
  const end = new AbortController();
  const timer = setTimeout(() => end.abort(fetchErrors.timeout(timeoutMs)), timeoutMs);
  const cancel = () => end.abort(fetchErrors.cancelled());
  options.signal?.addEventListener('abort', cancel, { once: true });
  if (options.signal?.aborted) cancel();
  try {
    return await follow(url, options, end.signal);
  } catch (error) {
    const cause: unknown = end.signal.aborted ? end.signal.reason : error;
    const isRefusal = cause instanceof HaumeaError && cause.kind === 'general';
    const failure = isRefusal ? fetchErrors.refused : fetchErrors.failed;
    throw failure(withoutCredentials(url), reasonOf(cause), { cause });
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener('abort', cancel);
  }
}

interface TargetOptions extends Pick<FetchOptions, 'allowPrivate' | 'resolve'> {
  /** The only kind of private addresses that is refused; all kinds without it. */
  readonly only?: AddressKind;
}

/** Checks a target without fetching it; returns the addresses it may be reached at. Throws as `fetchGuarded` does. */
export async function checkTarget(url: URL, options: TargetOptions) {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw fetchErrors.scheme(url.protocol.slice(0, -1));
  }
  const host = hostOf(url);
  const family = isIP(host);
  const addresses = family === 0 ? await (options.resolve ?? systemResolve)(host) : [{ address: host, family }];
  if (addresses.length === 0) throw fetchErrors.noAddress(host);
  const { allowPrivate = false, only } = options;
  if (allowPrivate === true) return addresses;
  for (const { address } of addresses) {
    const kind = addressKind(address);
    const isListed = Array.isArray(allowPrivate) && allowPrivate.includes(address);
    if (kind !== undefined && kind === (only ?? kind) && !isListed)
      throw fetchErrors.privateAddress(refusal(host, address, kind));
  }
  return addresses;
}

function refusal(host: string, address: string, kind: string): string {
  const target = host === address ? host : `${host} (${address})`;
  return `${target} is a ${kind} address; basic.enablePrivateNet allows such targets`;
}

async function follow(first: string, options: FetchOptions, signal: AbortSignal): Promise<Fetched> {
  const maxRedirects = options.maxRedirects ?? defaults.maxRedirects;
  let url = parseUrl(first);
  for (let hops = 0; ; hops++) {
    const response = await send(url, options, signal);
    const status = response.statusCode ?? 0;
    const next = response.headers.location;
    if (!redirectStatus.has(status) || next === undefined) return await receive(response, url, options);
    response.destroy();
    if (hops === maxRedirects) throw fetchErrors.redirects(maxRedirects);
    const target = parseUrl(next, url);
    if (url.protocol === 'https:' && target.protocol === 'http:') {
      throw fetchErrors.downgrade(withoutCredentials(target.href));
    }
    url = target;
  }
}

async function send(url: URL, options: FetchOptions, signal: AbortSignal): Promise<IncomingMessage> {
  const addresses = await unlessAborted(checkTarget(url, options), signal);
  // The connection asks for the name again: it gets the checked answer.
  const pinned: LookupFunction = (_host, { all }, done) => {
    const [first] = addresses as readonly [{ address: string; family: number }];
    if (all) done(null, [...addresses]);
    else done(null, first.address, first.family);
  };
  const isSecure = url.protocol === 'https:';
  const begin = isSecure ? (await import('node:https')).request : requestHttp;
  return new Promise((resolve, reject) => {
    const request = begin(
      {
        hostname: hostOf(url),
        port: url.port === '' ? undefined : Number(url.port),
        path: `${url.pathname}${url.search}`,
        method: 'GET',
        // Bodies are taken as they are: an encoding would get around the size limit.
        headers: { 'accept-encoding': 'identity', 'user-agent': 'haumea' },
        auth:
          url.username === '' ? undefined : `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`,
        lookup: pinned,
        // A shared connection could lead to an address checked for somebody else.
        agent: false,
        signal,
        ...(isSecure && options.ca !== undefined ? { ca: options.ca } : {}),
      },
      resolve,
    );
    request.on('error', reject);
    request.end();
  });
}

async function receive(response: IncomingMessage, url: URL, options: FetchOptions): Promise<Fetched> {
  const maxBytes = options.maxBytes ?? defaults.maxBytes;
  const tooLarge = () => fetchErrors.size(maxBytes);
  try {
    const status = response.statusCode ?? 0;
    if (status !== 200) {
      throw fetchErrors.status(status, response.statusMessage ?? '');
    }
    const encoding = response.headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity') throw fetchErrors.encoding(encoding);
    if (Number(response.headers['content-length'] ?? 0) > maxBytes) throw tooLarge();
    const target = options.file === undefined ? new MemoryTarget() : new FileTarget(options.file);
    let sizeBytes = 0;
    try {
      for await (const chunk of response as AsyncIterable<Buffer>) {
        sizeBytes += chunk.length;
        if (sizeBytes > maxBytes) throw tooLarge();
        target.write(chunk);
      }
      const bytes = target.finish();
      return {
        url: withoutCredentials(url.href),
        contentType: response.headers['content-type'] ?? '',
        sizeBytes,
        bytes,
      };
    } finally {
      target.close();
    }
  } finally {
    response.destroy();
  }
}

class MemoryTarget {
  private readonly chunks: Buffer[] = [];

  write(chunk: Buffer): void {
    this.chunks.push(chunk);
  }

  finish(): Buffer {
    return Buffer.concat(this.chunks);
  }

  close(): void {}
}

/** Writes beside the wanted file and renames at the end. */
class FileTarget {
  private readonly temporary: string;
  private readonly handle: number;
  private isFinished = false;

  constructor(private readonly file: string) {
    this.temporary = `${file}.${process.pid}.part`;
    this.handle = openSync(this.temporary, 'w');
  }

  write(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) at += writeSync(this.handle, chunk, at);
  }

  finish(): Buffer {
    renameSync(this.temporary, this.file);
    this.isFinished = true;
    return Buffer.alloc(0);
  }

  close(): void {
    closeSync(this.handle);
    if (!this.isFinished) rmSync(this.temporary, { force: true });
  }
}

function parseUrl(text: string, base?: URL): URL {
  try {
    return new URL(text, base);
  } catch (cause) {
    throw fetchErrors.notUrl({ cause });
  }
}

/** Host without the brackets of an IPv6 address and without the dot that makes a name absolute. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

/** Removes user and password, which must not get into error texts. */
function withoutCredentials(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, '$1');
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
