/** Draws rows; those that have come lately may be left out. */
import { Generator } from '../generator.js';
import type { SourceContext } from '../running.js';

export interface RandomConf {
  /** ms */
  interval: number;
  seed: number;
  pattern: Record<string, unknown>;
  deduplicate: number;
}

/** How many rows an interval of 0 draws before other work gets its turn. */
const rowsAtOnce = 1000;
/** Rows that are remembered at most. */
const mostKnown = 1_000_000;

export class RandomSource extends Generator {
  readonly #columns: readonly { readonly before: string; readonly least: number }[];
  /** Rows that came last, in the order of their coming. */
  readonly #known = new Set<string>();
  readonly #maxKnown: number;

  constructor(
    readonly conf: RandomConf,
    context: SourceContext,
  ) {
    super(conf.interval, context);
    this.#columns = Object.entries(conf.pattern as Record<string, number>).map(([name, least], i) => ({
      before: `${i === 0 ? '' : ','}${JSON.stringify(name)}:`,
      least,
    }));
    const { deduplicate } = conf;
    this.#maxKnown = deduplicate < 0 ? mostKnown : Math.min(deduplicate, mostKnown);
  }

  protected fill(): boolean {
    const count = this.conf.interval === 0 ? rowsAtOnce : 1;
    for (let i = 0; i < count; i++) {
      let row = '{';
      for (const { before, least } of this.#columns) row += before + (least + this.#draw());
      row += '}';
      if (this.#isNew(row)) this.frames.add(Buffer.from(row));
    }
    return true;
  }

  #draw(): number {
    return Math.floor(Math.random() * this.conf.seed);
  }

  #isNew(row: string): boolean {
    if (this.#maxKnown === 0) return true;
    if (this.#known.has(row)) return false;
    if (this.#known.size >= this.#maxKnown) {
      const [oldest] = this.#known;
      this.#known.delete(oldest!);
    }
    this.#known.add(row);
    return true;
  }
}
