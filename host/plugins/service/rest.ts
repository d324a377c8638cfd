/** Calls over HTTP, with one request for each list of arguments. */
import type { Value } from '../../../kernels/values/value.js';
import { reasonOf } from '../../base/errors.js';
import type { ServiceCode } from '../service-code.js';
import { refuse, ServiceFault, shortReason } from './faults.js';
import { type HttpAnswer, type HttpRequest, HttpRequests } from './http-requests.js';
import type { Ending, Prepared, Protocol } from './protocol.js';
import { RestMethod } from './request.js';
import { Types } from './schema/types.js';
import { Target } from './target.js';

/** Headers that belong to a connection, or that the client sets. */
const reserved = /^(host|connection|content-length|transfer-encoding|accept-encoding|keep-alive|upgrade|te|trailer)$/i;

export class RestService implements Protocol {
  readonly #requests: HttpRequests;
  readonly #methods = new Map<string, RestMethod>();
  readonly #host: string;
  /** Path of the address, in front of those of methods. */
  readonly #base: string;
  /** Headers of all requests, names and values in turn. */
  readonly #headers: readonly string[];
  readonly #hasType: boolean;

  constructor(private readonly code: ServiceCode) {
    const target = new Target(code);
    const { protocol, host, pathname, username, password } = new URL(code.address);
    this.#host = target.authority;
    this.#base = pathname.replace(/\/+$/, '');
    this.#requests = new HttpRequests({
      origin: `${protocol}//${host}`,
      connect: () => target.connect(undefined),
      atOnce: code.atOnce,
      maxBytes: code.maxBytes,
    });
    const types = new Types(code.types);
    for (const [func, method] of Object.entries(code.methods)) this.#methods.set(func, new RestMethod(method, types));
    const headers = new Map([['accept', 'application/json']]);
    if (username !== '') {
      const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
      headers.set('authorization', `Basic ${Buffer.from(pair).toString('base64')}`);
    }
    for (const [name, value] of Object.entries(code.headers)) {
      if (!reserved.test(name)) headers.set(name.toLowerCase(), value);
    }
    // What is no Latin-1 goes out in the bytes of UTF-8.
    this.#headers = [...headers].flatMap(([name, value]) => [name, Buffer.from(value).toString('latin1')]);
    this.#hasType = headers.has('content-type');
  }

  prepare(entry: string, args: readonly unknown[]): Prepared {
    const method = this.#methods.get(entry);
    if (method === undefined) throw new Error(`service ${this.code.name} has no function ${entry}`);
    const { verb, path, body } = method.requestOf(args);
    const bytes = body === undefined ? undefined : Buffer.from(body);
    if (bytes !== undefined && bytes.length > this.code.maxBytes) {
      throw refuse(`the message has more than ${this.code.maxBytes} bytes`);
    }
    const headers = [...this.#headers];
    if (bytes !== undefined && !this.#hasType) headers.push('content-type', 'application/json');
    const request: HttpRequest = { verb, path: `${this.#base}${written(path)}`, headers, body: bytes };
    return { send: (ending) => this.#requests.send(request, this.#endingOf(method, ending)) };
  }

  close(): void {
    this.#requests.close();
  }

  #endingOf(method: RestMethod, ending: Ending): Parameters<HttpRequests['send']>[1] {
    return {
      answered: (answer) => {
        let value: Value;
        try {
          const fault = faultOf(answer);
          if (fault !== undefined) throw fault;
          value = method.resultOf(answer.contentType, answer.body.toString());
        } catch (error) {
          ending.failed(error instanceof ServiceFault ? error : new ServiceFault('refused', reasonOf(error)));
          return;
        }
        ending.answered(value);
      },
      failed: (fault) => {
        if (fault.kind !== 'unreachable') ending.failed(fault);
        else ending.failed(new ServiceFault('unreachable', `${this.#host}: ${fault.message}`));
      },
    };
  }
}

/** A path in the bytes of a request: what a request can't have is encoded. */
function written(path: string): string {
  if (/^[\x21-\x7e]*$/.test(path) && !path.includes('#')) return path;
  return path.replace(/[^\x21-\x7e]|#/gu, (char) => encodeURIComponent(char));
}

/** What an answer that is no success says. */
function faultOf({ status, retryAfter, body }: HttpAnswer): ServiceFault | undefined {
  if (status >= 200 && status <= 299) return undefined;
  const reason = `status ${status}: ${shortReason(body.toString('utf8', 0, 1000))}`;
  if (status === 429) return new ServiceFault('busy', reason, pauseOf(retryAfter));
  if (status >= 502 && status <= 504) return new ServiceFault('unreachable', reason, pauseOf(retryAfter));
  return new ServiceFault('refused', reason);
}

function pauseOf(retryAfter: string): number {
  return /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) * 1000 : 0;
}
