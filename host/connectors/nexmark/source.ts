/** Sends events at a given rate per second: persons, auctions and bids in turn. */
import { Generator } from '../generator.js';
import type { SourceContext } from '../running.js';
import { type EventKind, NexmarkEvents } from './events.js';

export interface NexmarkConf {
  qps: number;
  bufferSize: number;
  excludePerson: boolean;
  excludeAuction: boolean;
  excludeBid: boolean;
}

/** Shortest pause between two batches, ms. */
const shortestMs = 10;
const meta = Buffer.from(JSON.stringify({ topic: 'nexmark' }));

export class NexmarkSource extends Generator {
  readonly #kinds: readonly EventKind[];
  readonly #events = new NexmarkEvents();
  /** Number of events per batch at the configured rate. */
  readonly #usual: number;
  #sent = 0;
  /** Time at which the first event at this rate was due, ms. */
  #began: number | undefined;

  constructor(
    readonly conf: NexmarkConf,
    context: SourceContext,
    private readonly now: () => number = () => performance.now(),
  ) {
    super(Math.max(shortestMs, Math.floor(1000 / conf.qps)), context);
    this.#usual = Math.ceil((conf.qps * shortestMs) / 1000);
    const { excludePerson, excludeAuction, excludeBid } = conf;
    const excluded: Record<EventKind, boolean> = { person: excludePerson, auction: excludeAuction, bid: excludeBid };
    this.#kinds = (['person', 'auction', 'bid'] as const).filter((kind) => !excluded[kind]);
  }

  protected fill(): boolean {
    const datetime = Date.now();
    for (let count = this.#due(); count > 0; count--) {
      const kind = this.#kinds[this.#sent++ % this.#kinds.length]!;
      this.frames.add(Buffer.from(JSON.stringify(this.#events.next(kind, datetime))), meta);
    }
    return true;
  }

  /** Number of events that are due; events that the rule did not take in time are dropped, but for a few. */
  #due(): number {
    const { qps, bufferSize } = this.conf;
    const now = this.now();
    this.#began ??= now - 1000 / qps;
    const due = Math.floor(((now - this.#began) * qps) / 1000) - this.#sent;
    const most = Math.max(bufferSize, this.#usual);
    if (due <= most) return due;
    this.#began += ((due - most) * 1000) / qps;
    return most;
  }
}
