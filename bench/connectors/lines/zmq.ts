/** Messages of ZeroMQ that a rule reads; of those that it publishes nobody knows when the first subscriber is there. */
import { Publisher, Subscriber } from 'zeromq';
import { freePort } from '../../../test/support/harness.js';
import { pause } from '../../process.js';
import { type Line, message, work } from '../line.js';

const rows = 200_000;

export const zmqLines: readonly Line[] = [
  {
    name: 'zmq in',
    connector: 'zmq',
    rows,
    open: async () => {
      const server = `tcp://127.0.0.1:${await freePort()}`;
      // A slow reader is waited for, so that all rows arrive.
      const publisher = new Publisher({ linger: 0, noDrop: true });
      await publisher.bind(server);
      return {
        address: server,
        source: { type: 'zmq', dataSource: 'in', props: { server } },
        feed: async () => {
          for (let id = 0; id < rows; ) {
            const isSent = await publisher.send(['in', message(id)]).then(
              () => true,
              () => false,
            );
            if (isSent) id++;
            else await pause(1);
          }
        },
        close: async () => publisher.close(),
      };
    },
    plain: async ({ address, ready }) => {
      const subscriber = new Subscriber({ linger: 0 });
      subscriber.events.on('handshake', ready);
      subscriber.connect(address);
      subscriber.subscribe('in');
      for (let count = 0; count < rows; count++) {
        const [, payload] = await subscriber.receive();
        work(String(payload));
      }
    },
  },
];
