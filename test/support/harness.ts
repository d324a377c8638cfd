/** What test files share: temporary folders, free ports, a server process, requests with a time limit. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const requestTimeoutMs = 60_000;
const startTimeoutMs = 60_000;
/**
 * Systems give connections ports behind these: one of those could be taken until a server listens. Each process begins
 * elsewhere.
 */
const firstPort = 12_000;
const endPort = 32_000;
let nextPort = firstPort + ((process.pid * 53) % (endPort - firstPort));
const folders: string[] = [];
const servers = new Set<TestServer>();

process.on('exit', () => {
  for (const server of servers) server.child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Makes a folder that is removed when the test process ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'haumea-test-'));
  folders.push(folder);
  return folder;
}

/** Finds a port nobody listens on. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = nextPort;
    nextPort = nextPort + 1 < endPort ? nextPort + 1 : firstPort;
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

/** Fails when a promise takes longer than the limit; `what` says what was waited for. */
export async function within<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Repeats a look until it finds something, at most for the time given. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined> | T | undefined,
  ms = 60_000,
): Promise<T> {
  const end = performance.now() + ms;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > end) throw new Error(`${what} did not happen within ${ms} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Waits until a count is reached, for as long as it grows within `ms`: how fast it grows is the machine's. */
export async function eventuallyAll(what: string, count: () => number, wanted: number, ms = 60_000): Promise<void> {
  for (let before = count(); before < wanted; before = count()) {
    const last = before;
    await eventually(`more of ${what} than ${last} of ${wanted}`, () => count() > last, ms);
  }
}

/** As `eventually`, for as long as files grow within `ms`. */
export async function eventuallyWritten(
  what: string,
  files: readonly string[],
  look: () => Promise<boolean> | boolean,
  ms = 60_000,
): Promise<void> {
  const written = () => files.reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0);
  for (let isThere = false; !isThere; ) {
    const before = written();
    isThere = await eventually(what, async () => ((await look()) ? 'there' : written() > before && 'more'), ms).then(
      (found) => found === 'there',
    );
  }
}

/** A look, for `eventually`, that asks for so much that it is repeated after three times its own time. */
export function costly(look: () => Promise<boolean>): () => Promise<boolean> {
  return async () => {
    const began = performance.now();
    if (await look()) return true;
    await new Promise((resolve) => setTimeout(resolve, 3 * (performance.now() - began)));
    return false;
  };
}

/** Announces a test that can't run here; the runner shows the reason. */
export function announceSkip(name: string, reason: string): void {
  console.log(`SKIP ${name}: ${reason}`);
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly type: string;
  readonly headers: Headers;
  /** The body read as JSON; fails when it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly json: any;
}

/** Sends a request; an object body goes as JSON, a text as it is. */
export async function request(
  base: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const isText = typeof body === 'string' || body === undefined;
  const response = await fetch(base + path, {
    method,
    body: isText ? body : JSON.stringify(body),
    headers: isText ? headers : { 'content-type': 'application/json', ...headers },
    signal: AbortSignal.timeout(requestTimeoutMs),
  });
  const text = await response.text();
  return {
    status: response.status,
    text,
    type: response.headers.get('content-type') ?? '',
    headers: response.headers,
    get json() {
      return JSON.parse(text);
    },
  };
}

export interface TestServer {
  readonly base: string;
  readonly data: string;
  readonly child: ChildProcess;
  /** Everything the process printed so far. */
  output(): string;
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Ends the process and resolves with its exit code; null after a kill. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export interface ServerOptions {
  readonly data?: string;
  readonly env?: Record<string, string>;
  readonly args?: readonly string[];
  /** Port of REST, for a server that takes the place of another; by default a free one. */
  readonly port?: number;
}

/** Arguments of Node that run haumea: from the build when the runner says so (see run.ts), else from the sources. */
export const haumea: readonly string[] =
  process.env.HAUMEA_FROM_BUILD === '1'
    ? [join(root, 'dist/main.mjs')]
    : ['--import', import.meta.resolve('tsx'), join(root, 'host/main.ts')];

/** Starts `haumea serve` on free ports and waits until REST answers. */
export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const data = options.data ?? temporaryFolder();
  const port = options.port ?? (await freePort());
  const child = spawn(process.execPath, [...haumea, 'serve', '--data', data, ...(options.args ?? [])], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      KUIPER__BASIC__RESTIP: '127.0.0.1',
      KUIPER__BASIC__RESTPORT: String(port),
      KUIPER__SOURCE__HTTPSERVERPORT: String(await freePort()),
      // Tests give servers files of temporary folders besides their data folders.
      KUIPER__BASIC__ALLOWEDPATHS: tmpdir(),
      ...options.env,
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const base = `http://127.0.0.1:${port}`;
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const server: TestServer = {
    base,
    data,
    child,
    output: () => output,
    request: (method, path, body, headers) => request(base, method, path, body, headers),
    stop: async (signal = 'SIGTERM') => {
      child.kill(signal);
      const code = await within(startTimeoutMs, 'the end of the server', exited);
      servers.delete(server);
      return code;
    },
  };
  servers.add(server);
  await eventually(
    'an answer of the server',
    async () => {
      if (child.exitCode !== null) throw new Error(`the server ended with code ${child.exitCode}: ${output}`);
      return (await fetch(`${base}/ping`).catch(() => undefined))?.ok === true ? true : undefined;
    },
    startTimeoutMs,
  );
  return server;
}
