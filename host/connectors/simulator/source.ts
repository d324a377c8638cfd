/** Sends given rows, one at each interval. */
import { Generator } from '../generator.js';
import type { SourceContext } from '../running.js';

export interface SimulatorConf {
  data: Record<string, unknown>[];
  /** ms */
  interval: number;
  loop: boolean;
}

/** How many rows an interval of 0 sends before other work gets its turn. */
const rowsAtOnce = 1000;

export class SimulatorSource extends Generator {
  #next = 0;
  readonly #rows: Buffer[];

  constructor(
    readonly conf: SimulatorConf,
    context: SourceContext,
  ) {
    super(conf.interval, context);
    this.#rows = conf.data.map((row) => Buffer.from(JSON.stringify(row)));
  }

  protected fill(): boolean {
    if (this.#rows.length === 0) return false;
    const count = this.conf.interval === 0 ? rowsAtOnce : 1;
    for (let i = 0; i < count; i++) {
      if (this.#next >= this.#rows.length) {
        if (!this.conf.loop) return false;
        this.#next = 0;
      }
      this.frames.add(this.#rows[this.#next++]!);
    }
    return true;
  }
}
