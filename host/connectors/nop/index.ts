/** A sink that takes everything and keeps nothing: for tests and measurements. */
import { field, parse } from '../../base/fields/field.js';
import { commonSink } from '../common.js';
import { defineConnector } from '../define.js';

const own = { log: field.bool().default(false).doc('Write messages to the log') };

export default defineConnector({
  name: 'nop',
  doc: 'Takes results and forgets them.',
  chinese: async () => (await import('./chinese.js')).chinese,
  sink: {
    props: { ...commonSink, ...own },
    form: (props) => ({
      takes: parse(own, props, { where: 'nop sink' }).log ? 'messages' : 'nothing',
      framing: 'messages',
    }),
    load: async () => {
      const { LoggingNopSink, NopSink } = await import('./sink.js');
      return (conf, context) => (conf.log ? new LoggingNopSink(context) : new NopSink(context));
    },
  },
});
