/** Events of the Nexmark benchmark: persons who open auctions, and bids on these. */
import { field } from '../../base/fields/field.js';
import { plainSource } from '../common.js';
import { defineConnector } from '../define.js';

export default defineConnector({
  name: 'nexmark',
  doc: 'Makes events of the Nexmark benchmark: persons, auctions and bids in turn.',
  chinese: async () => (await import('./chinese.js')).chinese,
  source: {
    props: {
      ...plainSource,
      qps: field.int().min(1).max(1_000_000).default(1).doc('Events a second'),
      bufferSize: field
        .int()
        .min(1)
        .max(1_000_000)
        .default(1024)
        .doc('Events that are made up for when the rule takes them again after a pause'),
      excludePerson: field.bool().default(false).doc('No persons are sent'),
      excludeAuction: field.bool().default(false).doc('No auctions are sent'),
      excludeBid: field.bool().default(false).doc('No bids are sent'),
    },
    refusal: ({ excludePerson, excludeAuction, excludeBid }) =>
      excludePerson && excludeAuction && excludeBid
        ? 'excludePerson, excludeAuction and excludeBid leave nothing to send'
        : undefined,
    form: () => ({ framing: 'frames', waits: true }),
    load: async () => {
      const { NexmarkSource } = await import('./source.js');
      return (conf, context) => new NexmarkSource(conf, context);
    },
  },
});
