/** Rules that read and write Kafka, as users define them. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer } from '../../support/harness.js';
import { makeTopic, produce, readTopic } from '../../support/servers/kafka/messages.js';
import { needsKafka, openKafka, type TestKafka } from '../../support/servers/kafka.js';

if (!needsKafka('rules with Kafka')) process.exit(0);

let kafka: TestKafka;
let server: TestServer;
test.before(async () => {
  kafka = await openKafka();
  server = await startServer();
});
test.after(async () => {
  await server.stop();
  await kafka.close();
});

let lastTopic = 0;
const newTopic = () => `topic-${++lastTopic}`;

async function post(path: string, body: unknown): Promise<void> {
  const { status, text } = await server.request('POST', path, body);
  assert.is(status, 201, text);
}

/** A rule from the rows of a simulator to a topic. */
async function write(id: string, data: readonly object[], props: object): Promise<void> {
  const conf = { [id]: { data, interval: 0, loop: false } };
  const { text } = await server.request('PUT', `/metadata/sources/simulator/confKeys/${id}`, conf[id]);
  assert.ok(text !== undefined);
  await post('/streams', { sql: `CREATE STREAM ${id} () WITH (TYPE="simulator", CONF_KEY="${id}", FORMAT="json")` });
  await post('/rules', { id, sql: `SELECT * FROM ${id}`, actions: [{ kafka: { brokers: kafka.brokers, ...props } }] });
}

test('keys choose partitions as Java does, headers go along', async () => {
  const topic = newTopic();
  await makeTopic(kafka.brokers, topic, 7);
  const data = Array.from({ length: 200 }, (_, id) => ({ id: `k${id % 20}` }));
  const headers = { from: '{{.id}}', all: 'x' };
  await write('keyed', data, { topic, key: '{{.id}}', headers, sendSingle: true });
  const got = await readTopic(kafka.brokers, topic, ({ length }) => length >= data.length);
  const expected = newTopic();
  await makeTopic(kafka.brokers, expected, 7);
  await produce(
    kafka.brokers,
    data.map(({ id }) => ({ topic: expected, key: id, value: id })),
  );
  const same = await readTopic(kafka.brokers, expected, ({ length }) => length >= data.length);
  const places = (all: typeof got) => Object.fromEntries(all.map(({ key, partition }) => [key, partition]));
  assert.equal(places(got), places(same));
  assert.is(got.length, data.length);
  for (const { key, headers: own } of got) assert.equal(own, { from: key, all: 'x' });
});

test('headers may be the JSON text of an object, and topics may be templates', async () => {
  const topics = [newTopic(), newTopic()];
  const data = topics.map((topic, i) => ({ topic, i: String(i) }));
  await write('templates', data, { topic: '{{.topic}}', headers: '{"n":"{{.i}}"}', sendSingle: true });
  for (const [i, topic] of topics.entries()) {
    const [got] = await readTopic(kafka.brokers, topic, ({ length }) => length >= 1);
    assert.equal(got!.headers, { n: String(i) });
    assert.equal(JSON.parse(got!.value), data[i]);
  }
});

test('statements see what a message brings besides its payload', async () => {
  const [topic, out] = [newTopic(), newTopic()];
  for (const name of [topic, out]) await makeTopic(kafka.brokers, name);
  await produce(kafka.brokers, [{ topic, key: 'k', value: '{"a":1}', headers: { h: 'x' } }]);
  const conf = { brokers: kafka.brokers, groupID: 'meta' };
  await server.request('PUT', '/metadata/sources/kafka/confKeys/meta', conf);
  await post('/streams', { sql: `CREATE STREAM met () WITH (TYPE="kafka", DATASOURCE="${topic}", CONF_KEY="meta")` });
  const columns = 'a, meta(topic) AS t, meta(partition) AS p, meta(offset) AS o, meta(key) AS k, meta(headers->h) AS h';
  const actions = [{ kafka: { brokers: kafka.brokers, topic: out, sendSingle: true } }];
  await post('/rules', { id: 'met', sql: `SELECT ${columns} FROM met`, actions });
  const [got] = await readTopic(kafka.brokers, out, ({ length }) => length >= 1);
  assert.equal(JSON.parse(got!.value), { a: 1, t: topic, p: 0, o: 0, k: 'k', h: 'x' });
});

test('batches gather messages, not rows', async () => {
  const topic = newTopic();
  await makeTopic(kafka.brokers, topic);
  const data = Array.from({ length: 10 }, (_, id) => ({ id }));
  await write('batches', data, { topic, sendSingle: true, batchSize: 4, lingerInterval: '50ms', compression: 'gzip' });
  const got = await readTopic(kafka.brokers, topic, ({ length }) => length >= data.length);
  assert.equal(
    got.map(({ value }) => JSON.parse(value)),
    data,
  );
});

test('a rule is stopped and deleted while the broker hangs', async () => {
  const own = await openKafka();
  await makeTopic(own.brokers, 'in');
  await server.request('PUT', '/metadata/sources/kafka/confKeys/hang', { brokers: own.brokers, groupID: 'g' });
  await post('/streams', { sql: 'CREATE STREAM hang () WITH (TYPE="kafka", DATASOURCE="in", CONF_KEY="hang")' });
  const actions = [{ kafka: { brokers: own.brokers, topic: 'out' } }];
  await post('/rules', { id: 'hang', sql: 'SELECT * FROM hang', actions });
  await produce(own.brokers, [{ topic: 'in', value: '{"id":1}' }]);
  await readTopic(own.brokers, 'out', ({ length }) => length >= 1);
  own.pause();
  const began = Date.now();
  const { status, text } = await server.request('DELETE', '/rules/hang');
  assert.is(status, 200, text);
  assert.ok(Date.now() - began < 10_000, `${Date.now() - began} ms`);
  await eventually('the end of the rule', async () =>
    (await server.request('GET', '/rules')).json.every(({ id }: { id: string }) => id !== 'hang'),
  );
  own.resume();
  await own.close();
});

test.run();
