/** Events of EdgeX Foundry, both ways. */
import { field } from '../../base/fields/field.js';
import { plainSink, plainSource } from '../common.js';
import { defineConnector, type SinkForm } from '../define.js';
import { edgexConnection, edgexFiles } from './bus/connection.js';

const messageType = field.string().oneOf('event', 'request').default('event');

export default defineConnector({
  name: 'edgex',
  doc: 'Takes events from the message bus of EdgeX Foundry, and publishes rows there as events.',
  packages: ['mqtt', '@redis/client', '@nats-io/transport-node'],
  chinese: async () => (await import('./chinese.js')).chinese,
  connection: {
    props: edgexConnection,
    files: (conf) => edgexFiles(conf),
    ping: async () => (await import('./ping.js')).ping,
    renewable: ['optional'],
  },
  source: {
    dataSource: { doc: 'Topic of the message bus where topic is empty' },
    defaultKey: { protocol: 'tcp', server: 'localhost', port: 6379, type: 'redis', messageType: 'event' },
    props: {
      ...plainSource,
      topic: field.string().default('').doc('Topic of the message bus; may have the wildcards + and #'),
      messageType: messageType.doc('What the payload is: an event, or a request to add one'),
    },
    form: () => ({ framing: 'frames', format: 'rows' }),
    load: async () => {
      const { EdgexSource } = await import('./source.js');
      return (conf, context) => new EdgexSource(conf, context);
    },
  },
  sink: {
    props: {
      ...plainSink,
      topic: field.string().default('').doc('Topic of the message bus; empty: application, or by topicPrefix'),
      topicPrefix: field
        .string()
        .default('')
        .doc('Begin of the topic, before the names of profile, device and source of the event'),
      messageType: messageType.doc('What is sent: events, or requests to add them'),
      contentType: field.string().default('application/json').doc('Type of the payload that the envelope names'),
      metadata: field
        .string()
        .default('')
        .doc('Member of the row with the metadata of the event and of its readings, as meta(*) gives them'),
      profileName: field.string().default('ekuiperProfile').doc('Profile of events without one in their metadata'),
      deviceName: field.string().default('ekuiper').doc('Device of events without one in their metadata'),
      sourceName: field
        .string()
        .default('')
        .doc('Source of events without one in their metadata; empty: the id of the rule'),
      dataTemplate: field.string().default('').doc('Makes the JSON of a row').unlisted(),
    },
    refusal: ({ topic, topicPrefix, messageType: type, contentType }) => {
      if (topic !== '' && topicPrefix !== '') return 'topic and topicPrefix can not both be set';
      return type === 'event' && contentType !== 'application/json'
        ? 'property contentType must be application/json where messageType is event'
        : undefined;
    },
    form: ({ dataTemplate }): SinkForm => ({
      takes: typeof dataTemplate === 'string' && dataTemplate !== '' ? 'messages' : 'rows',
      framing: 'messages',
    }),
    load: async () => {
      const { EdgexSink } = await import('./sink.js');
      return (conf, context) => new EdgexSink(conf, context);
    },
  },
});
