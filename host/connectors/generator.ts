/**
 * A source that makes its messages itself, some at once and some after each interval. It stands still while the sinks
 * take no more.
 */
import { systemClock, type Timer } from '../base/time/clock.js';
import { FrameBuffer } from './messages/frames.js';
import type { Source, SourceContext } from './running.js';

export abstract class Generator implements Source {
  #timer: Timer | undefined;
  #isClosed = false;
  protected readonly frames = new FrameBuffer();

  constructor(
    private readonly intervalMs: number,
    protected readonly context: SourceContext,
  ) {}

  /** Adds the messages of an interval to `frames`; false when there will be no more. */
  protected abstract fill(): boolean;

  async open(): Promise<void> {
    this.#isClosed = false;
    this.#arm(0);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.close();
  }

  #tick(): void {
    const goesOn = this.fill();
    if (this.frames.count > 0) this.context.write(this.frames.bytes);
    this.frames.clear();
    if (!goesOn) this.context.end();
    else if (this.context.isFull) void this.context.ready().then(() => this.#arm());
    else this.#arm();
  }

  #arm(ms = this.intervalMs): void {
    if (!this.#isClosed) this.#timer = systemClock.after(ms, () => this.#tick());
  }
}
