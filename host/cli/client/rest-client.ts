/** Requests of the command line to the REST interface: answers as text, errors with hints for who types commands. */
import { reasonOf } from '../../base/errors.js';
import { HaumeaClient, Refusal, Unreachable } from '../../sdk/client.js';

/** A request that failed: refused by the server (`status`), or without an answer (no status). */
export class RequestError extends Error {
  constructor(
    message: string,
    readonly status?: number,
    /** Number of the error envelope. */
    readonly code?: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  /** The body as JSON, or undefined when it is a plain text. */
  readonly json: unknown;
  /** Warnings of the server, one sentence each. */
  readonly warnings: readonly string[];
}

export interface ClientOptions {
  readonly url: string;
  readonly token?: string;
  readonly timeoutMs: number;
}

/** Hints for a server that can't be reached, by the code of the error. */
const hints: readonly [codes: RegExp, hint: string][] = [
  [/^ECONNREFUSED$/, 'is the server running? (haumea serve)'],
  [/SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)/, 'NODE_EXTRA_CA_CERTS=FILE names a certificate to trust'],
  [/^UND_ERR_SOCKET$/, 'is it a server of this interface, and is http:// or https:// right?'],
];

export class RestClient {
  readonly #client: HaumeaClient;

  constructor(private readonly options: ClientOptions) {
    const { url: base, token } = options;
    // As the file has it: other servers of this interface want it without a word in front.
    this.#client = new HaumeaClient({ base, headers: token === undefined ? {} : { Authorization: token } });
  }

  get base(): string {
    return this.options.url;
  }

  get token(): string | undefined {
    return this.options.token;
  }

  /** Sends a request; an object goes as JSON. Throws a `RequestError` for any status of 400 and above. */
  async send(method: string, path: string, body?: unknown, timeoutMs = this.options.timeoutMs): Promise<Answer> {
    const sent = body === undefined || body instanceof FormData ? body : JSON.stringify(body);
    try {
      const response = await this.#client.send(method, path, { body: sent, signal: AbortSignal.timeout(timeoutMs) });
      const text = await response.text();
      const warnings = warningsIn(response.headers.get('warning') ?? '');
      return { status: response.status, text, json: jsonOf(text), warnings };
    } catch (error) {
      if (error instanceof Refusal) throw refusalOf(error);
      const cause = error instanceof Unreachable ? error.cause : error;
      throw new RequestError(this.silence(cause, timeoutMs), undefined, undefined, { cause });
    }
  }

  private silence(error: unknown, timeoutMs: number): string {
    if (error instanceof Error && error.name === 'TimeoutError') {
      return `${this.base} did not answer within ${timeoutMs / 1000} s`;
    }
    // fetch hides the reason one level below.
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const code = String((cause as NodeJS.ErrnoException).code ?? '');
    if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') return `can't reach ${this.base}: the server speaks http, not https`;
    const hint = hints.find(([codes]) => codes.test(code))?.[1];
    return `can't reach ${this.base}: ${reasonOf(cause) || code}${hint === undefined ? '' : `; ${hint}`}`;
  }
}

function refusalOf({ status, message, code }: Refusal): RequestError {
  const hint = status === 401 ? ' (--token FILE or HAUMEA_TOKEN gives an access token)' : '';
  return new RequestError(message + hint, status, code === 0 ? undefined : code);
}

/** Texts of a header Warning: `299 - "text", 299 - "text"`. */
function warningsIn(header: string): string[] {
  return [...header.matchAll(/299 \S+ ("(?:[^"\\]|\\.)*")/g)].map(([, quoted = '""']) => JSON.parse(quoted) as string);
}

function jsonOf(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
