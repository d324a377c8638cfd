/**
 * MQTT sinks of all qualities of service on one broker with defaults: nobody disturbs anybody, and its restarts cost
 * nothing.
 */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { MqttClient } from 'mqtt';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectClient } from '../../support/brokers/broker.js';
import { hasMosquitto, type Mosquitto, openMosquitto } from '../../support/brokers/mosquitto.js';
import { openEngine, type TestEngine } from '../../support/engine/engine-harness.js';
import { announceSkip, eventually, temporaryFolder } from '../../support/harness.js';

if (!hasMosquitto) announceSkip('sinks on a broker with defaults', 'mosquitto is not installed');
const withBroker = hasMosquitto ? test : test.skip;

let opened: TestEngine;
let near: Mosquitto;
let client: MqttClient;
test.before.each(async () => {
  opened = openEngine();
  if (!hasMosquitto) return;
  near = await openMosquitto();
  client = await connectClient(near.url);
  opened.stream('CREATE STREAM s () WITH (TYPE="mqtt", DATASOURCE="t", SHARED="TRUE", CONF_KEY="s")', {
    server: near.url,
    qos: 1,
  });
});
test.after.each(async () => {
  await opened.close();
  if (!hasMosquitto) return;
  await client.endAsync(true);
  await near.close();
});

const sinkPart = (name: string) => `sink_mqtt_0_0_${name}`;

/** Starts a rule for each quality of service, of the same name as its topic. */
async function runRules(server: string, qualities: readonly number[], props = {}): Promise<void> {
  for (const qos of qualities) {
    const id = `q${qos}`;
    opened.run(id, 'SELECT id FROM s', [['mqtt', { server, topic: id, qos, sendSingle: true, ...props }]]);
    await opened.figure(id, sinkPart('connection_status'), (value) => value === 1);
  }
  await opened.figure('q2', 'source_s_0_connection_status', (value) => value === 1);
}

/** Collects the ids on the topics, in a session that outlives the broker. */
async function collect(
  server: string,
  topics: readonly string[],
): Promise<{ got: Map<string, number[]>; end(): void }> {
  const got = new Map(topics.map((topic) => [topic, [] as number[]]));
  const subscriber = await connectClient(server, { clientId: 'collector', clean: false, reconnectPeriod: 50 });
  subscriber.on('error', () => {});
  subscriber.on('message', (topic, payload) => {
    got.get(topic)!.push((JSON.parse(payload.toString()) as { id: number }).id);
  });
  await subscriber.subscribeAsync([...topics], { qos: 1 });
  return { got, end: () => void subscriber.end(true) };
}

/** Publishes rows with the ids from `first` up to `end`, exclusive, all at once. */
async function send(first: number, end: number): Promise<void> {
  const all: Promise<unknown>[] = [];
  for (let id = first; id < end; id++) all.push(client.publishAsync('t', `{"id":${id}}`, { qos: 1 }));
  await Promise.all(all);
}

function idsTo(end: number): number[] {
  return Array.from({ length: end }, (_, id) => id);
}

for (const protocolVersion of ['3.1.1', '5']) {
  withBroker(
    `bursts at all qualities of service over one connection arrive, each row once (MQTT ${protocolVersion})`,
    async () => {
      const far = await openMosquitto();
      const topics = ['q0', 'q1', 'q2'];
      const collected = await collect(far.url, topics);
      await runRules(far.url, [0, 1, 2], { protocolVersion });
      const count = 3000;
      for (let first = 0; first < count; first += 1000) {
        await send(first, first + 1000);
        for (const id of topics)
          await opened.figure(id, 'sinkRecordsOutTotal', (value) => value === first + 1000, 20_000);
      }
      for (const id of topics) {
        await eventually(`the rows of ${id}`, () => collected.got.get(id)!.length >= count);
        assert.equal(collected.got.get(id), idsTo(count), id);
        const { metrics } = await opened.engine.status(id);
        assert.is(metrics.sinkRecordsFailedTotal, 0);
        assert.is(metrics[sinkPart('exceptions_total')], 0, `${id}: ${metrics[sinkPart('last_exception')]}`);
      }
      collected.end();
      await far.close();
    },
  );
}

