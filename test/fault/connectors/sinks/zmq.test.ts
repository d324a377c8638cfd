/** Faults of ZeroMQ as a sink: a subscriber that may stand still, which the publisher waits for. */

import { test } from 'uvu';
import { Subscriber } from 'zeromq';
import { keepOpen } from '../../../support/connectors/faults/keep-open.js';
import { type SinkSide, sinkFaults } from '../../../support/connectors/faults/sinks.js';
import { idsOf } from '../../../support/connectors/ids.js';
import { freePort } from '../../../support/harness.js';

async function openSide(): Promise<SinkSide> {
  const server = `tcp://127.0.0.1:${await freePort()}`;
  const props = { server, waitForSlow: true };
  const ids: number[] = [];
  const socket = new Subscriber({ linger: 0, receiveHighWaterMark: 100 });
  let awake = Promise.resolve();
  let wake = () => {};
  const read = async () => {
    for await (const [message] of socket) {
      ids.push(...idsOf([message]));
      await awake;
    }
  };
  return {
    props,
    arrived: () => ids,
    meet: async (site) => {
      await keepOpen(site, 'zmq', props);
      const met = new Promise<void>((resolve) => socket.events.on('handshake', () => resolve()));
      socket.subscribe();
      socket.connect(server);
      await met;
      void read().catch(() => {});
    },
    start: async () => {},
    kill: async () => {},
    pause: () => {
      awake = new Promise((resolve) => {
        wake = resolve;
      });
    },
    resume: () => wake(),
    close: async () => socket.close(),
  };
}

const unheard = 'what is published without a subscriber goes nowhere, as the protocol has it';
sinkFaults(test, 'zmq', openSide, {
  lacks: {
    ...{ absence: unheard, kill: unheard, restart: unheard },
    tls: 'sockets of ZeroMQ speak no TLS',
    refusal: 'sockets of ZeroMQ ask for no password here',
    rejects: 'nobody answers a message',
    full: 'a subscriber without room reads no more, which is one that hangs',
  },
});

test.run();
