/** Tries a server out, without sending it anything. */
import { type RequestOptions, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { reasonOf } from '../base/errors.js';
import { checkReach, reachLookup } from '../base/net/reach.js';
import { HttpClient, type HttpClientOptions, type HttpRequest } from './client.js';
import { httpErrors } from './errors.js';
import { type Outcome, outcomeOf, outcomeOfError } from './outcome.js';

type Tls = HttpClientOptions['tls'];

export interface Tried {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: Tls;
  readonly timeoutMs: number;
}

const notImplemented = 501;

/** Any answer will do but one that names no right to ask, or that the server fails. Throws the reason. */
export async function pingHttp(tried: Tried): Promise<void> {
  const status = await statusOf(tried, 'HEAD');
  const isRefused = [401, 403, 407].includes(status) || (status >= 500 && status !== notImplemented);
  if (isRefused) throw httpErrors.away(`${new URL(tried.url).host}: status ${status}`);
}

/** Sends a request that changes nothing; throws the reason unless the outcome is good. */
export async function pingWith(
  request: HttpRequest,
  { tls, timeoutMs }: Pick<Tried, 'tls' | 'timeoutMs'>,
  outcome: (answer: Parameters<typeof outcomeOf>[0]) => Outcome = (answer) => outcomeOf(answer, 'code'),
): Promise<void> {
  const client = new HttpClient({ timeoutMs, maxAtOnce: 1, tls });
  const found = await client.send(request).then(outcome, outcomeOfError);
  client.close();
  if (found.is !== 'taken') throw httpErrors.away(found.reason);
}

/** The status of an answer, whose body is not waited for. */
export async function statusOf({ url, headers, tls, timeoutMs }: Tried, method: 'HEAD' | 'GET'): Promise<number> {
  await checkReach(new URL(url), false);
  const isSecure = url.startsWith('https:');
  const options: RequestOptions = {
    ...(isSecure ? tls : {}),
    method,
    headers: { ...headers },
    agent: false,
    lookup: reachLookup(false),
  };
  const { host } = new URL(url);
  return new Promise((resolve, reject) => {
    const fail = (reason: string, cause?: unknown) => reject(httpErrors.away(`${host}: ${reason}`, { cause }));
    const request = (isSecure ? requestHttps : requestHttp)(url, options);
    const timer = setTimeout(() => request.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    request.once('error', (error) => {
      clearTimeout(timer);
      fail(reasonOf(error), error);
    });
    request.once('response', ({ statusCode = 0 }) => {
      clearTimeout(timer);
      request.destroy();
      resolve(statusCode);
    });
    request.end();
  });
}
