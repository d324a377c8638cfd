/**
 * Client of the REST interface, for browsers and Node.js: each route by its method and path as the reference writes
 * them, with the types of what it takes and answers.
 *
 *     const client = new HaumeaClient({ base: 'http://127.0.0.1:9081' });
 *     const rules = await client.ask('GET /rules', { query: { trouble: 'true' } });
 */
import type { Routes } from './gen/routes.js';

export type Route = keyof Routes;

/** What a route takes: parameters of its path, of its query, a body. */
export type Input<R extends Route> = Omit<Routes[R], 'answer'> & { readonly signal?: AbortSignal };
export type Answer<R extends Route> = Routes[R]['answer'];

/** Routes that take nothing that has to be given are asked without a second argument. */
type Inputs<R extends Route> =
  Record<never, never> extends Omit<Routes[R], 'answer'> ? [input?: Input<R>] : [input: Input<R>];

/** A refusal of the server, with the sentence that it gives. */
export class Refusal extends Error {
  override readonly name = 'Refusal';

  constructor(
    readonly status: number,
    message: string,
    /** Code of the kind of failure; 0 where the answer has none. */
    readonly code = 0,
  ) {
    super(message);
  }
}

/** The server did not answer. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

export interface ClientOptions {
  /** Address of the server, without a slash at its end. */
  readonly base: string;
  /** Token of each request, where the server wants one. */
  readonly token?: () => string | undefined;
  readonly fetch?: typeof fetch;
}

/** An event of a stream, or a note about it. */
export type StreamEvent = { readonly data: string } | { readonly note: string };

export class HaumeaClient {
  constructor(private readonly options: ClientOptions) {}

  /** Asks a route. Throws `Refusal` for what the server refuses, `Unreachable` when there is no answer. */
  async ask<R extends Route>(route: R, ...[input]: Inputs<R>): Promise<Answer<R>> {
    const response = await this.#send(route, input as Given | undefined);
    const type = response.headers.get('content-type') ?? '';
    if (type.startsWith('application/json')) return (await response.json()) as Answer<R>;
    return (type.startsWith('text/') || type === '' ? await response.text() : await response.blob()) as Answer<R>;
  }

  /** Opens a stream of events; resolves when the server has it open, with its events until it ends. */
  async events<R extends Route>(route: R, ...[input]: Inputs<R>): Promise<AsyncGenerator<StreamEvent>> {
    const { body } = await this.#send(route, input as Given | undefined);
    if (body === null) throw new Unreachable('the server has sent no stream');
    return eventsOf(body.getReader());
  }

  async #send(route: string, { path = {}, query = {}, body, signal }: Given = {}): Promise<Response> {
    const [method = '', template = ''] = route.split(' ');
    const filled = template.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(path[name] ?? ''));
    const given = Object.entries(query).filter((one): one is [string, string] => one[1] !== undefined);
    const search = given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
    const token = this.options.token?.();
    const isJson = body !== undefined && !(body instanceof FormData) && !(body instanceof Blob);
    const { fetch: ask = fetch, base } = this.options;
    const response = await ask(base + filled + search, {
      method,
      headers: {
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        ...(isJson ? { 'Content-Type': 'application/json' } : {}),
      },
      body: isJson ? (typeof body === 'string' ? body : JSON.stringify(body)) : (body as Blob | FormData | undefined),
      signal,
    }).catch((error: unknown) => {
      if (signal?.aborted) throw error;
      throw new Unreachable('the server does not answer', { cause: error });
    });
    if (!response.ok) throw await refusalOf(response);
    return response;
  }
}

interface Given {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

async function refusalOf(response: Response): Promise<Refusal> {
  const text = await response.text();
  try {
    const { error, message, msg } = JSON.parse(text) as { error?: number; message?: string; msg?: string };
    return new Refusal(response.status, message ?? msg ?? text, error);
  } catch {
    return new Refusal(response.status, text || `the server answers ${response.status}`);
  }
}

/** Reads a stream; whoever leaves the loop over it ends the connection. */
async function* eventsOf(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (rest + decoder.decode(value, { stream: true })).split('\n\n');
      rest = parts.pop() ?? '';
      for (const part of parts) yield* eventOf(part);
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** An event has a data line for each line of its payload; comments are notes of the server. */
function* eventOf(text: string): Generator<StreamEvent> {
  const lines = text.split('\n');
  const linesOf = (head: string) =>
    lines.filter((line) => line.startsWith(head)).map((line) => line.slice(head.length));
  const [data, notes] = [linesOf('data: '), linesOf(': ')];
  if (data.length > 0) yield { data: data.join('\n') };
  if (notes.length > 0) yield { note: notes.join('\n') };
}
