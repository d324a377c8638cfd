/** The engine under test behind its REST interface: our own, started here, or any other by its address. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { cpuMs, endProcess, memoryOf, pause, startNode } from './process.js';
import { send } from './request.js';

/** Longest start, also on a machine that is busy, ms. */
const longestStartMs = 60_000;

export interface EngineOptions {
  /** Address of a running engine; empty: start our own. */
  url: string;
  /** Process to watch when `url` is given; 0 unknown. */
  pid: number;
  /** Command line of our own server. */
  command: string[];
  env: Record<string, string>;
  /** Properties added to the configuration key of the MQTT source (knobs). */
  sourceProps: Record<string, unknown>;
  folder: string;
  /** Our own server has all cores; by default it is pinned to one. */
  hasAllCores?: boolean;
}

/** REST client and process of one engine. */
export class EngineUnderTest {
  private constructor(
    readonly url: string,
    readonly pid: number,
    private readonly child: ChildProcess | null,
    private readonly options: EngineOptions,
    /** Milliseconds from process start to the first answer. */
    readonly startMs: number,
    /** Address of the data server; empty where the engine is not ours. */
    readonly dataUrl = '',
  ) {}

  static async open(options: EngineOptions): Promise<EngineUnderTest> {
    if (options.url !== '') {
      const engine = new EngineUnderTest(options.url.replace(/\/$/, ''), options.pid, null, options, Number.NaN);
      await engine.call('GET', '/');
      return engine;
    }
    const [rest, data] = [await freePort(), await freePort()];
    const folder = join(options.folder, 'data');
    mkdirSync(folder, { recursive: true });
    const started = performance.now();
    const child = startNode(
      [...options.command, 'serve', '--data', folder],
      options.hasAllCores === true ? 'anywhere' : 'engine',
      {
        KUIPER__BASIC__RESTPORT: String(rest),
        KUIPER__BASIC__RESTIP: '127.0.0.1',
        KUIPER__SOURCE__HTTPSERVERPORT: String(data),
        KUIPER__BASIC__CONSOLELOG: 'true',
        // Results go into files beside the data folder.
        KUIPER__BASIC__ALLOWEDPATHS: options.folder,
        ...options.env,
      },
      false,
    );
    let output = '';
    child.stdout?.on('data', (chunk) => {
      output = (output + chunk).slice(-4000);
    });
    child.stderr?.on('data', (chunk) => {
      output = (output + chunk).slice(-4000);
    });
    const url = `http://127.0.0.1:${rest}`;
    for (;;) {
      if (child.exitCode !== null) throw new Error(`the engine has ended at start:\n${output}`);
      try {
        await (await fetch(`${url}/ping`)).arrayBuffer();
        break;
      } catch {
        if (performance.now() - started > longestStartMs) {
          await endProcess(child);
          throw new Error(`no answer from the engine at ${url}:\n${output}`);
        }
        await pause(5);
      }
    }
    const startMs = performance.now() - started;
    return new EngineUnderTest(url, child.pid as number, child, options, startMs, `http://127.0.0.1:${data}`);
  }

  /** Sends a request and returns the answer's text; throws with it when the status is not 2xx. */
  async call(method: string, path: string, body?: unknown): Promise<string> {
    const { status, text } = await send(method, this.url + path, body);
    if (status < 200 || status > 299) throw new Error(`${method} ${path}: ${status} ${text.trim()}`);
    return text;
  }

  async status(rule: string): Promise<Record<string, unknown>> {
    return JSON.parse(await this.call('GET', `/rules/${rule}/status`)) as Record<string, unknown>;
  }

  /** Makes the stream of a workload, reading from the broker at `port`. */
  async createStream(name: string, ddl: string, port: number): Promise<void> {
    await this.call('PUT', '/metadata/sources/mqtt/confKeys/bench', {
      server: `tcp://127.0.0.1:${port}`,
      qos: 0,
      ...this.options.sourceProps,
    });
    await this.remove(`/streams/${name}`);
    await this.call('POST', '/streams', { sql: ddl });
  }

  async createRule(id: string, sql: string, action: object, options: object = {}): Promise<void> {
    await this.remove(`/rules/${id}`);
    await this.call('POST', '/rules', { id, sql, actions: [action], options });
  }

  /** Deletes what may not exist. */
  async remove(path: string): Promise<void> {
    await (await fetch(this.url + path, { method: 'DELETE' })).arrayBuffer();
  }

  /**
   * Waits until the source of the rule has taken `count` records or nothing changes for `quietMs`; returns the records
   * seen.
   */
  async consumed(rule: string, stream: string, count: number, quietMs: number): Promise<number> {
    let seen = -1;
    let since = performance.now();
    for (;;) {
      const now = Number((await this.status(rule))[`source_${stream}_0_records_in_total`] ?? 0);
      if (now >= count) return now;
      if (now !== seen) {
        seen = now;
        since = performance.now();
      } else if (performance.now() - since > quietMs) return now;
      await pause(20);
    }
  }

  cpuMs(): number {
    return this.pid > 0 ? cpuMs(this.pid) : Number.NaN;
  }

  memory(): { now: number; peak: number } {
    return this.pid > 0 ? memoryOf(this.pid) : { now: Number.NaN, peak: Number.NaN };
  }

  async close(): Promise<void> {
    if (this.child) await endProcess(this.child);
  }

  /** Sends our own server the signal, and waits for its end for as long as it takes. */
  async end(signal: NodeJS.Signals): Promise<void> {
    const { child } = this;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
