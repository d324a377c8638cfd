/** Messages of ZeroMQ, both ways; slow readers are waited for, so that all rows arrive. */
import { Publisher, Subscriber } from 'zeromq';
import { freePort } from '../../../../test/support/harness.js';
import { pause } from '../../../process.js';
import { Arrivals } from '../../arrivals.js';
import { type Line, message, work } from '../../line.js';
import { eachLine } from '../../lines-of-file.js';

const rows = 200_000;
/** So long a subscription, which nothing answers, is on its way at most, ms. */
const subscribedMs = 200;

/** Sends a message as soon as the subscribers take it. */
async function send(publisher: Publisher, topic: string, text: string): Promise<void> {
  for (;;) {
    try {
      return await publisher.send([topic, text]);
    } catch {
      await pause(1);
    }
  }
}

const openPublisher = async (server: string) => {
  const publisher = new Publisher({ linger: 10_000, noDrop: true });
  await publisher.bind(server);
  return publisher;
};

async function subscribed(address: string, topic: string): Promise<Subscriber> {
  const subscriber = new Subscriber({ linger: 0 });
  const handshake = new Promise<void>((resolve) => subscriber.events.on('handshake', () => resolve()));
  subscriber.connect(address);
  subscriber.subscribe(topic);
  await handshake;
  await pause(subscribedMs);
  return subscriber;
}

async function readAll(subscriber: Subscriber, arrivals: Arrivals): Promise<void> {
  for await (const [, payload] of subscriber) arrivals.take(payload!);
}

export const lines: readonly Line[] = [
  {
    name: 'zmq in',
    connectors: ['zmq'],
    rows,
    open: async () => {
      const server = `tcp://127.0.0.1:${await freePort()}`;
      const publisher = await openPublisher(server);
      return {
        address: server,
        source: { type: 'zmq', dataSource: 'in', props: { server } },
        feed: async () => {
          for (let id = 0; id < rows; id++) await send(publisher, 'in', message(id));
        },
        close: async () => publisher.close(),
      };
    },
    plain: async ({ address, ready }) => {
      const subscriber = await subscribed(address, 'in');
      void ready();
      for (let count = 0; count < rows; count++) {
        const [, payload] = await subscriber.receive();
        work(String(payload));
      }
    },
  },
  {
    name: 'zmq out',
    connectors: ['zmq'],
    rows,
    open: async () => {
      const server = `tcp://127.0.0.1:${await freePort()}`;
      const arrivals = new Arrivals(rows);
      let latest: Subscriber | undefined;
      return {
        address: server,
        sink: { type: 'zmq', props: { server, topic: 'out', waitForSlow: true } },
        begin: (isChecked) => {
          latest?.close();
          arrivals.begin(isChecked);
        },
        listen: async () => {
          latest = await subscribed(server, 'out');
          readAll(latest, arrivals).catch(() => {});
        },
        arrived: () => arrivals.count,
        check: () => arrivals.check(),
        close: async () => latest?.close(),
      };
    },
    plain: async ({ address, file, ready }) => {
      const publisher = await openPublisher(address);
      await ready();
      await eachLine(file, (text) => send(publisher, 'out', work(text)));
      publisher.close();
    },
  },
];
