/**
 * Which web pages may ask. A browser lets any page send requests to addresses that only its user can reach, such as a
 * server on 127.0.0.1; what it tells about the page is checked here, for all ports, before anything else is looked at.
 *
 * Pages of the server's own origin and of configured ones may ask and read. Without authentication all others are
 * refused, since nothing else protects the server, and so are requests that name it by a host it is not known by: a
 * page may give its own name the server's address (DNS rebinding). With authentication a request needs a token, which
 * browsers don't add by themselves: foreign pages get no more than a refusal to read. Programs that are no browsers
 * send no origin.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import type { Logger } from '../../base/log/log.js';
import { refuse } from '../../base/net/http-server.js';

export interface OriginRules {
  /** Origins of pages that may ask, `https://plant.example:8443`; `*` stands for all. */
  readonly origins: readonly string[];
  /** Names of the server besides addresses, localhost and names without a dot; `*.plant.example` for all below. */
  readonly hosts: readonly string[];
  /** Every request needs a token. */
  readonly hasTokens: boolean;
  readonly log: Logger;
}

const allowedMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
const allowedHeaders = 'accept, accept-language, content-type, content-language, origin, authorization, traceparent';
/** Seconds after which browsers ask again. */
const preflightAgeSeconds = '600';
/** Requests that images and links of any page could have made, and the log that tells when one is an order. */
const unproven = new WeakMap<IncomingMessage, Logger>();

/** Why a request may not have an order carried out that is only got (`Route.isOrder`); undefined when it may. */
export function orderRefusal(request: IncomingMessage): string | undefined {
  const log = unproven.get(request);
  log?.warn(`a request was refused: ${otherSites}`);
  return log === undefined ? undefined : otherSites;
}

const otherSites = 'pages of other sites may not ask';

/** Puts the check before a listener. */
export function guardOrigins(rules: OriginRules, handle: RequestListener): RequestListener {
  return (request, response) => {
    const origin = request.headers.origin;
    response.setHeader('Vary', 'Origin');
    const reason = rules.hasTokens ? undefined : refusalOf(request, rules);
    if (reason !== undefined) {
      rules.log.warn(`a request was refused: ${reason}`);
      return refuse(response, 403, reason);
    }
    const isAllowed = origin === undefined || mayAsk(origin, request, rules);
    if (origin !== undefined && isAllowed) response.setHeader('Access-Control-Allow-Origin', origin);
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) {
      return handle(request, response);
    }
    return answerPreflight(request, response, isAllowed);
  };
}

/** Why a request without a token is refused; undefined when it is not. */
function refusalOf(request: IncomingMessage, rules: OriginRules): string | undefined {
  const { host, origin, referer, 'sec-fetch-site': site, 'user-agent': agent = '' } = request.headers;
  if (host !== undefined && !isKnownHost(host, rules.hosts)) {
    return `the server is not known as ${shown(host)}; basic.allowedHosts adds names`;
  }
  const page = origin ?? referer;
  if (page !== undefined && !mayAsk(page, request, rules)) {
    return `pages of ${shown(originOf(page) ?? page)} may not ask; basic.corsOrigins adds origins`;
  }
  if (page !== undefined || rules.origins.includes('*')) return undefined;
  const isOwnPage = site === 'same-origin' || site === 'none';
  // Whether it is an order is for the router to say, which has read the path.
  if (agent.startsWith('Mozilla/') && !isOwnPage) unproven.set(request, rules.log);
  return site === 'cross-site' ? otherSites : undefined;
}

function answerPreflight(request: IncomingMessage, response: ServerResponse, isAllowed: boolean): void {
  const wanted = String(request.headers['access-control-request-method']);
  const headers = namesIn(String(request.headers['access-control-request-headers'] ?? ''));
  if (!isAllowed) response.statusCode = 403;
  else if (!allowedMethods.includes(wanted)) response.statusCode = 405;
  else if (headers.some((name) => !namesIn(allowedHeaders).includes(name))) response.statusCode = 403;
  else {
    response.setHeader('Access-Control-Allow-Methods', allowedMethods.join(', '));
    if (headers.length > 0) response.setHeader('Access-Control-Allow-Headers', headers.join(', '));
    if (request.headers['access-control-request-private-network'] === 'true') {
      response.setHeader('Access-Control-Allow-Private-Network', 'true');
    }
    response.setHeader('Access-Control-Max-Age', preflightAgeSeconds);
  }
  response.setHeader('Content-Length', '0');
  response.end();
}

/** Pages of the server itself, which have its name and port whoever speaks TLS in between, and configured ones. */
function mayAsk(page: string, { headers }: IncomingMessage, { origins }: OriginRules): boolean {
  if (origins.includes('*')) return true;
  const origin = originOf(page);
  // `null` is what pages send that hide where they come from.
  if (origin === undefined) return false;
  if (origins.some((known) => known.toLowerCase() === origin)) return true;
  const { protocol, host } = new URL(origin);
  return headers.host !== undefined && originOf(`${protocol}//${headers.host}`) === `${protocol}//${host}`;
}

/** The origin of a page that browsers got over HTTP; of no other: `blob:` and user names would show another's. */
function originOf(page: string): string | undefined {
  if (!URL.canParse(page)) return undefined;
  const { protocol, username, password, origin } = new URL(page);
  const isWeb = protocol === 'http:' || protocol === 'https:';
  return isWeb && username === '' && password === '' ? origin : undefined;
}

function isKnownHost(host: string, hosts: readonly string[]): boolean {
  const name = nameOf(host);
  if (name === undefined) return false;
  if (isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost')) return true;
  if (name !== '' && !name.includes('.')) return true;
  return hosts
    .map((known) => known.toLowerCase())
    .some((known) => known === '*' || known === name || (known.startsWith('*.') && name.endsWith(known.slice(1))));
}

/** The name in a header Host, without port and brackets; undefined when it is none. */
function nameOf(host: string): string | undefined {
  const found = /^(?:\[([\da-f:.]+)\]|([\w.-]*))(?::\d+)?$/i.exec(host);
  return (found?.[1] ?? found?.[2])?.toLowerCase();
}

function namesIn(list: string): string[] {
  return list
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

function shown(text: string | undefined): string {
  return JSON.stringify(String(text).slice(0, 200));
}
