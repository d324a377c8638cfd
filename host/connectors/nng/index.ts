/** Connections by SP (nng), which neuron uses. */
import { field } from '../../base/fields/field.js';
import { spAddressReason } from '../../clients/sp/address.js';
import { defineConnector } from '../define.js';

export default defineConnector({
  name: 'nng',
  doc: 'Connections of the connectors for Neuron, by nng.',
  chinese: async () => (await import('./chinese.js')).chinese,
  connection: {
    props: {
      url: field
        .address()
        .default('tcp://127.0.0.1:7081')
        .check(spAddressReason)
        .doc('Address of the other side, which listens: tcp://host:port or ipc:///path'),
      protocol: field.string().oneOf('pair').default('pair').doc('Protocol of the connection').unlisted(),
    },
    ping: async () => {
      const { pingPair } = await import('../../clients/sp/pair.js');
      return ({ url }) => pingPair(url);
    },
  },
});
