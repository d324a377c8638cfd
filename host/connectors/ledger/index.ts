/**
 * A sink with transactions that stands for databases and logs that have them: the ledger of `haumea bench chaos`
 * (bench/chaos/ledger.ts). For trials alone: users may name it only when the server was started for one.
 */
import { field } from '../../base/fields/field.js';
import { commonSink } from '../common.js';
import { defineConnector } from '../define.js';

export default defineConnector({
  name: 'ledger',
  doc: 'Writes transactions to the ledger of a trial.',
  isInternal: process.env.HAUMEA_TRIAL_CONNECTORS !== '1',
  sink: {
    props: {
      ...commonSink,
      port: field.int().min(1).max(65_535).required().doc('Port of the ledger on this machine'),
    },
    staysSent: () => undefined,
    hasTransactions: true,
    form: { takes: 'messages', framing: 'messages' },
    load: async () => {
      const { LedgerSink } = await import('./sink.js');
      return (conf, context) => new LedgerSink(conf, context);
    },
  },
});
