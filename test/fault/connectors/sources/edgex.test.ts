/** Faults of the message buses of EdgeX: Redis, MQTT and NATS. */
import { test } from 'uvu';
import { connectClient } from '../../../support/brokers/broker.js';
import { hasMosquitto, openMosquitto } from '../../../support/brokers/mosquitto.js';
import { type SourceSide, sourceFaults } from '../../../support/connectors/faults/sources.js';
import { announceSkip, freePort } from '../../../support/harness.js';
import { needsNats, openNats } from '../../../support/servers/nats.js';
import { needsRedis, openRedis, patient } from '../../../support/servers/redis.js';

/** A bus at work. */
interface Bus {
  say(text: string): Promise<unknown>;
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
}

/** An event with an id among its readings, in the envelope of the bus. */
function message(id: number, text = ''): string {
  const about = { id: 'r', origin: 1, deviceName: 'd', profileName: 'p' };
  const readings = [
    { ...about, resourceName: 'id', valueType: 'Int64', value: String(id) },
    { ...about, resourceName: 'text', valueType: 'String', value: text },
  ];
  const event = { apiVersion: 'v3', id: 'e', deviceName: 'd', profileName: 'p', sourceName: 's', origin: 1, readings };
  return JSON.stringify({ apiVersion: 'v3', correlationID: 'c', contentType: 'application/json', payload: event });
}

async function redis(port: number): Promise<Bus> {
  const server = await openRedis(port, patient);
  return {
    say: (text) => server.client.publish('rows', text),
    kill: () => server.close(),
    pause: () => server.pause(),
    resume: () => server.resume(),
  };
}

async function mqtt(port: number): Promise<Bus> {
  const server = await openMosquitto(port);
  const client = await connectClient(server.url);
  client.on('error', () => {});
  return {
    say: (text) => client.publishAsync('rows', text, { qos: 1 }),
    kill: async () => {
      await client.endAsync(true);
      await server.close();
    },
    pause: () => server.pause(),
    resume: () => server.resume(),
  };
}

async function nats(port: number): Promise<Bus> {
  // A subscriber that is slow is not cut off: what the server throws away then, nobody can count.
  const conf = 'max_payload: 33554432\nmax_pending: 536870912\nwrite_deadline: "60s"';
  const server = await openNats({ port, conf });
  return {
    say: async (text) => {
      server.client.publish('rows', text);
      await server.client.flush();
    },
    kill: () => server.close(),
    pause: () => server.pause(),
    resume: () => server.resume(),
  };
}

async function sideOf(type: string, open: (port: number) => Promise<Bus>, more: Partial<SourceSide>) {
  const port = await freePort();
  let bus: Bus;
  const side: SourceSide = {
    dataSource: 'rows',
    props: { type, server: '127.0.0.1', port },
    message,
    start: async () => {
      bus = await open(port);
    },
    kill: () => bus.kill(),
    pause: () => bus.pause(),
    resume: () => bus.resume(),
    close: () => bus.kill(),
    send: async (messages) => {
      for (const text of messages) await bus.say(String(text));
    },
    tls: {
      props: (at) => ({ port: at, protocol: 'ssl', optional: { Username: 'u', Password: 'bus-secret-61' } }),
      secret: 'bus-secret-61',
    },
    ...more,
  };
  await side.start();
  return side;
}

const keeps = 'a message bus forgets what it has sent';
const refusal = 'its servers in the other tests of faults have passwords';

if (needsRedis('faults of EdgeX') && needsNats('faults of EdgeX')) {
  sourceFaults(test, 'edgex', () => sideOf('redis', redis, { dropsWhenSlow: true }), {
    name: 'edgex on redis',
    lacks: { keeps, refusal },
  });
  sourceFaults(
    test,
    'edgex',
    () =>
      sideOf('nats-core', nats, {
        dropsWhenSlow: true,
        tls: {
          props: (port) => ({ port, protocol: 'tls' }),
          greeting: {
            says: 'INFO {"server_id":"x","version":"2.10.0","proto":1,"tls_required":true,"max_payload":9}\r\n',
          },
        },
      }),
    { name: 'edgex on nats', lacks: { keeps, refusal } },
  );
  if (hasMosquitto) {
    sourceFaults(test, 'edgex', () => sideOf('mqtt', mqtt, {}), { name: 'edgex on mqtt', lacks: { keeps, refusal } });
  } else {
    if (process.env.CI === 'true') throw new Error('faults of EdgeX: mosquitto is not installed');
    announceSkip('faults of EdgeX on MQTT', 'mosquitto is not installed');
  }
}

test.run();
