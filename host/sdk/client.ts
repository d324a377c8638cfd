/**
 * Client of the REST interface, for browsers and Node.js: each route by its method and path as the reference writes
 * them, with the types of what it takes and answers.
 *
 *     const client = new HaumeaClient({ base: 'http://127.0.0.1:9081' });
 *     const rules = await client.ask('GET /rules', { query: { trouble: 'true' } });
 */
import type { Routes } from './gen/routes.js';

export type * from './gen/routes.js';

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
  /** Further headers of each request, as a proxy may want them. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly fetch?: typeof fetch;
}

/** An event of a stream, or a note about it. */
export type StreamEvent = { readonly data: string } | { readonly note: string };

export type Row = Readonly<Record<string, unknown>>;

export type QueryEvent = { readonly row: Row } | { readonly error: string } | { readonly note: string };

export interface QueryOptions {
  /** Rows that stand for those of a stream, by its name; other streams are live. */
  readonly rows?: Readonly<Record<string, readonly Row[]>>;
  /** Options of a rule. */
  readonly options?: Row;
  readonly signal?: AbortSignal;
}

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

  /**
   * Runs a statement until it ends or whoever reads it leaves the loop: its rows as they come, errors in the place of
   * rows, and what the server notes, as a source that is not connected.
   *
   *     for await (const found of client.query('SELECT * FROM demo')) if ('row' in found) console.log(found.row);
   */
  async *query(sql: string, { rows = {}, options, signal }: QueryOptions = {}): AsyncGenerator<QueryEvent> {
    // An id of its own, so that two clients do not end each other's query; pages without TLS have no other randomness.
    const path = { id: `client-${crypto.getRandomValues(new Uint32Array(2)).join('')}` };
    const given = Object.entries(rows).map(([stream, data]) => [stream, { data, interval: 100, loop: false }]);
    const body = { ...path, sql, mockSource: Object.fromEntries(given), options, sinkProps: { sendSingle: true } };
    await this.ask('POST /ruletest', { body });
    try {
      for (let isStarted = false; ; isStarted = true) {
        // The server ends a stream after a while: the next one goes on where it was.
        const events = await this.events('GET /ruletest/{id}/events', { path, signal });
        if (!isStarted) await this.ask('POST /ruletest/{id}/start', { path });
        for await (const event of events) {
          yield* 'note' in event ? [event] : foundIn(event.data);
          if ('note' in event && /^the (stream|query) has ended/.test(event.note)) return;
        }
      }
    } finally {
      await this.ask('DELETE /ruletest/{id}', { path }).catch(() => {});
    }
  }

  /** Sends any request: a path with its query, a text as JSON. Throws as `ask` does. */
  async send(method: string, path: string, { body, signal }: Sent = {}): Promise<Response> {
    const { fetch: ask = fetch, base, token, headers } = this.options;
    const known = token?.()?.replace(/^Bearer +/i, '');
    const isJson = body !== undefined && !(body instanceof FormData) && !(body instanceof Blob);
    const response = await ask(base + path, {
      method,
      headers: {
        ...headers,
        ...(known === undefined ? {} : { Authorization: `Bearer ${known}` }),
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

  #send(route: string, { path = {}, query = {}, ...sent }: Given = {}): Promise<Response> {
    const [method = '', template = ''] = route.split(' ');
    const filled = template.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(path[name] ?? ''));
    const given = Object.entries(query).filter((one): one is [string, string] => one[1] !== undefined);
    return this.send(method, given.length === 0 ? filled : `${filled}?${new URLSearchParams(given)}`, sent);
  }
}

/** What goes with a request. */
export interface Sent {
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

interface Given extends Sent {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | undefined>>;
}

/** What a query finds: the error of a row comes as a text in its place. */
function foundIn(data: string): readonly QueryEvent[] {
  try {
    return [JSON.parse(data) as Row | readonly Row[]].flat().map((row) => ({ row }));
  } catch {
    return [{ error: data }];
  }
}

async function refusalOf(response: Response): Promise<Refusal> {
  const text = await response.text();
  try {
    const { error, message, msg } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    const told = [message, msg].find((one): one is string => typeof one === 'string' && one !== '') ?? text.trim();
    return new Refusal(response.status, told || nothingTold(response), typeof error === 'number' ? error : 0);
  } catch {
    return new Refusal(response.status, text.trim() || nothingTold(response));
  }
}

const nothingTold = ({ status }: Response) => `the server answers with status ${status}`;

/** Reads a stream; whoever leaves the loop over it ends the connection. */
async function* eventsOf(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (rest + decoder.decode(value, { stream: true })).split(/\r?\n\r?\n/);
      rest = parts.pop() ?? '';
      for (const part of parts) yield* eventOf(part);
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** An event has a data line for each line of its payload; comments are notes of the server. */
function* eventOf(text: string): Generator<StreamEvent> {
  const lines = text.split(/\r?\n/);
  const linesOf = (head: RegExp) => lines.filter((line) => head.test(line)).map((line) => line.replace(head, ''));
  const [data, notes] = [linesOf(/^data: ?/), linesOf(/^: ?/)];
  if (data.length > 0) yield { data: data.join('\n') };
  if (notes.length > 0) yield { note: notes.join('\n') };
}
