/** Processes of a run that are killed, stopped and slowed; none outlives the harness. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { pause } from '../process.js';

const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** Bytes of a process's output that are kept. */
const keptOutput = 20_000;
/** Slice of time, ms; a slowed process runs in one of five slices. */
const sliceMs = 20;
const endMs = 10_000;

/** What faults happen to. */
export interface Victim {
  readonly name: string;
  start(): void | Promise<void>;
  /** Ends it: at once, or as a service is ended. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Stops it for a while, then lets it go on. */
  hold(ms: number): Promise<void>;
  /** Lets it run for only a fifth of the time. */
  slow(ms: number): Promise<void>;
  /** Sets the largest size of its files, bytes; undefined for no bound. Left out where nobody can. */
  limitFiles?(bytes: number | undefined): void;
}

/** A process that can be started again and again with the same command. */
export class Repeatable implements Victim {
  #child: ChildProcess | undefined;
  output = '';

  constructor(
    readonly name: string,
    readonly command: readonly string[],
    readonly env: Record<string, string>,
  ) {}

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  start(): void {
    const [program, ...args] = this.command as [string, ...string[]];
    const child = spawn(program, args, { env: { ...process.env, ...this.env }, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    children.add(child);
    child.once('exit', () => children.delete(child));
    child.once('error', (error) => {
      this.output += `${error.message}\n`;
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.output = (this.output + chunk).slice(-keptOutput);
      });
    }
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.isRunning) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    // A stopped process takes no other signal.
    child.kill('SIGCONT');
    const force = setTimeout(() => child.kill('SIGKILL'), endMs);
    await exited;
    clearTimeout(force);
  }

  async hold(ms: number): Promise<void> {
    const child = this.#child;
    child?.kill('SIGSTOP');
    await pause(ms);
    child?.kill('SIGCONT');
  }

  async slow(ms: number): Promise<void> {
    const end = performance.now() + ms;
    while (performance.now() < end) {
      await this.hold(4 * sliceMs);
      await pause(sliceMs);
    }
  }

  limitFiles(bytes: number | undefined): void {
    const given = bytes === undefined ? 'unlimited' : String(bytes);
    spawnSync('prlimit', ['--pid', String(this.pid), `--fsize=${given}:`], { stdio: 'ignore' });
  }
}

/** True when there is such a program. */
export function hasProgram(name: string): boolean {
  return spawnSync(name, ['--help'], { stdio: 'ignore' }).error === undefined;
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
