/** A sink that takes everything and keeps nothing: for tests and measurements. */
import { field } from '../../base/field.js';
import { commonSink } from '../common.js';
import { defineConnector } from '../define.js';
import { MessageCutter } from '../frames.js';

export default defineConnector({
  name: 'nop',
  doc: 'Takes results and forgets them.',
  connection: {},
  sink: {
    props: { ...commonSink, log: field.bool().default(false).doc('Write messages to the log') },
    create: (conf, context) => {
      const cutter = new MessageCutter();
      return {
        open: async () => {},
        write: (chunk) => {
          if (conf.log) cutter.cut(chunk, (message) => context.log.info(Buffer.from(message).toString()));
          context.accepted(chunk.bytes.length, chunk.messages);
        },
        flush: async () => {},
        close: async () => {},
      };
    },
  },
});
