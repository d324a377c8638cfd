/**
 * Requests of one connector with its tokens: one is fetched before the first request and after half of its life, and
 * when the other side does not know it any more.
 */
import { isDeepStrictEqual } from 'node:util';
import { reasonOf } from '../base/errors.js';
import type { Logger } from '../base/log/log.js';
import { type Dict, readJson } from '../template/value.js';
import { type HttpAnswer, HttpClient, type HttpClientOptions, type HttpRequest, Unreachable } from './client.js';
import { outcomeOf } from './outcome.js';
import type { HttpConf } from './props.js';
import { headerTemplates, textTemplate } from './text-template.js';

const unauthorized = 401;

export class HttpSession {
  readonly #client: HttpClient;
  #token: Dict = {};
  #hasToken = false;
  #fetchedAt = 0;
  #fetching: Promise<void> | undefined;

  constructor(
    private conf: Pick<HttpConf, 'oauth' | 'timeout' | 'debugResp'>,
    private readonly log: Logger,
    options: Pick<HttpClientOptions, 'tls' | 'maxAtOnce'>,
  ) {
    this.#client = new HttpClient({ ...options, timeoutMs: conf.timeout });
  }

  /** Another way to get tokens: the next request fetches one. */
  renew(conf: Pick<HttpConf, 'oauth' | 'timeout' | 'debugResp'>): void {
    if (!isDeepStrictEqual(conf.oauth, this.conf.oauth)) this.#hasToken = false;
    this.conf = conf;
  }

  /** See `HttpClient.secure`. */
  secure(tls: HttpClientOptions['tls']): void {
    this.#client.secure(tls);
  }

  /** Fetches or renews the token if that is due; throws `Unreachable` when no token can be had. */
  async authorize(): Promise<void> {
    if (this.conf.oauth.access.url === '' || !this.#isDue()) return;
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    await this.#fetching;
  }

  /** Members of a token that the server takes now; none without OAuth. */
  async authorized(): Promise<Dict> {
    await this.authorize();
    return this.#token;
  }

  /** Sends the request that `make` builds from the members of the last token. */
  async send(make: (token: Dict) => HttpRequest, signal?: AbortSignal): Promise<HttpAnswer> {
    const had = this.#fetchedAt;
    await this.authorize();
    const answer = await this.#client.send(make(this.#token), signal);
    const isForgotten = answer.status === unauthorized && this.#hasToken && this.#fetchedAt === had;
    if (isForgotten) this.#hasToken = false;
    const last = isForgotten ? await this.send(make, signal) : answer;
    if (this.conf.debugResp && !isForgotten) {
      this.log.info(`answer ${last.status}: ${last.body.toString('utf8', 0, 4096)}`);
    }
    return last;
  }

  close(): void {
    this.#client.close();
  }

  #isDue(): boolean {
    if (!this.#hasToken) return true;
    const seconds = Number(textTemplate(this.conf.oauth.access.expire)(this.#token));
    return seconds > 0 && performance.now() - this.#fetchedAt > (seconds * 1000) / 2;
  }

  async #fetch(): Promise<void> {
    const { access, refresh } = this.conf.oauth;
    try {
      if (this.#hasToken && refresh.url !== '') {
        await this.#ask(refresh.url, textTemplate(refresh.body)(this.#token), headerTemplates(refresh.headers));
      } else {
        await this.#ask(access.url, access.body, headerTemplates(access.headers));
      }
    } catch (error) {
      // The known token may still be valid.
      if (!this.#hasToken) throw error;
      this.#hasToken = false;
      this.log.warn(`the token can't be renewed: ${reasonOf(error)}`);
    }
  }

  async #ask(url: string, body: string, headers: (token: Dict) => Record<string, string>): Promise<void> {
    const answer = await this.#client.send({
      method: 'post',
      url,
      headers: { 'Content-Type': 'application/json', ...headers(this.#token) },
      body: Buffer.from(body),
    });
    const outcome = outcomeOf(answer, 'code');
    if (outcome.is !== 'taken') throw new Unreachable(`no token: ${outcome.reason}`);
    this.#token = tokenIn(answer.body);
    this.#hasToken = true;
    this.#fetchedAt = performance.now();
  }
}

function tokenIn(body: Buffer): Dict {
  try {
    const value = readJson(body.toString());
    const [first] = Array.isArray(value) ? value : [value];
    if (typeof first === 'object' && first !== null && !(first instanceof Date) && !Array.isArray(first)) return first;
  } catch {
    // Text that is no JSON fails like a value that is no object.
  }
  throw new Unreachable('no token: the answer is no JSON object');
}
