/** Asks a server, as the source and lookup tables do. */
import type { AllowedPaths } from '../../base/files/allowed-paths.js';
import type { Logger } from '../../base/log/log.js';
import { hasFixedHost } from '../../base/net/reach.js';
import { bodyOf, withHeaders } from '../../http/bodies.js';
import { decompressed, type HttpAnswer, Unreachable } from '../../http/client.js';
import { outcomeOf } from '../../http/outcome.js';
import { type HttpConf, usualBodyType } from '../../http/props.js';
import { HttpSession } from '../../http/session.js';
import { headerTemplates, textTemplate, type Values } from '../../http/text-template.js';
import type { TlsConf } from '../tls.js';
import { tlsOptions } from '../tls-options.js';
import type { Page, PageAnswer } from './paging.js';

export interface PullConf extends HttpConf, TlsConf {
  url: string;
  body: string;
  compression: string;
}

/** The other side has answered, but with a failure. */
export class BadAnswer extends Error {
  /** @param afterMs pause that the other side asks for before the next request, ms */
  constructor(
    reason: string,
    readonly afterMs: number,
  ) {
    super(reason);
  }
}

/** Requests that lookups may have under way. */
const maxAtOnce = 16;

export class Puller {
  #session: HttpSession | undefined;
  /** The session has the certificates as they were read last. */
  #isSecured = false;
  #isClosed = false;
  #url: (data: Values) => string;
  /** Answers choose the server, too. */
  readonly #isOfData: boolean;
  readonly #body: (data: Values) => string;
  #headers: (data: Values) => Record<string, string>;

  constructor(
    private conf: PullConf,
    private readonly dataSource: string,
    private readonly context: { readonly log: Logger; readonly paths: AllowedPaths },
  ) {
    const url = joined(conf.url, dataSource);
    this.#url = textTemplate(url);
    this.#isOfData = url.includes('{{') && !hasFixedHost(url);
    this.#body = textTemplate(conf.body);
    this.#headers = headerTemplates(conf.headers);
  }

  /** Requests from now on are made so. */
  renew(conf: PullConf): void {
    this.conf = conf;
    this.#url = textTemplate(joined(conf.url, this.dataSource));
    this.#headers = headerTemplates(conf.headers);
    this.#session?.renew(conf);
    this.#isSecured = false;
  }

  /** Returns the answer; throws `Unreachable`, `BadAnswer`, or the reason why no request can be made. */
  async pull(states: Values, { at, cursor }: Page = {}, signal?: AbortSignal): Promise<PageAnswer> {
    const { conf } = this;
    const { log, paths } = this.context;
    if (!this.#isSecured) {
      const tls = await tlsOptions('httppull', conf, paths);
      if (this.#isClosed) throw new Unreachable('the rule has ended');
      this.#session ??= new HttpSession(conf, log, { tls, maxAtOnce });
      this.#session.secure(tls);
      this.#isSecured = true;
    }
    const { method } = conf;
    const bodyType = conf.bodyType || usualBodyType(method);
    let url = '';
    const answer = await this.#ask((token) => {
      const data = { ...token, ...states, ...(cursor !== undefined && { cursor }) };
      const { headers, body } = bodyOf(bodyType, Buffer.from(this.#body(data)));
      url = at ?? this.#url(cursor === undefined ? data : { ...data, cursor: encodeURIComponent(cursor) });
      return { method, url, headers: withHeaders(headers, this.#headers(data)), body, isOfData: this.#isOfData };
    }, signal);
    const isPlain = conf.compression === '' || answer.headers['content-encoding'] !== undefined;
    const body = isPlain ? answer.body : await decompressed(answer.body, conf.compression);
    const outcome = outcomeOf({ ...answer, body }, conf.responseType);
    if (outcome.is === 'taken') return { body, url, link: String(answer.headers.link ?? '') };
    throw new BadAnswer(outcome.reason, outcome.is === 'later' ? outcome.afterMs : 0);
  }

  /** Certificates are read again after a request that did not arrive. */
  async #ask(make: Parameters<HttpSession['send']>[0], signal: AbortSignal | undefined): Promise<HttpAnswer> {
    try {
      return await this.#session!.send(make, signal);
    } catch (error) {
      this.#isSecured = false;
      throw error;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#session?.close();
  }
}

function joined(url: string, path: string): string {
  const isApart = path === '' || url.endsWith('/') || /^[/?#]/.test(path);
  return isApart ? url + path : `${url}/${path}`;
}
