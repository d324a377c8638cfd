/**
 * QoS 1: a message is acknowledged when its row is with the sink, gathered batches included; batches need no full
 * window.
 */
import { existsSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectClient } from '../../support/brokers/broker.js';
import { hasMosquitto, openMosquitto } from '../../support/brokers/mosquitto.js';
import { openRawBroker, publish } from '../../support/brokers/raw-broker.js';
import { openEngine, type TestEngine } from '../../support/engine/engine-harness.js';
import { announceSkip, eventually, startServer, temporaryFolder } from '../../support/harness.js';

let opened: TestEngine;
test.before.each(() => {
  opened = openEngine();
});
test.after.each(() => opened.close());

const reason = 'mosquitto is not installed';
if (!hasMosquitto) announceSkip('batches from a broker with a window', reason);
const withBroker = hasMosquitto ? test : test.skip;

/** Batches in a file, one in each line. */
function batchesIn(path: string): number[][] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => (JSON.parse(line) as { id: number }[][]).flat().map(({ id }) => id));
}

function idsTo(end: number): number[] {
  return Array.from({ length: end }, (_, id) => id);
}

/** A broker that publishes as it is told, and a rule that gathers what comes. */
async function gather(path: string, props: Record<string, unknown>) {
  let socket: Socket | undefined;
  const broker = await openRawBroker((accepted) => {
    socket = accepted;
  });
  opened.stream('CREATE STREAM s () WITH (TYPE="mqtt", DATASOURCE="a", SHARED="TRUE", CONF_KEY="s")', {
    server: broker.url,
    qos: 1,
  });
  opened.run('r', 'SELECT id FROM s WHERE id >= 0', [['file', { path, ...props }]]);
  const connected = await eventually('the subscription', () => socket);
  return {
    broker,
    /** Sends rows with the ids and waits until they were taken. */
    send: async (ids: number[]) => {
      const before = Number((await opened.engine.status('r')).metrics.source_s_0_records_in_total);
      for (const id of ids) connected.write(publish(`{"id":${id}}`, id + 1));
      await opened.figure('r', 'source_s_0_records_in_total', (value) => value === before + ids.length);
    },
  };
}

test('messages in a batch by size are acknowledged when the batch is in the file', async () => {
  const path = join(temporaryFolder(), 'out');
  const { broker, send } = await gather(path, { batchSize: 5 });
  await send([0, 1, 2]);
  await send([3]);
  assert.equal(broker.acknowledged, [], 'the batch is not full');
  await send([4, 5]);
  await eventually('the acknowledgements', () => broker.acknowledged.length > 0);
  assert.equal(batchesIn(path), [[0, 1, 2, 3, 4]]);
  await send([6, 7, 8, 9]);
  await eventually('the other acknowledgements', () => broker.acknowledged.length === 10);
  assert.equal(broker.acknowledged, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  assert.equal(batchesIn(path).flat(), idsTo(10));
  broker.close();
});

test('messages in a batch by time are acknowledged when the batch is in the file', async () => {
  const path = join(temporaryFolder(), 'out');
  const { broker, send } = await gather(path, { lingerInterval: 400 });
  await send([0, 1, 2]);
  await eventually('the acknowledgements', () => broker.acknowledged.length > 0);
  assert.equal(batchesIn(path).flat().slice(0, 3), [0, 1, 2]);
  broker.close();
});

test(
  'at the end of a rule the rows of its batch are written, and acknowledged before the connection ' + 'ends',
  async () => {
    const path = join(temporaryFolder(), 'out');
    const { broker, send } = await gather(path, { batchSize: 100, lingerInterval: 600_000 });
    await send([0, 1, 2]);
    assert.equal(broker.acknowledged, []);
    await opened.engine.stop('r');
    assert.equal(batchesIn(path), [[0, 1, 2]]);
    await eventually('the acknowledgements', () => broker.acknowledged.length === 3);
    broker.close();
  },
);

test('a rule that is removed with rows in a batch of a sink that is away holds no neighbour', async () => {
  const path = join(temporaryFolder(), 'out');
  const { broker, send } = await gather(path, { batchSize: 5 });
  opened.run('a', 'SELECT id FROM s', [['mqtt', { server: 'tcp://127.0.0.1:1', topic: 'x', batchSize: 50 }]]);
  await opened.reach('a', 'running');
  await send([0, 1, 2, 3, 4]);
  await eventually('the batch', () => batchesIn(path).length === 1);
  assert.equal(broker.acknowledged, []);
  await opened.engine.remove('a');
  await eventually('the acknowledgements', () => broker.acknowledged.length === 5);
  broker.close();
});

withBroker('a batch that is larger than the window of the broker does not stand still', async () => {
  const broker = await openMosquitto();
  const client = await connectClient(broker.url);
  const path = join(temporaryFolder(), 'out');
  opened.stream('CREATE STREAM s () WITH (TYPE="mqtt", DATASOURCE="t", CONF_KEY="s")', { server: broker.url, qos: 1 });
  opened.run('r', 'SELECT id FROM s', [['file', { path, batchSize: 1000 }]]);
  await opened.figure('r', 'source_s_0_connection_status', (value) => value === 1);
  const count = 5000;
  await Promise.all(idsTo(count).map((id) => client.publishAsync('t', `{"id":${id}}`, { qos: 1 })));
  await eventually('all rows', () => batchesIn(path).flat().length >= count);
  assert.equal(batchesIn(path).flat(), idsTo(count));
  await client.endAsync(true);
  await broker.close();
});

withBroker('kill -9 of the server loses no row that waits in a batch', async () => {
  const broker = await openMosquitto();
  const client = await connectClient(broker.url);
  const server = await startServer();
  const path = join(server.data, 'out');
  const conf = { server: broker.url, qos: 1, clientid: 'acknowledge-test', enableClientSession: true };
  await server.request('PUT', '/metadata/sources/mqtt/confKeys/s', conf);
  const sql = 'CREATE STREAM s () WITH (TYPE="mqtt", DATASOURCE="t", CONF_KEY="s")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  const props = { path, batchSize: 1000, lingerInterval: 600_000 };
  const rule = { id: 'r', sql: 'SELECT id FROM s', actions: [{ file: props }] };
  assert.is((await server.request('POST', '/rules', rule)).status, 201);
  const figure = (name: string, base = server) =>
    base.request('GET', '/rules/r/status').then(({ json }) => Number(json[`source_s_0_${name}`]));
  await eventually('the connection', async () => (await figure('connection_status')) === 1);
  for (const id of idsTo(5)) await client.publishAsync('t', `{"id":${id}}`, { qos: 1 });
  await eventually('the rows', async () => (await figure('records_in_total')) === 5);
  // One more round trip, in which an early acknowledgement would have reached the broker.
  await client.publishAsync('other', '', { qos: 1 });
  await server.stop('SIGKILL');
  const again = await startServer({ data: server.data });
  await eventually('the rows, again', async () => (await figure('records_in_total', again)) === 5);
  await again.request('POST', '/rules/r/stop');
  assert.equal(batchesIn(path).flat(), idsTo(5));
  await again.stop();
  await client.endAsync(true);
  await broker.close();
});

test.run();
