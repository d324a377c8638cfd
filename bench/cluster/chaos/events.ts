/** Numbered messages that rules send on, and what came of them. */
import { jetstream } from '@nats-io/jetstream';
import { pause } from '../../process.js';
import type { NatsCluster } from './nats-cluster.js';

/** A rule that reads a stream: by a durable consumer at qos 1, by position and with a running total at qos 2. */
export interface EventRule {
  readonly id: string;
  readonly qos: 1 | 2;
  readonly subject: string;
}

export interface Counted {
  readonly sent: number;
  readonly lost: number;
  readonly repeated: number;
  /** Rows whose total is not that of the messages before. */
  readonly wrong: number;
}

interface Row {
  readonly rule: string;
  readonly n: number;
  readonly total?: number;
}

export class Events {
  readonly #sent = new Map<string, number>();
  readonly #rows = new Map<string, Map<number, number>>();
  readonly #wrong = new Map<string, number>();
  #isEnding = false;
  #sending: Promise<unknown> | undefined;
  #read = 0;

  constructor(
    private readonly nats: NatsCluster,
    readonly rules: readonly EventRule[],
    /** Messages a second of each rule. */
    private readonly rate: number,
  ) {}

  async open(): Promise<void> {
    await this.nats.addStream('EVENTS', ['event.>']);
    await this.nats.addStream('RESULTS', ['result.>']);
    void this.#listen();
  }

  start(): void {
    this.#isEnding = false;
    this.#sending = Promise.all(this.rules.map((rule) => this.#send(rule)));
  }

  async stop(): Promise<void> {
    this.#isEnding = true;
    await this.#sending;
  }

  /** Waits until all that was sent has a row, or nothing more comes. */
  async settled(patienceMs: number): Promise<void> {
    let before = -1;
    let since = performance.now();
    for (;;) {
      const missing = this.rules.reduce((sum, rule) => sum + this.countsOf(rule).lost, 0);
      if (missing === 0) return;
      if (missing !== before) since = performance.now();
      before = missing;
      if (performance.now() - since > patienceMs) return;
      await pause(100);
    }
  }

  countsOf({ id }: EventRule): Counted {
    const sent = this.#sent.get(id) ?? 0;
    const rows = this.#rows.get(id) ?? new Map<number, number>();
    const all = [...rows.values()].reduce((sum, count) => sum + count, 0);
    return { sent, lost: sent - rows.size, repeated: all - rows.size, wrong: this.#wrong.get(id) ?? 0 };
  }

  /** One after the other, each until it is acknowledged. */
  async #send({ id, subject }: EventRule): Promise<void> {
    const stream = jetstream(this.nats.client);
    while (!this.#isEnding) {
      const n = (this.#sent.get(id) ?? 0) + 1;
      const isTaken = await stream
        .publish(subject, JSON.stringify({ n }), { msgID: `${id} ${n}`, timeout: 2000 })
        .then(() => true)
        .catch(() => false);
      if (isTaken) this.#sent.set(id, n);
      await pause(isTaken ? 1000 / this.rate : 100);
    }
  }

  async #listen(): Promise<void> {
    while (!this.nats.client.isClosed()) {
      try {
        const position = { deliver_policy: 'by_start_sequence', opt_start_seq: this.#read + 1 } as const;
        const consumer = await jetstream(this.nats.client).consumers.get('RESULTS', position);
        for await (const message of await consumer.consume({ expires: 2000, idle_heartbeat: 500 })) {
          if (message.seq <= this.#read) continue;
          this.#read = message.seq;
          this.#take(message.json<Row>());
        }
      } catch {
        await pause(200);
      }
    }
  }

  #take({ rule, n, total }: Row): void {
    const rows = this.#rows.get(rule) ?? new Map<number, number>();
    this.#rows.set(rule, rows);
    rows.set(n, (rows.get(n) ?? 0) + 1);
    if (total !== undefined && total !== (n * (n + 1)) / 2) this.#wrong.set(rule, (this.#wrong.get(rule) ?? 0) + 1);
  }
}

/** Messages that nobody keeps: each place in which a rule runs sends a row for each of them. */
export class Ticks {
  readonly #rows = new Map<string, number>();
  readonly #last = new Map<string, number>();
  readonly #gaps = new Map<string, number>();
  #n = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Rows beyond the first of a tick, by rule and number. */
  doubled: string[] = [];

  constructor(
    private readonly nats: NatsCluster,
    readonly rules: readonly string[],
  ) {
    nats.client.subscribe('witness', {
      callback: (_error, message) => {
        const { rule, n } = message.json<{ rule: string; n: number }>();
        const key = `${rule} ${n}`;
        const count = (this.#rows.get(key) ?? 0) + 1;
        this.#rows.set(key, count);
        if (count > 1) this.doubled.push(key);
        this.#note(rule);
      },
    });
  }

  start(): void {
    this.#rows.clear();
    this.#gaps.clear();
    this.doubled = [];
    for (const rule of this.rules) this.#last.set(rule, performance.now());
    this.#timer = setInterval(() => this.nats.client.publish('tick', JSON.stringify({ n: this.#n++ })), 50);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Longest time without a row, ms, until now, and whose. */
  longestGap(): { readonly ms: number; readonly rule: string } {
    for (const rule of this.rules) this.#note(rule, false);
    const [rule, ms] = [...this.#gaps].sort(([, a], [, b]) => b - a)[0] ?? ['', 0];
    return { ms: Math.round(ms), rule };
  }

  #note(rule: string, isRow = true): void {
    const now = performance.now();
    const gap = now - (this.#last.get(rule) ?? now);
    if (gap > (this.#gaps.get(rule) ?? 0)) this.#gaps.set(rule, gap);
    if (isRow) this.#last.set(rule, now);
  }
}
