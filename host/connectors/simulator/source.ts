/** Sends given rows, one at each interval. */
import { systemClock, type Timer } from '../../base/time/clock.js';
import { FrameBuffer } from '../frames.js';
import type { Source, SourceContext } from '../running.js';

export interface SimulatorConf {
  data: Record<string, unknown>[];
  /** ms */
  interval: number;
  loop: boolean;
}

/** How many rows an interval of 0 sends before other work gets its turn. */
const rowsAtOnce = 1000;

export class SimulatorSource implements Source {
  #timer: Timer | undefined;
  #isClosed = false;
  #next = 0;
  readonly #rows: Buffer[];
  readonly #frames = new FrameBuffer();

  constructor(
    readonly conf: SimulatorConf,
    readonly context: SourceContext,
  ) {
    this.#rows = conf.data.map((row) => Buffer.from(JSON.stringify(row)));
  }

  async open(): Promise<void> {
    this.#isClosed = false;
    this.#arm();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.close();
  }

  #tick(): void {
    const count = this.conf.interval === 0 ? rowsAtOnce : 1;
    let isAtEnd = this.#rows.length === 0;
    for (let i = 0; i < count && !isAtEnd; i++) {
      if (this.#next >= this.#rows.length) {
        if (!this.conf.loop) {
          isAtEnd = true;
          break;
        }
        this.#next = 0;
      }
      this.#frames.add(this.#rows[this.#next++]!);
    }
    if (this.#frames.count > 0) this.context.write(this.#frames.bytes);
    this.#frames.clear();
    if (isAtEnd) this.context.end();
    else if (this.context.isFull) void this.context.ready().then(() => this.#arm());
    else this.#arm();
  }

  #arm(): void {
    if (!this.#isClosed) this.#timer = systemClock.after(this.conf.interval, () => this.#tick());
  }
}
