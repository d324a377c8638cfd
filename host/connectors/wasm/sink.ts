/**
 * Messages as lines that a program reads. A line counts as delivered when the program has read it and asks for more.
 * One that ends before is started again by the engine, and gets the lines since then once more.
 */
import type { RunningProgram } from '../../base/structures/piped-program.js';
import type { Sink, SinkChunk, SinkContext } from '../running.js';
import { missingPlugin } from './missing.js';

interface WasmSinkConf {
  readonly plugin: string;
  readonly args: readonly string[] | undefined;
}

interface Waiting {
  readonly bytes: Buffer;
  readonly messages: number;
}

/** Time that a program gets to end when it has no more input, ms. */
const endMs = 3000;

export class WasmSink implements Sink {
  readonly #waiting: Waiting[] = [];
  #running: RunningProgram | undefined;
  /** Bytes of the first waiting chunk that the program has dealt with, in this run or before. */
  #handled = 0;
  /** Chunk that is written next, and what of it is written. */
  #next = 0;
  #written = 0;
  /** What the program had dealt with when it was looked at last. */
  #seen = 0;
  #isClosed = false;
  #whenIdle: (() => void)[] = [];
  #whenEnded: () => void = () => {};

  constructor(
    readonly conf: WasmSinkConf,
    readonly context: SinkContext,
  ) {}

  async open(): Promise<void> {
    const { program } = this.context;
    const { plugin, args = [] } = this.conf;
    if (program === undefined) throw missingPlugin(plugin);
    let started: RunningProgram | undefined;
    // One that ends at once tells so before it counts as started: its end is looked at below.
    const progressed = () => started !== undefined && this.#progressed(started);
    const running = await program.start({ args, hasOutput: false, progressed });
    started = running;
    if (this.#isClosed) {
      running.stop();
      return;
    }
    this.#running = running;
    this.#seen = 0;
    this.#next = 0;
    // A line that was cut is given whole.
    const [first] = this.#waiting;
    const cut = this.#handled;
    this.#handled = first === undefined || cut === 0 ? 0 : first.bytes.lastIndexOf(0x0a, cut - 1) + 1;
    this.#written = this.#handled;
    this.#send();
    if (running.end !== undefined) this.#progressed(running);
  }

  write({ bytes, messages }: SinkChunk): void {
    this.#waiting.push({ bytes: Buffer.from(bytes), messages });
    queueMicrotask(() => this.#send());
  }

  flush(): Promise<void> {
    if (this.#waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const running = this.#running;
    if (running === undefined || running.end !== undefined) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, endMs);
      this.#whenEnded = () => {
        clearTimeout(timer);
        resolve();
      };
      running.endInput();
    });
    running.stop();
  }

  #send(): void {
    const running = this.#running;
    if (running === undefined || this.#isClosed) return;
    while (this.#next < this.#waiting.length) {
      const { bytes } = this.#waiting[this.#next] as Waiting;
      this.#written += running.write(bytes.subarray(this.#written));
      if (this.#written < bytes.length) return;
      this.#next++;
      this.#written = 0;
    }
  }

  #progressed(running: RunningProgram): void {
    if (this.#running !== running) return;
    this.#credit(running);
    if (running.end === undefined) {
      this.#send();
      return;
    }
    this.#running = undefined;
    this.#whenEnded();
    // It may need many attempts, as a portable plugin does.
    if (!this.#isClosed) this.context.disconnected(running.end.reason, true);
  }

  /** Gives credit back for chunks that the program has dealt with. */
  #credit(running: RunningProgram): void {
    const { handled } = running;
    this.#handled += handled - this.#seen;
    this.#seen = handled;
    while (this.#waiting.length > 0) {
      const { bytes, messages } = this.#waiting[0] as Waiting;
      if (this.#handled < bytes.length) return;
      this.#handled -= bytes.length;
      this.#waiting.shift();
      this.#next--;
      this.context.accepted(bytes.length, messages);
    }
    for (const call of this.#whenIdle.splice(0)) call();
  }
}
