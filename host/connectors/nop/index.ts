/** A sink that takes everything and keeps nothing: for tests and measurements. */
import { field } from '../../base/field.js';
import { commonSink } from '../common.js';
import { defineConnector, type OutputChunk, type Sink, type SinkContext } from '../define.js';
import { MessageCutter } from '../frames.js';

/** Rules by the thousand may have one: it holds as little as it can. */
class NopSink implements Sink {
  constructor(readonly context: SinkContext) {}

  async open(): Promise<void> {}

  write(chunk: OutputChunk): void {
    this.context.accepted(chunk.bytes.length, chunk.messages);
  }

  async flush(): Promise<void> {}

  async close(): Promise<void> {}
}

class LoggingNopSink extends NopSink {
  readonly #cutter = new MessageCutter();

  override write(chunk: OutputChunk): void {
    this.#cutter.cut(chunk, (message) => this.context.log.info(Buffer.from(message).toString()));
    super.write(chunk);
  }
}

export default defineConnector({
  name: 'nop',
  doc: 'Takes results and forgets them.',
  connection: {},
  sink: {
    props: { ...commonSink, log: field.bool().default(false).doc('Write messages to the log') },
    create: (conf, context) => (conf.log ? new LoggingNopSink(context) : new NopSink(context)),
  },
});
