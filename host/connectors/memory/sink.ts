/** Publishes rows to a memory topic. The credit comes back when every reader of the topic has taken them. */

import { FrameBuffer, MessageCutter } from '../frames.js';
import type { OutputChunk, Sink, SinkContext } from '../running.js';
import { MemoryBus } from './bus.js';

export class MemorySink implements Sink {
  readonly #bus: MemoryBus;
  readonly #meta: Buffer;
  readonly #frames = new FrameBuffer();
  readonly #cutter = new MessageCutter();
  #waiting = 0;
  #onIdle: (() => void)[] = [];

  constructor(
    readonly topic: string,
    readonly context: SinkContext,
  ) {
    this.#bus = context.shared('memory.bus', () => new MemoryBus());
    this.#meta = Buffer.from(JSON.stringify({ topic }));
  }

  async open(): Promise<void> {}

  write(chunk: OutputChunk): void {
    const { messages } = chunk;
    const size = chunk.bytes.length;
    if (this.#bus.subscribersOf(this.topic).length === 0) {
      this.#cutter.cut(chunk, () => {});
      this.context.accepted(size, messages);
      return;
    }
    this.#cutter.cut(chunk, (message) => this.#frames.add(message, this.#meta));
    const bytes = Buffer.from(this.#frames.bytes);
    this.#frames.clear();
    this.#waiting++;
    this.#bus.publish(this.topic, bytes, () => {
      this.context.accepted(size, messages);
      if (--this.#waiting === 0) for (const call of this.#onIdle.splice(0)) call();
    });
  }

  flush(): Promise<void> {
    if (this.#waiting === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  async close(): Promise<void> {}
}
