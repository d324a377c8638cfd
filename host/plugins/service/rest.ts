/** Calls over HTTP, with one request for each list of arguments. */
import type { Value } from '../../../kernels/values/value.js';
import { reasonOf } from '../../base/errors.js';
import type { Http1Answer } from '../../clients/http1/answer.js';
import { Http1Client } from '../../clients/http1/client.js';
import type { ServiceCode } from '../service-code.js';
import { refuse, ServiceFault, shortReason } from './faults.js';
import type { Ending, Prepared, Protocol } from './protocol.js';
import { RestMethod } from './request.js';
import { Types } from './schema/types.js';
import { Target } from './target.js';

/** Verbs that do the same when they come twice. */
const idempotent = /^(GET|HEAD|PUT|DELETE|OPTIONS)$/;
/** Headers that belong to a connection, or that the client sets. */
const reserved = /^(host|connection|content-length|transfer-encoding|accept-encoding|keep-alive|upgrade|te|trailer)$/i;

export class RestService implements Protocol {
  readonly #client: Http1Client;
  readonly #methods = new Map<string, RestMethod>();
  readonly #host: string;
  /** Path of the address, in front of those of methods. */
  readonly #base: string;
  /** Headers of all requests. */
  readonly #headers: string;

  constructor(private readonly code: ServiceCode) {
    const target = new Target(code);
    const { pathname, username, password } = new URL(code.address);
    this.#host = target.authority;
    this.#base = pathname.replace(/\/+$/, '');
    this.#client = new Http1Client({ connect: () => target.connect(undefined), maxBytes: code.maxBytes });
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
    this.#headers = [...headers].map(([name, value]) => `${name}: ${value}\r\n`).join('');
  }

  prepare(entry: string, args: readonly unknown[]): Prepared {
    const method = this.#methods.get(entry);
    if (method === undefined) throw new Error(`service ${this.code.name} has no function ${entry}`);
    const { verb, path, body } = method.requestOf(args);
    const length = body === undefined ? 0 : Buffer.byteLength(body);
    if (length > this.code.maxBytes) throw refuse(`the message has more than ${this.code.maxBytes} bytes`);
    const type =
      body === undefined || /^content-type:/m.test(this.#headers) ? '' : 'content-type: application/json\r\n';
    const size = body === undefined && idempotent.test(verb) ? '' : `content-length: ${length}\r\n`;
    const line = `${verb} ${this.#base}${written(path)} HTTP/1.1\r\n`;
    const head = `${line}host: ${this.#host}\r\n${this.#headers}${type}${size}\r\n`;
    const bytes = Buffer.from(body === undefined ? head : head + body);
    const request = { bytes, isHead: verb === 'HEAD', isIdempotent: idempotent.test(verb) };
    return { send: (ending) => this.#client.send(request, this.#endingOf(method, ending)) };
  }

  close(): void {
    this.#client.close();
  }

  #endingOf(method: RestMethod, ending: Ending): Parameters<Http1Client['send']>[1] {
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
      failed: ({ kind, reason }) => {
        const text = shortReason(reason);
        if (kind === 'broken') ending.failed(new ServiceFault('refused', text));
        else ending.failed(new ServiceFault('unreachable', `${this.#host}: ${text}`));
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
function faultOf({ status, retryAfter, body }: Http1Answer): ServiceFault | undefined {
  if (status >= 200 && status <= 299) return undefined;
  const reason = `status ${status}: ${shortReason(body.toString('utf8', 0, 1000))}`;
  if (status === 429) return new ServiceFault('busy', reason, pauseOf(retryAfter));
  if (status >= 502 && status <= 504) return new ServiceFault('unreachable', reason, pauseOf(retryAfter));
  return new ServiceFault('refused', reason);
}

function pauseOf(retryAfter: string): number {
  return /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) * 1000 : 0;
}
