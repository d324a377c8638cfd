/** Systems that take the results and keep what they have confirmed, also when they are killed. */
import { pause } from '../../process.js';
import type { Output } from '../outputs.js';
import type { Victim } from '../processes.js';

export interface Keeper {
  readonly process: Victim;
  readonly output: Output;
  /** The action of a rule that writes to it. */
  readonly action: Record<string, unknown>;
  close(): Promise<void>;
}

/** A server as tests start it. */
export interface KeptServer {
  start(): Promise<void>;
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
}

/** Slice of time, ms; a slowed server runs in one of five slices. */
const sliceMs = 20;

/** Has faults happen to a server: its end is a kill -9. */
export class KeptVictim implements Victim {
  constructor(
    readonly name: string,
    private readonly server: KeptServer,
  ) {}

  end(): Promise<void> {
    return this.server.kill();
  }

  start(): Promise<void> {
    return this.server.start();
  }

  async hold(ms: number): Promise<void> {
    this.server.pause();
    await pause(ms);
    this.server.resume();
  }

  async slow(ms: number): Promise<void> {
    const end = performance.now() + ms;
    while (performance.now() < end) {
      await this.hold(4 * sliceMs);
      await pause(sliceMs);
    }
  }
}

/** Rows that came in, each as often as it came. */
export class HeardRows implements Output {
  readonly heard: string[] = [];

  rows(): readonly string[] {
    return this.heard;
  }

  size(): number {
    return this.heard.length;
  }

  async close(): Promise<void> {}
}

/** Rows that the server is asked for; while it is away they are those of the last answer. */
export class AskedRows implements Output {
  #last: readonly string[] = [];

  constructor(private readonly ask: () => Promise<readonly string[]>) {}

  async rows(): Promise<readonly string[]> {
    this.#last = await this.ask().catch(() => this.#last);
    return this.#last;
  }

  async size(): Promise<number> {
    return (await this.rows()).length;
  }

  async close(): Promise<void> {}
}

/** Throws unless the program is there. */
export function required(isThere: boolean, what: string): void {
  if (!isThere) throw new Error(`${what} is not installed`);
}
