/** Messages of an MQTT broker (quality of service 0), both ways. */
import mqtt from 'mqtt';
import { hasMosquitto, openMosquitto } from '../../../../test/support/brokers/mosquitto.js';
import { Arrivals } from '../../arrivals.js';
import { type Line, message, work } from '../../line.js';
import { eachLine } from '../../lines-of-file.js';

const rows = 300_000;
const missing = () => (hasMosquitto ? undefined : 'mosquitto is not installed');
const connect = (address: string) => mqtt.connectAsync(address.replace('tcp:', 'mqtt:'), { reconnectPeriod: 0 });

export const lines: readonly Line[] = [
  {
    name: 'mqtt in',
    connectors: ['mqtt'],
    rows,
    missing,
    open: async () => {
      const broker = await openMosquitto();
      const client = await connect(broker.url);
      return {
        address: broker.url,
        source: { type: 'mqtt', dataSource: 'in', props: { server: broker.url, qos: 0 } },
        feed: async () => {
          for (let id = 0; id < rows; id++) {
            client.publish('in', message(id));
            if (id % 2000 === 1999) await new Promise((resolve) => client.publish('mark', '', { qos: 1 }, resolve));
          }
        },
        close: async () => {
          await client.endAsync(true);
          await broker.close();
        },
      };
    },
    plain: async ({ address, ready }) => {
      const client = await connect(address);
      let count = 0;
      await client.subscribeAsync('in', { qos: 0 });
      await new Promise<void>((resolve) => {
        client.on('message', (_topic, payload) => {
          work(payload.toString());
          if (++count === rows) resolve();
        });
        void ready();
      });
    },
  },
  {
    name: 'mqtt out',
    connectors: ['mqtt'],
    rows,
    missing,
    open: async () => {
      const broker = await openMosquitto();
      const client = await connect(broker.url);
      const arrivals = new Arrivals(rows);
      client.on('message', (_topic, payload) => arrivals.take(payload));
      await client.subscribeAsync('out', { qos: 0 });
      return {
        address: broker.url,
        sink: { type: 'mqtt', props: { server: broker.url, topic: 'out', qos: 0 } },
        begin: (isChecked) => arrivals.begin(isChecked),
        arrived: () => arrivals.count,
        check: () => arrivals.check(),
        close: async () => {
          await client.endAsync(true);
          await broker.close();
        },
      };
    },
    plain: async ({ address, file, ready }) => {
      const client = await connect(address);
      void ready();
      await eachLine(file, async (text, n) => {
        client.publish('out', work(text));
        if (n % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
      });
      await client.endAsync();
    },
  },
];
