/** Streams and actions of Avro whose schemas are in a registry of the kind of Confluent. */
import avro from 'avsc';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectClient, openBroker } from '../../support/brokers/broker.js';
import { eventually, freePort, startServer } from '../../support/harness.js';
import { SchemaRegistryServer } from '../../support/servers/schema-registry.js';

const registry = new SchemaRegistryServer();
const url = await registry.open();
const server = await startServer({ env: { HAUMEA_SECRET_REGISTRY: 'of the environment' } });
const broker = await openBroker();
const client = await connectClient(broker.url);
test.after(async () => {
  await client.endAsync();
  await broker.close();
  await server.stop();
  registry.close();
});

async function done(method: string, path: string, body?: object) {
  const answer = await server.request(method, path, body);
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
  return answer;
}

const received = new Map<string, Buffer[]>();
client.on('message', (topic, message) => received.get(topic)?.push(message));
const secret = { schemaRegistryUser: 'me', schemaRegistryPassword: 'sesame' };

async function running(name: string, more: object = {}) {
  const props = { server: broker.url, schemaRegistry: 'confluent', schemaRegistryUrl: url, ...more };
  await done('PUT', `/metadata/sources/mqtt/confKeys/${name}`, props);
  const options = `TYPE="mqtt", DATASOURCE="in/${name}", CONF_KEY="${name}", FORMAT="avro"`;
  await done('POST', '/streams', { sql: `CREATE STREAM ${name} () WITH (${options})` });
  const out: Buffer[] = [];
  received.set(`out/${name}`, out);
  await client.subscribeAsync(`out/${name}`);
  const actions = [{ mqtt: { server: broker.url, topic: `out/${name}`, sendSingle: true } }];
  await done('POST', '/rules', { id: name, sql: `SELECT * FROM ${name}`, actions, options: { sendError: true } });
  await eventually('the subscription', async () => {
    const { json } = await server.request('GET', `/rules/${name}/status`);
    return json[`source_${name}_0_connection_status`] === 1 || undefined;
  });
  const send = async (messages: readonly Buffer[]) => {
    for (const message of messages) await client.publishAsync(`in/${name}`, message);
  };
  const came = (count: number) => eventually('the messages', () => (out.length >= count ? out.map(String) : undefined));
  return { send, came };
}

const message = (id: number, hex: string) => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(id, 1);
  return Buffer.concat([head, Buffer.from(hex, 'hex')]);
};
const recordOf = (name: string, field: string, type: unknown) =>
  JSON.stringify({ type: 'record', name, fields: [{ name: field, type }] });

test('messages wait for their schemas, each is asked for once', async () => {
  registry.schemas.set(1, { schema: recordOf('One', 'a', 'int') });
  registry.schemas.set(2, { schema: recordOf('Two', 'b', 'string') });
  const { send, came } = await running('waiting', secret);
  registry.held = [];
  await send([message(1, '02'), message(1, '04'), message(2, '0278'), message(1, '06')]);
  await eventually('the request', () => registry.held!.length === 1 || undefined);
  const held = registry.held;
  registry.held = undefined;
  for (const answer of held) answer();
  assert.equal(await came(4), ['{"a":1}', '{"a":2}', '{"b":"x"}', '{"a":3}']);
  await send([message(2, '0279'), message(1, '08')]);
  assert.equal((await came(6)).slice(4), ['{"b":"y"}', '{"a":4}']);
  const by = `Basic ${Buffer.from('me:sesame').toString('base64')}`;
  assert.equal(registry.asked.splice(0), [`GET /schemas/ids/1 ${by}`, `GET /schemas/ids/2 ${by}`]);
});

test('a registry that fails is asked again, nothing is lost meanwhile', async () => {
  registry.schemas.set(3, { schema: recordOf('Three', 'c', 'int') });
  registry.status = 503;
  const { send, came } = await running('failing', { schemaRegistryToken: 'sesame' });
  await send([message(3, '02'), message(3, '04')]);
  const reason = await eventually('the reason', async () => {
    const { text } = await server.request('GET', '/rules/failing/status');
    return text.includes('the schema registry answered 503') ? text : undefined;
  });
  assert.not.match(reason, /sesame/);
  registry.status = 200;
  assert.equal(await came(2), ['{"c":1}', '{"c":2}']);
  assert.match(registry.asked.splice(0).at(-1)!, /^GET \/schemas\/ids\/3 Bearer sesame$/);
});

test('a schema that is not there, or is none of Avro, fails its messages alone', async () => {
  registry.schemas.set(4, { schema: 'message M {}', schemaType: 'PROTOBUF' });
  registry.schemas.set(5, { schema: '{"type":"nope"}' });
  registry.schemas.set(6, { schema: recordOf('Six', 'd', 'int') });
  const { send, came } = await running('odd');
  await send([message(99, '02'), message(4, '02'), message(5, '02'), Buffer.from('{}'), message(6, '02')]);
  const out = await came(5);
  assert.equal(out.slice(0, 2), [
    'stream odd: format avro: the registry has no schema 99',
    'stream odd: format avro: schema 4 of the registry is PROTOBUF, not AVRO',
  ]);
  assert.match(out[2]!, /^stream odd: format avro: schema 5 of the registry: /);
  assert.match(out[3]!, /does not begin with a zero/);
  assert.is(out[4], '{"d":1}');
});

