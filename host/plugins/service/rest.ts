/** Functions of external services over HTTP, with one request for each list of arguments. */
import { Agent, type IncomingMessage, request as requestHttp } from 'node:http';
import type { LookupFunction } from 'node:net';
import type { Value } from '../../../kernels/values/value.js';
import { reasonOf } from '../../base/errors.js';
import { checkTarget } from '../../base/net/private-net.js';
import type { Answers, AskedCode, ServiceCode, ServiceMethod } from '../define.js';
import { requestOf, resultOf } from './request.js';

/** Most requests to an interface at once. */
const maxAtOnce = 16;
const timeoutMs = 5000;
const maxAnswerBytes = 4 << 20;
/** Longest text of a failure. */
const maxReason = 200;

/** Thrown when the service can't be reached now; a retry may help. */
class Unreachable extends Error {}

export class RestService implements AskedCode {
  readonly #url: URL;
  #agent: Agent | undefined;
  #running = 0;
  readonly #queue: (() => void)[] = [];
  /** Called when no request is under way any more. */
  readonly #ending: (() => void)[] = [];

  constructor(private readonly code: ServiceCode) {
    this.#url = new URL(code.address);
  }

  async ask(entry: string, calls: readonly (readonly unknown[])[], signal: AbortSignal): Promise<Answers> {
    const method = this.code.methods[entry];
    if (method === undefined) throw new Error(`service ${this.code.name} has no function ${entry}`);
    const values = new Array<Value>(calls.length).fill(null);
    const failed = new Map<number, string>();
    const one = async (args: readonly unknown[], i: number): Promise<void> => {
      await this.#turn();
      try {
        if (!signal.aborted) values[i] = await this.#call(method, args, signal);
      } catch (error) {
        failed.set(i, `function ${entry}: ${reasonOf(error)}`);
      } finally {
        this.#running--;
        const next = this.#queue.shift();
        if (next !== undefined) next();
        else if (this.#running === 0) for (const end of this.#ending.splice(0)) end();
      }
    };
    await Promise.all(calls.map(one));
    return { values, failed };
  }

  /** Waits for the answers of requests under way. */
  async close(): Promise<void> {
    if (this.#running > 0) await new Promise<void>((resolve) => this.#ending.push(resolve));
    this.#agent?.destroy();
  }

  /** Resolves when there is room for one more request. */
  async #turn(): Promise<void> {
    while (this.#running >= maxAtOnce) await new Promise<void>((resolve) => this.#queue.push(resolve));
    this.#running++;
  }

  async #call(method: ServiceMethod, args: readonly unknown[], signal: AbortSignal): Promise<Value> {
    const { verb, path, body } = requestOf(method, args);
    const { retries, retryMs } = this.code;
    for (let left = Math.max(1, retries); ; left--) {
      try {
        const { contentType, text } = await this.#send(verb, path, body, signal);
        return resultOf(method, contentType, text);
      } catch (error) {
        if (!(error instanceof Unreachable) || left <= 1 || signal.aborted) throw error;
        await new Promise((resolve) => setTimeout(resolve, retryMs));
      }
    }
  }

  async #send(
    verb: string,
    path: string,
    body: string | undefined,
    signal: AbortSignal,
  ): Promise<{ contentType: string; text: string }> {
    const { address, headers, allowPrivate, isInsecure } = this.code;
    const url = new URL(address.replace(/\/+$/, '') + path);
    // An argument in the path never leads to another machine.
    if (url.host !== this.#url.host) throw new Error(`the path ${path.slice(0, 60)} leads away from ${this.#url.host}`);
    const begin = await this.#begin(isInsecure);
    await checkTarget(this.#url, { allowPrivate });
    return new Promise((resolve, reject) => {
      const fail = (error: unknown) =>
        reject(new Unreachable(`${this.#url.host}: ${reasonOf(error)}`, { cause: error }));
      const end = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      const late = () =>
        signal.aborted ? new Error('the rule has ended') : new Error(`no answer within ${timeoutMs} ms`);
      const request = begin(
        url,
        {
          method: verb,
          agent: this.#agent,
          signal: end,
          headers: {
            accept: 'application/json',
            ...(body === undefined
              ? {}
              : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
            ...headers,
          },
        },
        (response: IncomingMessage) => {
          received(response).then(resolve, (error: unknown) =>
            error instanceof Refused ? reject(error) : fail(end.aborted ? late() : error),
          );
        },
      );
      request.on('error', (error) => fail(end.aborted ? late() : error));
      request.end(body);
    });
  }

  /** Connections stay open between the calls; each goes to an address that was checked. */
  async #begin(isInsecure: boolean): Promise<typeof requestHttp> {
    const { allowPrivate } = this.code;
    const lookup: LookupFunction = (_host, { all }, done) => {
      checkTarget(this.#url, { allowPrivate }).then(
        (addresses) => {
          const [first] = addresses as readonly [{ address: string; family: number }];
          if (all) done(null, [...addresses]);
          else done(null, first.address, first.family);
        },
        (error: Error) => done(error, ''),
      );
    };
    const options = { keepAlive: true, maxSockets: maxAtOnce, lookup };
    if (this.#url.protocol !== 'https:') {
      this.#agent ??= new Agent(options);
      return requestHttp;
    }
    const https = await import('node:https');
    this.#agent ??= new https.Agent({ ...options, rejectUnauthorized: !isInsecure });
    return https.request;
  }
}

/** Thrown when the service refuses. */
class Refused extends Error {}

async function received(response: IncomingMessage): Promise<{ contentType: string; text: string }> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxAnswerBytes) throw new Refused(`the answer has more than ${maxAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString();
  const status = response.statusCode ?? 0;
  if (status < 200 || status > 299) throw new Refused(`status ${status}: ${text.slice(0, maxReason)}`);
  return { contentType: response.headers['content-type'] ?? '', text };
}
