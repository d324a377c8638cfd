/** Writes results to the log of the engine. */
import { commonSink } from '../common.js';
import { defineConnector } from '../define.js';
import { MessageCutter } from '../frames.js';

export default defineConnector({
  name: 'log',
  doc: 'Writes each message to the log.',
  connection: {},
  sink: {
    props: { ...commonSink },
    create: (_conf, context) => {
      const cutter = new MessageCutter();
      return {
        open: async () => {},
        write: (chunk) => {
          cutter.cut(chunk, (message) => {
            context.log.info(`sink result for rule ${context.ruleId}: ${Buffer.from(message).toString()}`);
          });
          context.accepted(chunk.bytes.length, chunk.messages);
        },
        flush: async () => {},
        close: async () => {},
      };
    },
  },
});
