/** Writes results to the log of the engine. */
import { commonSink } from '../common.js';
import { defineConnector } from '../define.js';

export default defineConnector({
  name: 'log',
  doc: 'Writes each message to the log.',
  chinese: async () => (await import('./chinese.js')).chinese,
  sink: {
    props: { ...commonSink },
    form: { takes: 'messages', framing: 'messages' },
    load: async () => {
      const { LogSink } = await import('./sink.js');
      return (_conf, context) => new LogSink(context);
    },
  },
});
