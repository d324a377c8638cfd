/** Faults of a ZeroMQ publisher. */
import { test } from 'uvu';
import { XPublisher } from 'zeromq';
import { type SourceSide, sourceFaults } from '../../../support/connectors/faults/sources.js';
import { eventually, freePort } from '../../../support/harness.js';

/** A publisher that knows whether somebody listens. */
async function publisher(): Promise<SourceSide> {
  const server = `tcp://127.0.0.1:${await freePort()}`;
  let socket: XPublisher | undefined;
  let isHeard = false;
  const listen = async (to: XPublisher) => {
    // The first byte of a message says whether somebody comes or goes.
    for await (const [said] of to) isHeard = said?.[0] === 1;
  };
  const side = {
    dataSource: '',
    props: { server },
    start: async () => {
      socket = new XPublisher({ linger: 0, sendHighWaterMark: 100_000 });
      await socket.bind(server);
      void listen(socket).catch(() => {});
    },
    kill: async () => {
      socket?.close();
      isHeard = false;
    },
    pause: () => {},
    resume: () => {},
    close: () => side.kill(),
    send: async (messages: readonly (string | Buffer)[]) => {
      await eventually('a subscriber', () => isHeard);
      for (const message of messages) await socket?.send(message);
    },
  };
  await side.start();
  return side;
}

sourceFaults(test, 'zmq', publisher, {
  lacks: {
    hang: 'the publisher is part of this process',
    slow: 'what a publisher drops for slow subscribers nobody else can count',
    tls: 'sockets of ZeroMQ speak no TLS',
    refusal: 'sockets of ZeroMQ ask for no password here',
    keeps: 'a publisher forgets what it has sent',
  },
});

test.run();
