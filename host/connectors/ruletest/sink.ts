/**
 * Carries results to the thread that serves the event stream. Credit comes back from there: a slow reader slows the
 * rule.
 */
import { BroadcastChannel } from 'node:worker_threads';
import { MessageCutter } from '../messages/frames.js';
import type { Sink, SinkChunk, SinkContext } from '../running.js';
import type { TestCredit, TestResults } from '../test-results.js';

export class ChannelSink implements Sink {
  readonly #cutter = new MessageCutter();
  readonly #name: string;
  #channel: BroadcastChannel | undefined;
  #texts: string[] = [];
  #bytes = 0;
  #waiting = 0;
  #whenFlushed: (() => void)[] = [];

  constructor(
    name: string,
    readonly context: SinkContext,
  ) {
    this.#name = name;
  }

  async open(): Promise<void> {
    const channel = new BroadcastChannel(this.#name);
    channel.unref();
    channel.onmessage = (event: unknown) => this.#take((event as { data: TestResults | TestCredit }).data);
    this.#channel = channel;
  }

  write(chunk: SinkChunk): void {
    if (this.#texts.length === 0) setImmediate(() => this.#send());
    this.#cutter.cut(chunk, (message, place) => {
      const text = Buffer.from(message).toString();
      this.#texts.push(chunk.errors.has(place) ? `run Select error: ${text}` : text);
    });
    this.#bytes += chunk.bytes.length;
    this.#waiting += chunk.messages;
  }

  flush(): Promise<void> {
    if (this.#waiting <= 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenFlushed.push(resolve));
  }

  async close(): Promise<void> {
    this.#channel?.close();
    this.#channel = undefined;
    for (const call of this.#whenFlushed.splice(0)) call();
  }

  #send(): void {
    const message: TestResults = { kind: 'results', texts: this.#texts, bytes: this.#bytes };
    this.#texts = [];
    this.#bytes = 0;
    this.#channel?.postMessage(message);
  }

  #take(message: TestResults | TestCredit): void {
    if (message.kind !== 'credit' || this.#channel === undefined) return;
    this.#waiting -= message.messages;
    this.context.accepted(message.bytes, message.messages);
    if (this.#waiting <= 0) for (const call of this.#whenFlushed.splice(0)) call();
  }
}
