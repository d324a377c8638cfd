/** Values of the gateway Neuron, both ways. */
import { field } from '../../base/fields/field.js';
import { spAddressReason } from '../../clients/sp/address.js';
import { commonSink, commonSource } from '../common.js';
import { defineConnector } from '../define.js';

export default defineConnector({
  name: 'neuron',
  doc: 'Takes the values that the gateway Neuron reads, and has it write some. Checked against nng, not Neuron.',
  chinese: async () => (await import('./chinese.js')).chinese,
  connection: {
    props: {
      url: field
        .address()
        .default('tcp://127.0.0.1:7081')
        .check(spAddressReason)
        .doc('Address at which Neuron listens: tcp://host:port or ipc:///path'),
    },
    single: ({ url }) => `Neuron at ${url}`,
    ping: async () => {
      const { pingPair } = await import('../../clients/sp/pair.js');
      return ({ url }) => pingPair(url);
    },
  },
  source: {
    showsDecoder: true,
    defaultKey: { url: 'tcp://127.0.0.1:7081' },
    props: { ...commonSource },
    form: () => ({ framing: 'frames' }),
    load: async () => {
      const { NeuronSource } = await import('./source.js');
      return (conf, context) => new NeuronSource(conf.url, context);
    },
  },
  sink: {
    props: {
      ...commonSink,
      nodeName: field.string().default('').dynamic().doc('Node of Neuron that gets the values'),
      groupName: field.string().default('').dynamic().doc('Group of the node'),
      tags: field
        .list(field.string())
        .default([])
        .dynamic()
        .doc('Members of the row that are sent as tags; may be templates over the row; without it all'),
      raw: field.bool().default(false).doc('The row is sent as it is'),
    },
    refusal: ({ raw, nodeName, groupName }) => {
      if (raw) return undefined;
      if (nodeName === '') return 'property nodeName is required if raw is not set';
      return groupName === '' ? 'property groupName is required if raw is not set' : undefined;
    },
    // Which members are meant is known with each row.
    ownTemplates: () => ['tags'],
    form: { takes: 'messages', framing: 'messages', isRowByRow: true },
    load: async () => {
      const { NeuronSink } = await import('./sink.js');
      return (conf, context) => new NeuronSink(conf, context);
    },
  },
});