withBroker('restarts of the broker lose no row at quality of service 2', async () => {
  const folder = temporaryFolder();
  let far = await openMosquitto(undefined, folder);
  const collected = await collect(far.url, ['q2']);
  await runRules(far.url, [2]);
  let sent = 0;
  for (let round = 0; round < 5; round++) {
    const before = await opened.figure('q2', 'sinkRecordsOutTotal', () => true);
    const sending = send(sent, sent + 1000);
    sent += 1000;
    await opened.figure('q2', 'sinkRecordsOutTotal', (value) => value > before);
    await far.stop();
    far = await openMosquitto(far.port, folder);
    await sending;
    await opened.figure('q2', 'sinkRecordsOutTotal', (value) => value === sent, 20_000);
  }
  const got = collected.got.get('q2')!;
  await eventually('the rows', () => new Set(got).size === sent).catch(() => {});
  const missing = idsTo(sent).filter((id) => !got.includes(id));
  assert.equal(missing, []);
  assert.is((await opened.engine.status('q2')).metrics.sinkRecordsFailedTotal, 0);
  collected.end();
  await far.close();
});

/** What a broker without a session says to a PUBREL of another connection: that it is done. */
async function forgetfulBroker() {
  const payloads: string[] = [];
  const sockets = new Set<Socket>();
  let releases = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      for (let at = 0; at < bytes.length; at += 2 + bytes[at + 1]!) {
        const type = bytes[at]! & 0xf0;
        const id = (from: number) => [bytes[from]!, bytes[from + 1]!];
        if (type === 0x10) socket.write(Buffer.from([0x20, 2, 0, 0]));
        else if (type === 0x30) {
          const topicEnd = at + 4 + bytes.readUInt16BE(at + 2);
          payloads.push(bytes.toString('utf8', topicEnd + 2, at + 2 + bytes[at + 1]!));
          socket.write(Buffer.from([0x50, 2, ...id(topicEnd)]));
        } else if (type === 0x60) {
          if (releases++ === 0) socket.destroy();
          else socket.write(Buffer.from([0x70, 2, ...id(at + 2)]));
        }
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `tcp://127.0.0.1:${(server.address() as { port: number }).port}`,
    payloads,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

test('a message whose handshake breaks off is published again to a broker that has forgotten it', async () => {
  const broker = await forgetfulBroker();
  const source = 'CREATE STREAM one () WITH (TYPE="simulator", CONF_KEY="one")';
  opened.stream(source, { data: [{ id: 1 }], interval: 1, loop: false });
  opened.run('r', 'SELECT id FROM one', [['mqtt', { server: broker.url, topic: 'a', qos: 2, sendSingle: true }]]);
  await opened.reach('r', 'stopped');
  assert.equal(broker.payloads, ['{"id":1}', '{"id":1}']);
  const { metrics } = await opened.engine.status('r');
  assert.is(metrics.sinkRecordsOutTotal, 1);
  assert.is(metrics.sinkRecordsFailedTotal, 0);
  broker.close();
});

test('rows that a breaking connection cuts off at quality of service 0 count as failed', async () => {
  let socket: Socket | undefined;
  const server = createServer((accepted) => {
    socket = accepted;
    accepted.on('error', () => {});
    accepted.once('data', () => {
      accepted.write(Buffer.from([0x20, 2, 0, 0]));
      accepted.pause();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const text = 'x'.repeat(100_000);
  opened.stream('CREATE STREAM big () WITH (TYPE="simulator", CONF_KEY="big")', { data: [{ text }], interval: 1 });
  const sink = { server: `tcp://127.0.0.1:${port}`, topic: 'a', qos: 0, sendSingle: true };
  opened.run('r', 'SELECT text FROM big', [['mqtt', sink]]);
  // Rows wait before the connection is there as well: only those that are being sent can be cut off.
  await opened.figure('r', sinkPart('connection_status'), (value) => value === 1);
  await opened.figure('r', 'sinkRecordsOutTotal', (value) => value > 0);
  await opened.figure('r', sinkPart('buffer_length'), (value) => value > 5);
  server.close();
  socket!.destroy();
  await opened.figure('r', 'sinkRecordsFailedTotal', (value) => value > 0);
});

test.run();
