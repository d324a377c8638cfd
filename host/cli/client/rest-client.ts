/** Requests to the REST interface, with the server's own words in errors. */
import { reasonOf } from '../../base/errors.js';

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
  constructor(private readonly options: ClientOptions) {}

  get base(): string {
    return this.options.url;
  }

  get token(): string | undefined {
    return this.options.token;
  }

  /** Sends a request; an object goes as JSON. Throws a `RequestError` for any status of 400 and above. */
  async send(method: string, path: string, body?: unknown, timeoutMs = this.options.timeoutMs): Promise<Answer> {
    const isForm = body instanceof FormData;
    const headers: Record<string, string> = {};
    if (this.token !== undefined) headers.authorization = this.token;
    if (body !== undefined && !isForm) headers['content-type'] = 'application/json';
    let status: number;
    let text: string;
    let warnings: string[];
    try {
      const response = await fetch(this.base + path, {
        method,
        headers,
        body: isForm ? body : body === undefined ? undefined : JSON.stringify(body),
        signal: AbortSignal.timeout(timeoutMs),
      });
      status = response.status;
      text = await response.text();
      warnings = warningsIn(response.headers.get('warning') ?? '');
    } catch (error) {
      throw new RequestError(this.silence(error, timeoutMs), undefined, undefined, { cause: error });
    }
    const json = jsonOf(text);
    if (status >= 400) throw refusalOf(status, text, json);
    return { status, text, json, warnings };
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

/** Finds the message in the forms that errors have: the envelope, `{msg}`, plain text. */
function refusalOf(status: number, text: string, json: unknown): RequestError {
  const { error, message, msg } = (typeof json === 'object' && json !== null ? json : {}) as Record<string, unknown>;
  const told = [message, msg].find((item) => typeof item === 'string' && item !== '') ?? text.trim();
  const hint = status === 401 ? ' (--token FILE or HAUMEA_TOKEN gives an access token)' : '';
  return new RequestError(
    (told === '' ? `the server answers with status ${status}` : String(told)) + hint,
    status,
    typeof error === 'number' ? error : undefined,
  );
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
