/** Writes each message as a line of the log. */
import { MessageCutter } from '../messages/frames.js';
import type { Sink, SinkChunk, SinkContext } from '../running.js';

export class LogSink implements Sink {
  readonly #cutter = new MessageCutter();

  constructor(readonly context: SinkContext) {}

  async open(): Promise<void> {}

  write(chunk: SinkChunk): void {
    const { log, ruleId } = this.context;
    this.#cutter.cut(chunk, (message) => {
      log.info(`sink result for rule ${ruleId}: ${Buffer.from(message).toString()}`);
    });
    this.context.accepted(chunk.bytes.length, chunk.messages);
  }

  async flush(): Promise<void> {}

  async close(): Promise<void> {}
}
