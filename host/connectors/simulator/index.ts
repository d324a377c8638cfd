/** Rows given in the configuration, one at each interval: for trying rules out. */
import { field } from '../../base/fields/field.js';
import { commonLookup, plainSource } from '../common.js';
import { defineConnector } from '../define.js';

export default defineConnector({
  name: 'simulator',
  doc: 'Sends rows of its configuration.',
  chinese: async () => (await import('./chinese.js')).chinese,
  source: {
    props: {
      ...plainSource,
      data: field
        .list(field.object())
        .default([{ temperature: 22.5, humidity: 50 }])
        .doc('Rows to send'),
      interval: field.duration().min(0).default(1000).doc('Pause between two rows'),
      loop: field.bool().default(true).doc('Start again after the last row'),
    },
    form: () => ({ framing: 'frames', waits: true }),
    sendsGivenRows: true,
    defaultKey: { data: [{ temperature: 22.5, humidity: 50 }], interval: '1s', loop: true },
    load: async () => {
      const { SimulatorSource } = await import('./source.js');
      return (conf, context) => new SimulatorSource(conf, context);
    },
  },
  lookup: {
    props: {
      ...commonLookup,
      data: field
        .list(field.object())
        .default([{ temperature: 22.5, humidity: 50 }])
        .doc('Rows in which is looked'),
    },
    load: async () => {
      const { SimulatorLookup } = await import('./lookup.js');
      return ({ data }) => new SimulatorLookup(data);
    },
  },
});
