/** Keeps the texts of the messages that came last, of all rules of the data plane together. */
import { MessageCutter } from '../messages/frames.js';
import type { Sink, SinkChunk, SinkContext } from '../running.js';

const maxMessages = 1000;
const maxBytes = 1024 * 1024;

/** Texts of the latest messages, the oldest first. */
export class KeptResults {
  readonly texts: string[] = [];
  readonly #sizes: number[] = [];
  #bytes = 0;

  add(message: Uint8Array): void {
    this.texts.push(Buffer.from(message).toString());
    this.#sizes.push(message.length);
    this.#bytes += message.length;
    while (this.texts.length > maxMessages || this.#bytes > maxBytes) {
      this.texts.shift();
      this.#bytes -= this.#sizes.shift()!;
    }
  }
}

export class MemoryLogSink implements Sink {
  readonly #cutter = new MessageCutter();
  readonly #kept: KeptResults;

  constructor(readonly context: SinkContext) {
    this.#kept = context.shared('logToMemory.results', () => new KeptResults());
  }

  async open(): Promise<void> {}

  write(chunk: SinkChunk): void {
    this.#cutter.cut(chunk, (message) => this.#kept.add(message));
    this.context.accepted(chunk.bytes.length, chunk.messages);
  }

  async flush(): Promise<void> {}

  async close(): Promise<void> {}
}
