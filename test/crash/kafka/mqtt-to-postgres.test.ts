/**
 * Messages go from MQTT over a rule to Kafka, and from there over another one to PostgreSQL, with qos 2: each is a row
 * once, although the engine and every server go away meanwhile. `HAUMEA_ONCE_MESSAGES=1000000` sends as many as a
 * release wants.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectClient } from '../../support/brokers/broker.js';
import { hasMosquitto, openMosquitto } from '../../support/brokers/mosquitto.js';
import { announceSkip, eventually, startServer, temporaryFolder } from '../../support/harness.js';
import { makeTopic } from '../../support/servers/kafka/messages.js';
import { needsKafka, openKafka } from '../../support/servers/kafka.js';
import { needsPostgres, openPostgres } from '../../support/servers/postgres.js';

const what = 'messages from MQTT over Kafka to PostgreSQL';
if (!hasMosquitto) announceSkip(what, 'mosquitto is not installed');
if (!needsKafka(what) || !needsPostgres(what) || !hasMosquitto) process.exit(0);

const count = Number(process.env.HAUMEA_ONCE_MESSAGES ?? 20_000);
const step = Math.min(2000, count / 20);

test(`${count} messages are rows once, over kills of the engine, Kafka and PostgreSQL`, async () => {
  // Messages wait on disk while nobody reads them.
  const folder = temporaryFolder();
  const settings = ['allow_anonymous true', 'max_queued_messages 0', 'max_queued_bytes 0'];
  let broker = await openMosquitto(undefined, folder, settings);
  const [kafka, postgres] = await Promise.all([openKafka(), openPostgres()]);
  await makeTopic(kafka.brokers, 'between', 3);
  await postgres.query('CREATE TABLE arrived (id bigint)');
  let server = await startServer();
  const post = async (path: string, body: unknown) => {
    const { status, text } = await server.request('POST', path, body);
    assert.ok(status < 300, text);
  };
  const session = { server: broker.url, qos: 2, clientid: 'once', enableClientSession: true };
  await server.request('PUT', '/metadata/sources/mqtt/confKeys/once', session);
  await server.request('PUT', '/metadata/sources/kafka/confKeys/once', { brokers: kafka.brokers, groupID: 'once' });
  await post('/streams', {
    sql: 'CREATE STREAM first (id BIGINT) WITH (TYPE="mqtt", DATASOURCE="in", CONF_KEY="once")',
  });
  await post('/streams', {
    sql: 'CREATE STREAM second (id BIGINT) WITH (TYPE="kafka", DATASOURCE="between", CONF_KEY="once")',
  });
  const options = { qos: 2, checkpointInterval: '500ms' };
  const toKafka = { kafka: { brokers: kafka.brokers, topic: 'between', sendSingle: true } };
  await post('/rules', { id: 'one', sql: 'SELECT id FROM first', actions: [toKafka], options });
  const toPostgres = { sql: { dburl: postgres.url, table: 'arrived' } };
  await post('/rules', { id: 'two', sql: 'SELECT id FROM second', actions: [toPostgres], options });
  for (const id of ['one', 'two'])
    assert.match((await server.request('GET', `/rules/${id}/explain`)).text, /exactly once/);
  const isUp = async () =>
    (await server.request('GET', '/rules/one/status')).json.source_first_0_connection_status === 1;
  await eventually('the subscription', async () => (await isUp()) || undefined);

  let client = await connectClient(broker.url);
  const faults = [
    async () => {
      await server.stop('SIGKILL');
      server = await startServer({ data: server.data });
    },
    async () => {
      await kafka.kill();
      await kafka.start();
    },
    async () => {
      await postgres.kill();
      await postgres.start();
    },
    async () => {
      // One that is killed hard forgets what it has confirmed: see decision 0093.
      await client.endAsync();
      await broker.stop();
      broker = await openMosquitto(broker.port, folder, settings);
      client = await connectClient(broker.url);
    },
  ];
  for (let sent = 0; sent < count; sent += step) {
    const ids = Array.from({ length: Math.min(step, count - sent) }, (_, i) => sent + i);
    await Promise.all(ids.map((id) => client.publishAsync('in', `{"id":${id}}`, { qos: 1 })));
    if (sent >= ((5 - faults.length) * count) / 6) await faults.shift()?.();
  }
  assert.is(faults.length, 0);
  const figures = async () => {
    const [row] = await postgres.query('SELECT count(*)::int AS rows, count(DISTINCT id)::int AS ids FROM arrived');
    return row as { rows: number; ids: number };
  };
  await eventually('all rows', async () => (await figures()).ids === count || undefined, 120_000);
  for (const id of ['one', 'two']) await post(`/rules/${id}/stop`, '');
  assert.equal(await figures(), { rows: count, ids: count });
  await client.endAsync(true);
  await server.stop();
  await Promise.all([broker.close(), kafka.close(), postgres.close()]);
});

test.run();