test('a schema may name others', async () => {
  registry.subjects.set('inner', [{ id: 7, schema: recordOf('Inner', 'x', 'int') }]);
  const references = [{ name: 'Inner', subject: 'inner', version: 1 }];
  registry.schemas.set(8, { schema: recordOf('Outer', 'inner', 'Inner'), references });
  const { send, came } = await running('nested');
  await send([message(8, '02')]);
  assert.equal(await came(1), ['{"inner":{"x":1}}']);
});

test('secrets come by reference, and go to their own registry alone', async () => {
  const { send, came } = await running('referenced', { schemaRegistryToken: 'env://HAUMEA_SECRET_REGISTRY' });
  registry.schemas.set(10, { schema: recordOf('Ten', 'a', 'int') });
  registry.asked.length = 0;
  await send([message(10, '02')]);
  assert.equal(await came(1), ['{"a":1}']);
  assert.is(registry.asked[0], 'GET /schemas/ids/10 Bearer of the environment');
  const extra = JSON.stringify({ schemaRegistryUrl: 'http://elsewhere' }).replaceAll('"', '\\"');
  const options = `TYPE="mqtt", DATASOURCE="x", CONF_KEY="failing", FORMAT="avro", EXTRA="${extra}"`;
  const { text } = await done('POST', '/streams', { sql: `CREATE STREAM moved () WITH (${options})` });
  assert.match(text, /schemaRegistryToken is given by configuration key failing for another schemaRegistryUrl/);
  const own = JSON.stringify({ schemaRegistryUrl: url, schemaRegistry: 'confluent' }).replaceAll('"', '\\"');
  await done('PUT', '/metadata/sources/mqtt/confKeys/closed', {
    server: broker.url,
    username: 'u',
    password: 'sesame',
  });
  const plain = `TYPE="mqtt", DATASOURCE="x", CONF_KEY="closed", FORMAT="avro", EXTRA="${own}"`;
  const accepted = await done('POST', '/streams', { sql: `CREATE STREAM kept () WITH (${plain})` });
  assert.not.match(accepted.text, /no rule can read it/);
});

test('an action gives its schema to the registry and writes the number', async () => {
  const content = JSON.stringify({ type: 'record', name: 'Out', fields: [{ name: 'n', type: 'int' }] });
  await done('POST', '/schemas/avro', { name: 'out', content });
  const { send } = await running('toregistry');
  registry.schemas.set(9, { schema: recordOf('In', 'n', 'int') });
  const written: Buffer[] = [];
  received.set('written', written);
  await client.subscribeAsync('written');
  const avroProps = { format: 'avro', schemaId: 'out', schemaRegistry: 'confluent', schemaRegistryUrl: url };
  const sink = { server: broker.url, topic: 'written', sendSingle: true, ...avroProps, schemaSubject: 'out-value' };
  await done('POST', '/rules', { id: 'writing', sql: 'SELECT * FROM toregistry', actions: [{ mqtt: sink }] });
  await eventually('the start', async () => {
    const { json } = await server.request('GET', '/rules/writing/status');
    return json.source_toregistry_0_connection_status === 1 || undefined;
  });
  await send([message(9, '0a')]);
  await eventually('the message', () => written.length === 1 || undefined);
  assert.equal(registry.subjects.get('out-value'), [{ id: 100, schema: content }]);
  assert.is(written[0]!.toString('hex'), '00000000640a');
  const { value } = avro.Type.forSchema(JSON.parse(content)).decode(written[0]!, 5);
  assert.is(value.n, 5);
  const shown = await server.request('GET', '/rules/writing');
  assert.match(shown.text, /schemaRegistryUrl/);
});

test('a rule whose registry has no answer does not start, and says why', async () => {
  const sink = {
    format: 'avro',
    schemaId: 'out',
    schemaRegistry: 'confluent',
    schemaRegistryUrl: `http://127.0.0.1:${await freePort()}`,
    schemaSubject: 's',
    schemaRegistryPassword: 'sesame',
  };
  await done('POST', '/rules', { id: 'nobody', sql: 'SELECT * FROM toregistry', actions: [{ log: sink }] });
  const status = await eventually('the end', async () => {
    const { json, text } = await server.request('GET', '/rules/nobody/status');
    return /^stopped/i.test(json.status) ? text : undefined;
  });
  assert.match(status, /the schema registry does not answer/);
  assert.not.match((await server.request('GET', '/rules/nobody')).text, /sesame/);
  assert.not.match((await server.request('GET', '/metadata/sources/yaml/mqtt')).text, /sesame/);
});

test.run();
