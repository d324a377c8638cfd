/** Keeps the newest results in memory. */
import { commonSink } from '../common.js';
import { defineConnector } from '../define.js';

export default defineConnector({
  name: 'logToMemory',
  doc: 'Keeps the newest messages in memory until the engine ends: at most 1000, and 1 MiB of text.',
  chinese: async () => (await import('./chinese.js')).chinese,
  sink: {
    props: { ...commonSink },
    form: { takes: 'messages', framing: 'messages' },
    load: async () => {
      const { MemoryLogSink } = await import('./sink.js');
      return (_conf, context) => new MemoryLogSink(context);
    },
  },
});
