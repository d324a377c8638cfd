/** The engine as a process that is killed and started again with the same data and ports. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { memoryOf, pause } from '../process.js';
import { freePort, Repeatable } from './processes.js';

const startMs = 30_000;
const requestMs = 10_000;
const sampleMs = 200;

export class ChaosEngine {
  /** Most resident memory that was seen, bytes; NaN where the system does not tell. */
  peakBytes = Number.NaN;
  readonly #watches = new Set<{ peak: number }>();
  readonly #sampling: NodeJS.Timeout;

  private constructor(
    readonly process: Repeatable,
    readonly url: string,
  ) {
    this.#sampling = setInterval(() => this.#sample(), sampleMs).unref();
  }

  /** Starts the engine; data, results and logs are below the folder. */
  static async open(
    program: readonly string[],
    folder: string,
    env: Readonly<Record<string, string>> = {},
  ): Promise<ChaosEngine> {
    const data = join(folder, 'data');
    mkdirSync(data, { recursive: true });
    const port = await freePort();
    const command = [process.execPath, ...program, 'serve', '--data', data];
    const engine = new ChaosEngine(
      new Repeatable('engine', command, {
        KUIPER__BASIC__RESTPORT: String(port),
        KUIPER__BASIC__RESTIP: '127.0.0.1',
        KUIPER__SOURCE__HTTPSERVERPORT: String(await freePort()),
        KUIPER__BASIC__CONSOLELOG: 'true',
        KUIPER__BASIC__ALLOWEDPATHS: folder,
        // The ledger.
        HAUMEA_TRIAL_CONNECTORS: '1',
        ...env,
      }),
      `http://127.0.0.1:${port}`,
    );
    await engine.start();
    return engine;
  }

  async start(): Promise<void> {
    this.process.start();
    const end = performance.now() + startMs;
    while (!(await this.#answers())) {
      if (!this.process.isRunning) throw new Error(`the engine has ended at its start:\n${this.process.output}`);
      if (performance.now() > end) throw new Error(`no answer of the engine:\n${this.process.output}`);
      await pause(5);
    }
  }

  async #answers(): Promise<boolean> {
    return fetch(`${this.url}/ping`, { signal: AbortSignal.timeout(1000) }).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  /** Sends a request and returns the text of the answer; throws with it when the status is not 2xx. */
  async call(method: string, path: string, body?: unknown, timeoutMs = requestMs): Promise<string> {
    const response = await fetch(this.url + path, {
      method,
      signal: AbortSignal.timeout(timeoutMs),
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.trim()}`);
    return text;
  }

  /** Status of a rule; undefined while there is no answer. */
  async status(rule: string): Promise<Record<string, unknown> | undefined> {
    return this.call('GET', `/rules/${rule}/status`).then(
      (text) => JSON.parse(text) as Record<string, unknown>,
      () => undefined,
    );
  }

  /** True when the rule runs and its sources and sinks are connected. */
  async runs(rule: string): Promise<boolean> {
    const status = await this.status(rule);
    if (String(status?.status).toLowerCase() !== 'running') return false;
    return Object.entries(status ?? {}).every(([name, value]) => !name.endsWith('_connection_status') || value === 1);
  }

  /** Begins to watch the engine's memory; the returned function ends this and gives the peak, bytes. */
  watchMemory(): () => number {
    const watch = { peak: memoryOf(this.process.pid).now };
    this.#watches.add(watch);
    return () => {
      this.#watches.delete(watch);
      return watch.peak;
    };
  }

  #sample(): void {
    const { now } = memoryOf(this.process.pid);
    if (now > (this.peakBytes || 0)) this.peakBytes = now;
    for (const watch of this.#watches) if (now > (watch.peak || 0)) watch.peak = now;
  }

  async close(): Promise<void> {
    clearInterval(this.#sampling);
    await this.process.end('SIGTERM');
  }
}
