/** Avro through Kafka with a schema registry, which fails while the engine is killed: no message is lost. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer } from '../../support/harness.js';
import { makeTopic, readTopic } from '../../support/servers/kafka/messages.js';
import { needsKafka, sharedKafka } from '../../support/servers/kafka.js';
import { SchemaRegistryServer } from '../../support/servers/schema-registry.js';

if (!needsKafka('Avro through Kafka')) process.exit(0);

const count = 1000;
const kafka = await sharedKafka();
const registry = new SchemaRegistryServer();
const url = await registry.open();
let server: TestServer = await startServer();
test.after(async () => {
  await server.stop();
  registry.close();
  await kafka.close();
});

async function done(method: string, path: string, body?: object) {
  const answer = await server.request(method, path, body);
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
  return answer;
}

const { brokers } = kafka;
const byRegistry = { schemaRegistry: 'confluent', schemaRegistryUrl: url };

test('messages wait for their schema over a kill of the engine', async () => {
  for (const topic of ['avro', 'rows']) await makeTopic(brokers, topic);
  const fields = [
    { name: 'id', type: 'long' },
    { name: 'text', type: ['null', 'string'], default: null },
  ];
  const content = JSON.stringify({ type: 'record', name: 'Row', fields });
  await done('POST', '/schemas/avro', { name: 'row', content });
  const data = Array.from({ length: count }, (_, id) => ({ id, text: `t${id}` }));
  await done('PUT', '/metadata/sources/simulator/confKeys/rows', { data, interval: 0, loop: false });
  const simulator = 'TYPE="simulator", CONF_KEY="rows", FORMAT="json"';
  await done('POST', '/streams', { sql: `CREATE STREAM made () WITH (${simulator})` });
  const avroSink = { brokers, topic: 'avro', sendSingle: true, format: 'avro', schemaId: 'row', ...byRegistry };
  await done('POST', '/rules', {
    id: 'write',
    sql: 'SELECT * FROM made',
    actions: [{ kafka: { ...avroSink, schemaSubject: 'avro-value' } }],
  });
  await readTopic(brokers, 'avro', ({ length }) => length >= count);
  await done('DELETE', '/rules/write');
  assert.equal(registry.subjects.get('avro-value'), [{ id: 100, schema: content }]);

  registry.status = 503;
  await done('PUT', '/metadata/sources/kafka/confKeys/avro', { brokers, groupID: 'g', ...byRegistry });
  const kafkaSource = 'TYPE="kafka", DATASOURCE="avro", CONF_KEY="avro", FORMAT="avro"';
  await done('POST', '/streams', { sql: `CREATE STREAM come (id BIGINT, text STRING) WITH (${kafkaSource})` });
  await done('POST', '/rules', {
    id: 'read',
    sql: 'SELECT id, text FROM come',
    actions: [{ kafka: { brokers, topic: 'rows', sendSingle: true } }],
    options: { qos: 1, checkpointInterval: '1s' },
  });
  const waits = () =>
    eventually('messages that wait', async () => {
      const { text } = await server.request('GET', '/rules/read/status');
      return text.includes('the schema registry answered 503') || undefined;
    });
  await waits();
  await server.stop('SIGKILL');
  server = await startServer({ data: server.data });
  await waits();
  registry.status = 200;
  const got = await readTopic(brokers, 'rows', (all) => new Set(all.map(({ value }) => value)).size >= count);
  const rows = new Map(got.map(({ value }) => [JSON.parse(value).id, JSON.parse(value)]));
  assert.equal(
    [...rows.values()].sort((a, b) => a.id - b.id),
    data,
  );
});

test.run();
