/** Faults of the message buses of EdgeX: an MQTT broker that confirms each event, and channels of Redis. */
import { createClient } from '@redis/client';
import { test } from 'uvu';
import { readEnvelope } from '../../../../host/connectors/edgex/bus/envelope.js';
import { openHeardBroker } from '../../../support/brokers/heard-broker.js';
import { hasMosquitto } from '../../../support/brokers/mosquitto.js';
import { type SinkSide, sinkFaults } from '../../../support/connectors/faults/sinks.js';
import { announceSkip, freePort } from '../../../support/harness.js';
import { needsRedis, openRedis, type TestRedis } from '../../../support/servers/redis.js';

/** Ids of the readings of an event. */
function idsIn(message: Buffer): number[] {
  const { payload } = readEnvelope(message);
  const { readings = [] } = payload as { readings?: { resourceName: string; value: string }[] };
  return readings.filter(({ resourceName }) => resourceName === 'id').map(({ value }) => Number(value));
}

const lacks = {
  empty: 'an event is made of rows',
  rejects: 'a message bus takes any event',
  full: 'a message bus has no answer that says so',
};

async function mqttSide(): Promise<SinkSide> {
  const ids: number[] = [];
  const broker = await openHeardBroker((message) => ids.push(...idsIn(message)));
  const { port } = broker;
  return Object.assign(broker, {
    props: { type: 'mqtt', server: '127.0.0.1', port, topic: 'out', optional: { Qos: 1 }, fields: ['id'] },
    arrived: () => ids,
    tls: { props: (to: number) => ({ protocol: 'ssl', port: to }), plainPort: port },
  });
}

async function redisSide(): Promise<SinkSide> {
  const port = await freePort();
  const ids: number[] = [];
  let redis: TestRedis;
  let listener: ReturnType<typeof createClient>;
  const side: SinkSide = {
    props: { type: 'redis', server: '127.0.0.1', port, topic: 'out', fields: ['id'] },
    arrived: () => ids,
    /** A channel has no memory. */
    mayLose: true,
    start: async () => {
      redis = await openRedis(port);
      listener = createClient({ socket: { host: '127.0.0.1', port, reconnectStrategy: false } });
      listener.on('error', () => {});
      await listener.connect();
      await listener.subscribe('out', (text) => ids.push(...idsIn(Buffer.from(text))));
    },
    kill: async () => {
      if (listener.isOpen) listener.destroy();
      await redis.close();
    },
    pause: () => redis.pause(),
    resume: () => redis.resume(),
    close: () => side.kill(),
    tls: { props: (to: number) => ({ protocol: 'rediss', port: to }), plainPort: port },
  };
  await side.start();
  return side;
}

const noLogin = 'the bus of this test asks for none';
if (hasMosquitto) {
  sinkFaults(test, 'edgex', mqttSide, { name: 'edgex mqtt', lacks: { ...lacks, refusal: noLogin } });
} else {
  if (process.env.CI === 'true') throw new Error('faults of EdgeX: mosquitto is not installed');
  announceSkip('faults of EdgeX over MQTT', 'mosquitto is not installed');
}
if (needsRedis('faults of EdgeX over Redis')) {
  const early = 'what is published before the listener is back reaches nobody';
  sinkFaults(test, 'edgex', redisSide, { name: 'edgex redis', lacks: { ...lacks, absence: early, refusal: noLogin } });
}

test.run();
