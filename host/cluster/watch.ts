/**
 * Follows a stream of NATS from its begin. The consumer is in the memory of one server: when that is away, another one
 * is made at the message after the last that came.
 */
import { type ConsumerMessages, type JsMsg, jetstream } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';

/** The server says that there is nothing new so often; without a word for longer the consumer is gone. */
const beatMs = 500;
const silentMs = 3 * beatMs;
/** Longest wait for a consumer: the server that is to keep it may be away. */
const timeoutMs = 2000;

export class Watch {
  #messages: ConsumerMessages | undefined;
  #last = 0;
  #heard = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #isBeginning = false;
  #isClosed = false;
  #told = () => {};

  constructor(
    private readonly connection: NatsConnection,
    private readonly stream: string,
    private readonly subject: string,
    private readonly take: (message: JsMsg) => void,
  ) {}

  /** Resolves when all that was there at first was told; rejects when NATS can't begin. */
  async open(): Promise<void> {
    const all = new Promise<void>((resolve) => {
      this.#told = resolve;
    });
    await this.#begin();
    this.#timer = setInterval(() => this.#look(), beatMs);
    await all;
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#messages?.stop();
  }

  #look(): void {
    if (performance.now() - this.#heard < silentMs || this.#isBeginning) return;
    // Where it can't begin, the next look tries again.
    this.#begin().catch(() => this.connection.isClosed() && this.close());
  }

  async #begin(): Promise<void> {
    this.#isBeginning = true;
    try {
      this.#messages?.stop();
      const consumer = await jetstream(this.connection, { timeout: timeoutMs }).consumers.get(this.stream, {
        filter_subjects: [this.subject],
        deliver_policy: 'by_start_sequence',
        opt_start_seq: this.#last + 1,
      });
      if ((await consumer.info(true)).num_pending === 0) this.#told();
      const messages = await consumer.consume({
        max_messages: 1000,
        expires: 4 * beatMs,
        idle_heartbeat: beatMs,
        callback: (message) => this.#hear(message),
      });
      this.#messages = messages;
      this.#heard = performance.now();
      if (this.#isClosed) messages.stop();
      else void this.#follow(messages);
    } finally {
      this.#isBeginning = false;
    }
  }

  #hear(message: JsMsg): void {
    this.#heard = performance.now();
    // One that the consumer before has told as well.
    if (message.seq <= this.#last) return;
    this.#last = message.seq;
    this.take(message);
    if (message.info.pending === 0) this.#told();
  }

  async #follow(messages: ConsumerMessages): Promise<void> {
    for await (const { type } of messages.status()) {
      if (messages === this.#messages && type === 'heartbeat') this.#heard = performance.now();
    }
  }
}
