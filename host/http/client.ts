/**
 * Requests over HTTP: connections stay open between them, one time limit is for all of a request and its answer, and
 * answers are bounded.
 */
import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { type AgentOptions, Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { isDeepStrictEqual, promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib';
import { compressions } from '../base/bytes/compression.js';
import { HaumeaError, reasonOf } from '../base/errors.js';
import { checkReach, reachLookup } from '../base/net/reach.js';

export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | undefined;
  /** The host was chosen by data, not by whoever wrote the definition. */
  readonly isOfData?: boolean | undefined;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** The other side can't be reached, or has not answered in time: it may help to try again. */
export class Unreachable extends Error {}

const maxAnswerBytes = 16 << 20;
const maxRedirects = 5;
const repeated = new Set([307, 308]);
const moved = new Set([301, 302, 303]);

const decoders: Readonly<Record<string, (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>>> = {
  gzip: promisify(gunzip),
  zlib: promisify(inflate),
  deflate: promisify(inflate),
  flate: promisify(inflateRaw),
  br: promisify(brotliDecompress),
  zstd: async (bytes, { maxOutputLength }) => Buffer.from(compressions.zstd.decompress(bytes, maxOutputLength)),
};

/** Decompresses a body; throws for an unknown compression, and for a result that is too long. */
export async function decompressed(bytes: Buffer, compression: string): Promise<Buffer> {
  const decode = decoders[compression.toLowerCase()];
  if (decode === undefined) throw new Error(`the compression ${compression} of the answer is not known`);
  return decode(bytes, { maxOutputLength: maxAnswerBytes });
}

export interface HttpClientOptions {
  /** Longest time of a request with its answer; 0: no limit. */
  readonly timeoutMs: number;
  /** Most requests to one host that may be under way. */
  readonly maxAtOnce: number;
  readonly tls: Pick<AgentOptions, 'cert' | 'key' | 'ca' | 'rejectUnauthorized' | 'minVersion'>;
}

export class HttpClient {
  readonly #plain: HttpAgent;
  #secure: HttpsAgent;
  /** Host that was checked last, if it is no name: most requests go to one. */
  #checked = '';
  readonly #active = new Set<ClientRequest>();
  #isClosed = false;

  constructor(private options: HttpClientOptions) {
    const { maxAtOnce: maxSockets, tls } = options;
    this.#plain = new HttpAgent({ keepAlive: true, maxSockets, lookup: reachLookup(false) });
    this.#secure = new HttpsAgent({ keepAlive: true, maxSockets, lookup: reachLookup(false), ...tls });
  }

  /** Connections from now on have these certificates; those that are idle end if anything differs. */
  secure(tls: HttpClientOptions['tls']): void {
    if (isDeepStrictEqual(tls, this.options.tls)) return;
    this.options = { ...this.options, tls };
    const former = this.#secure;
    this.#secure = new HttpsAgent({
      keepAlive: true,
      maxSockets: this.options.maxAtOnce,
      lookup: reachLookup(false),
      ...tls,
    });
    // Requests under way keep their connections to the end.
    former.maxFreeSockets = 0;
    for (const sockets of Object.values(former.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
  }

  /** Throws `Unreachable`, or another error for a request that can't be sent at all or an answer that is too long. */
  async send(request: HttpRequest, signal?: AbortSignal): Promise<HttpAnswer> {
    let sent = request;
    for (let hops = 0; ; hops++) {
      const answer = await this.#exchange(sent, signal);
      const next = redirected(sent, answer);
      if (next === undefined) return decoded(answer);
      if (hops === maxRedirects) throw new Error(`more than ${maxRedirects} redirects`);
      sent = next;
    }
  }

  /** Gives up all requests under way. */
  close(): void {
    this.#isClosed = true;
    for (const request of this.#active) request.destroy(new Unreachable('the rule has ended'));
    this.#plain.destroy();
    this.#secure.destroy();
  }

  async #exchange(sent: HttpRequest, signal: AbortSignal | undefined): Promise<HttpAnswer> {
    for (;;) {
      try {
        return await this.#attempt(sent, signal);
      } catch (error) {
        // The other side had ended a connection that nothing went over for a while: nobody has seen the request.
        if (!(error instanceof StaleConnection) || this.#isClosed) throw error;
      }
    }
  }

  async #attempt(sent: HttpRequest, signal: AbortSignal | undefined): Promise<HttpAnswer> {
    const { method, url, headers, body, isOfData = false } = sent;
    const target = new URL(url);
    if (isOfData || this.#checked !== target.hostname) {
      await checkReach(target, isOfData);
      if (!isOfData) this.#checked = target.hostname;
    }
    const isSecure = target.protocol === 'https:';
    const length = body === undefined ? {} : { 'Content-Length': String(body.length) };
    return new Promise((resolve, reject) => {
      if (this.#isClosed) throw new Unreachable('the rule has ended');
      const request = (isSecure ? requestHttps : requestHttp)(target, {
        method: method.toUpperCase(),
        headers: { 'Accept-Encoding': 'gzip, deflate', ...headers, ...length },
        agent: isSecure ? this.#secure : this.#plain,
        ...(isOfData && { lookup: reachLookup(true) }),
      });
      this.#active.add(request);
      const { timeoutMs } = this.options;
      const late = new Unreachable(`${target.host}: no answer within ${timeoutMs} ms`);
      const timer = timeoutMs === 0 ? undefined : setTimeout(() => request.destroy(late), timeoutMs);
      const cancel = () => request.destroy(new Unreachable('nobody waits for the answer'));
      signal?.addEventListener('abort', cancel, { once: true });
      const settle = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', cancel);
        this.#active.delete(request);
      };
      let hasAnswer = false;
      const fail = (error: unknown) => {
        settle();
        const { code } = error as NodeJS.ErrnoException;
        const isStale = request.reusedSocket && !hasAnswer && (code === 'ECONNRESET' || code === 'EPIPE');
        const reason = `${target.host}: ${reasonOf(error)}`;
        const isFinal = error instanceof Unreachable || error instanceof TooLong;
        if (isFinal || (error instanceof HaumeaError && error.kind === 'general')) reject(error);
        else reject(isStale ? new StaleConnection(reason) : new Unreachable(reason));
      };
      request.on('error', fail);
      request.on('response', (response) => {
        hasAnswer = true;
        received(response).then((answer) => {
          settle();
          resolve(answer);
        }, fail);
      });
      request.end(body);
    });
  }
}

class StaleConnection extends Unreachable {}
class TooLong extends Error {}

async function received(response: IncomingMessage): Promise<HttpAnswer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxAnswerBytes) throw new TooLong(`the answer has more than ${maxAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks, size) };
}

async function decoded(answer: HttpAnswer): Promise<HttpAnswer> {
  const encoding = String(answer.headers['content-encoding'] ?? '');
  if (encoding === '' || encoding === 'identity' || answer.body.length === 0) return answer;
  return { ...answer, body: await decompressed(answer.body, encoding) };
}

/** The request to send after a redirect; undefined when the answer is final. */
function redirected(sent: HttpRequest, { status, headers }: HttpAnswer): HttpRequest | undefined {
  const { location } = headers;
  const isRead = sent.method.toLowerCase() === 'get' || sent.method.toLowerCase() === 'head';
  // Other redirects would drop the body of the request.
  if (typeof location !== 'string' || !(repeated.has(status) || (moved.has(status) && isRead))) return undefined;
  const from = new URL(sent.url);
  const to = URL.canParse(location, sent.url) ? new URL(location, sent.url) : undefined;
  if (to === undefined || (to.protocol !== 'https:' && to.protocol !== from.protocol)) return undefined;
  // Headers may hold credentials, so another host does not get them.
  const isSame = to.host === from.host;
  return { ...sent, url: to.href, headers: isSame ? sent.headers : {}, isOfData: sent.isOfData || !isSame };
}
