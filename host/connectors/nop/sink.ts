/** Sinks that keep nothing. */
import { MessageCutter } from '../messages/frames.js';
import type { Sink, SinkChunk, SinkContext } from '../running.js';

/** Rules by the thousand may have one: it holds as little as it can. */
export class NopSink implements Sink {
  constructor(readonly context: SinkContext) {}

  async open(): Promise<void> {}

  write(chunk: SinkChunk): void {
    this.context.accepted(chunk.bytes.length, chunk.messages);
  }

  async flush(): Promise<void> {}

  async close(): Promise<void> {}
}

export class LoggingNopSink extends NopSink {
  readonly #cutter = new MessageCutter();

  override write(chunk: SinkChunk): void {
    this.#cutter.cut(chunk, (message) => this.context.log.info(Buffer.from(message).toString()));
    super.write(chunk);
  }
}
