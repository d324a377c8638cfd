/** A server for tests of the client: answers from a table, keeps what it was asked. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { main } from '../../../host/cli/index.js';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export type Reaction =
  | { readonly status?: number; readonly body?: unknown }
  | ((response: ServerResponse, asked: Asked) => void);

export interface FakeServer {
  readonly base: string;
  readonly port: number;
  readonly asked: Asked[];
  /** Sets the answer to requests: `POST /rules`, or `*` for all without one of their own. */
  on(request: string, reaction: Reaction): void;
  reset(): void;
  close(): void;
}

export async function fakeServer(): Promise<FakeServer> {
  const reactions = new Map<string, Reaction>();
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const one = {
      method: request.method ?? '',
      path: request.url ?? '',
      body: Buffer.concat(chunks).toString(),
      headers: request.headers,
    };
    asked.push(one);
    const reaction = reactions.get(`${one.method} ${one.path}`) ?? reactions.get('*') ?? {};
    if (typeof reaction === 'function') return reaction(response, one);
    const { status = 200, body = '' } = reaction;
    response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    base: `http://127.0.0.1:${port}`,
    port,
    asked,
    on: (request, reaction) => void reactions.set(request, reaction),
    reset: () => {
      reactions.clear();
      asked.length = 0;
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Lets the server run test rules: `events` are sent when one is started; the stream ends with its deletion. */
export function serveQueries(server: FakeServer, events: readonly string[]): void {
  let stream: ServerResponse | undefined;
  server.on('*', (response, { method, path, body }) => {
    if (method === 'POST' && path === '/ruletest') {
      response.end(JSON.stringify({ id: JSON.parse(body).id, port: server.port }));
    } else if (path.startsWith('/test/')) {
      stream = response;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
    } else if (path.endsWith('/start')) {
      response.end('Test rule was started');
      const send = () => {
        if (stream === undefined) return void setImmediate(send);
        stream.write(events.map((event) => `data: ${event}\n\n`).join(''));
      };
      send();
    } else {
      stream?.end();
      response.end('Test rule was stopped.');
    }
  });
}

export interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Text on standard input. */
  readonly input?: string;
  /** What somebody types at a terminal, in the place of `input`. */
  readonly terminal?: PassThrough;
  /** Gets what presses Ctrl-C each time a command begins to listen for it. */
  readonly onListen?: (interrupt: () => void) => void;
  /** Gets what is printed as an error, as it comes. */
  readonly onErr?: (text: string) => void;
}

/** Runs a command line against a server and collects what it prints. */
export async function run(base: string, argv: readonly string[], options: RunOptions = {}): Promise<Run> {
  let out = '';
  let err = '';
  const input = options.terminal ?? new PassThrough();
  if (options.terminal === undefined) input.end(options.input ?? '');
  const code = await main(argv, {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
      options.onErr?.(text);
    },
    env: { HAUMEA_URL: base, ...options.env },
    input,
    isInteractive: options.terminal !== undefined,
    onInterrupt: (call) => {
      options.onListen?.(call);
      return () => {};
    },
  });
  return { code, out, err };
}
