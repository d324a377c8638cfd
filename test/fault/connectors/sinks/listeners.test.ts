/** Faults of those who listen to us: clients of server-sent events, subscribers of ZeroMQ, the peer of SP. */
import { type ClientRequest, get } from 'node:http';
import { test } from 'uvu';
import { Subscriber } from 'zeromq';
import { type SinkSide, sinkFaults } from '../../../support/connectors/faults/sinks.js';
import type { Site } from '../../../support/connectors/faults/site.js';
import { idsOf } from '../../../support/connectors/ids.js';
import { freePort } from '../../../support/harness.js';
import { type NngPeer, needsNng, openNng } from '../../../support/servers/nng.js';

const none = async () => {};
const unheard = 'who does not listen gets nothing, as the protocol has it';
const unanswered = 'nobody answers a message';
const passive = {
  absence: unheard,
  kill: unheard,
  restart: 'the one who listens would have to find the engine again',
  refusal: 'there is no login',
  tls: 'the wire has no TLS',
  rejects: unanswered,
  full: unanswered,
};

sinkFaults(
  test,
  'sse',
  async (): Promise<SinkSide> => {
    let request: ClientRequest | undefined;
    const ids: number[] = [];
    let rest = '';
    return {
      props: { endpoint: '/events' },
      arrived: () => ids,
      meet: async ({ dataPort }: Site) => {
        const read = (chunk: string) => {
          const events = (rest + chunk).split('\n\n');
          rest = events.pop()!;
          ids.push(...idsOf(events.map((text) => /^data: ?(.*)$/m.exec(text)?.[1] ?? '')));
        };
        await new Promise<void>((resolve) => {
          const ask = () => {
            request = get({ host: '127.0.0.1', port: dataPort, path: '/events' }, (response) => {
              if (response.statusCode !== 200) return void setTimeout(ask, 20);
              response.setEncoding('utf8');
              response.on('data', read);
              response.on('error', none);
              return resolve();
            });
            request.on('error', () => setTimeout(ask, 20));
          };
          ask();
        });
      },
      start: none,
      kill: none,
      pause: () => {},
      resume: () => {},
      close: async () => void request?.destroy(),
    };
  },
  { lacks: { ...passive, hang: 'a client that reads too slowly is disconnected, and counted' } },
);

sinkFaults(
  test,
  'zmq',
  async (): Promise<SinkSide> => {
    const server = `tcp://127.0.0.1:${await freePort()}`;
    const subscriber = new Subscriber({ receiveHighWaterMark: 100 });
    subscriber.connect(server);
    subscriber.subscribe('');
    const ids: number[] = [];
    let isPaused: Promise<void> | undefined;
    let goOn = () => {};
    const read = async () => {
      for await (const [message] of subscriber) {
        await isPaused;
        ids.push(...idsOf([message]));
      }
    };
    void read();
    return {
      props: { server, waitForSlow: true },
      arrived: () => ids,
      start: none,
      kill: none,
      pause: () => {
        isPaused = new Promise((resolve) => {
          goOn = resolve;
        });
      },
      resume: () => {
        isPaused = undefined;
        goOn();
      },
      close: async () => subscriber.close(),
    };
  },
  { lacks: passive },
);

if (needsNng('faults of Neuron as a sink')) {
  sinkFaults(
    test,
    'neuron',
    async (): Promise<SinkSide> => {
      const url = `tcp://127.0.0.1:${await freePort()}`;
      const before: string[] = [];
      let peer: NngPeer = openNng(url);
      return {
        props: { url, raw: true },
        arrived: () => idsOf([...before, ...peer.texts]),
        start: async () => {
          peer = openNng(url);
        },
        kill: async () => {
          await peer.close();
          before.push(...peer.texts.splice(0));
        },
        pause: () => peer.pause(),
        resume: () => peer.resume(),
        close: () => peer.close(),
        mayLose: true,
      };
    },
    {
      lacks: {
        restart: unheard,
        refusal: passive.refusal,
        tls: passive.tls,
        rejects: unanswered,
        full: unanswered,
      },
    },
  );
}

test.run();
