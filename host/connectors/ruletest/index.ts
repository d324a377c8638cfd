/** Results of test rules for their event streams. Not for users: the service of rule tests makes the channel. */
import { field } from '../../base/fields/field.js';
import { commonSink } from '../common.js';
import { defineConnector } from '../define.js';
import { testResultsSink } from '../test-results.js';

export default defineConnector({
  name: testResultsSink,
  doc: 'Results of a test rule, for its event stream.',
  isInternal: true,
  sink: {
    props: { ...commonSink, channel: field.string().required().doc('Name of the channel to the event stream') },
    form: { takes: 'messages', framing: 'messages' },
    load: async () => {
      const { ChannelSink } = await import('./sink.js');
      return (conf, context) => new ChannelSink(conf.channel, context);
    },
  },
});
