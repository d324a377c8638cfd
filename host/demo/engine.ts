/** The engine of the demo: a process of its own, used through its REST interface. */
import { type ChildProcess, spawn } from 'node:child_process';
import { HaumeaError } from '../base/errors.js';

const startMs = 15_000;
/** An engine that does not end by itself is killed after this time. */
const endMs = 5000;

export interface EngineOptions {
  /** Folder of its definitions. */
  readonly folder: string;
  readonly restPort: number;
  readonly dataPort: number;
  /** Settings as the user has them; what the demo needs otherwise is its own default. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

const loopback = '127.0.0.1';

export class DemoEngine {
  readonly base: string;
  /** Rejects with what the process said last when it ends before `close`. */
  readonly crashed: Promise<never>;
  readonly #process: ChildProcess;
  readonly #token: string | undefined;
  #isEnding = false;

  constructor({ folder, restPort, dataPort, env }: EngineOptions) {
    const ip = env.KUIPER__BASIC__RESTIP || loopback;
    const host = ip === '0.0.0.0' || ip === '::' ? loopback : ip.includes(':') ? `[${ip}]` : ip;
    this.base = `${env.KUIPER__BASIC__RESTTLS__CERTFILE ? 'https' : 'http'}://${host}:${restPort}`;
    this.#token = env.HAUMEA_TOKEN;
    const args = [...process.execArgv, process.argv[1] as string, 'serve', '--data', folder];
    this.#process = spawn(process.execPath, args, {
      env: {
        KUIPER__SOURCE__HTTPSERVERIP: loopback,
        ...env,
        KUIPER__BASIC__RESTIP: ip,
        KUIPER__BASIC__RESTPORT: String(restPort),
        KUIPER__SOURCE__HTTPSERVERPORT: String(dataPort),
        KUIPER__BASIC__CONSOLELOG: 'false',
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    // Should the demo fail, nothing of it stays.
    process.once('exit', () => this.#process.kill('SIGKILL'));
    let errors = '';
    this.#process.stderr?.on('data', (chunk) => {
      errors = (errors + chunk).slice(-2000);
    });
    this.crashed = new Promise<never>((_, reject) => {
      this.#process.once('exit', () => {
        if (!this.#isEnding) reject(new HaumeaError('general', `the engine has ended: ${errors.trim()}`));
      });
    });
    // Whoever waits is told; nobody may be waiting yet.
    this.crashed.catch(() => undefined);
  }

  /** Resolves when REST answers. */
  async answers(): Promise<void> {
    const started = performance.now();
    for (;;) {
      try {
        await (await fetch(`${this.base}/ping`)).arrayBuffer();
        return;
      } catch (cause) {
        if (this.#isEnding) throw new HaumeaError('general', 'the engine was ended before it answered', { cause });
        if (performance.now() - started > startMs)
          throw new HaumeaError('connection', `the engine does not answer at ${this.base}`, { cause });
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  /** Sends a request; throws with the answer when it is a refusal. */
  async call(method: string, path: string, body: object): Promise<void> {
    const response = await fetch(this.base + path, {
      method,
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...(this.#token ? { authorization: this.#token } : {}) },
    });
    const text = await response.text();
    if (!response.ok) throw new HaumeaError('general', `${method} ${path}: ${text.trim()}`);
  }

  /** The JSON that a question is answered with. */
  async ask(path: string): Promise<unknown> {
    const response = await fetch(this.base + path, { headers: this.#token ? { authorization: this.#token } : {} });
    const text = await response.text();
    if (!response.ok) throw new HaumeaError('general', `GET ${path}: ${text.trim()}`);
    return JSON.parse(text);
  }

  /** Ends it as a crash would. */
  kill(): void {
    this.#isEnding = true;
    this.#process.kill('SIGKILL');
  }

  async close(): Promise<void> {
    this.#isEnding = true;
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const gone = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.kill('SIGTERM');
    const force = setTimeout(() => this.#process.kill('SIGKILL'), endMs);
    await gone;
    clearTimeout(force);
  }
}
