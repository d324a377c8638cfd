/** Streams and actions of Avro by schemas of the server, through a whole server. */
import avro from 'avsc';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectClient, openBroker } from '../../support/brokers/broker.js';
import { eventually, startServer } from '../../support/harness.js';

const server = await startServer();
const broker = await openBroker();
const client = await connectClient(broker.url);
test.after(async () => {
  await client.endAsync();
  await broker.close();
  await server.stop();
});

async function done(method: string, path: string, body?: object) {
  const answer = await server.request(method, path, body);
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
  return answer;
}

const schema = {
  type: 'record',
  name: 'Reading',
  namespace: 'plant',
  fields: [
    { name: 'id', type: 'long' },
    { name: 'temp', type: ['null', 'double'], default: null },
    { name: 'at', type: { type: 'long', logicalType: 'timestamp-millis' } },
    { name: 'raw', type: 'bytes', default: '' },
  ],
};
const type = avro.Type.forSchema(schema as never, { wrapUnions: 'always' } as never);
const content = JSON.stringify(schema);

await done('PUT', '/metadata/sources/mqtt/confKeys/here', { server: broker.url });
await done('POST', '/schemas/avro', { name: 'reading', content });

const received = new Map<string, Buffer[]>();
client.on('message', (topic, message) => received.get(topic)?.push(message));

/** Makes a stream and a rule over it; returns how to send, and what comes out. */
async function running(name: string, options: string, sink: object = {}, sql = 'SELECT * FROM $', columns = '') {
  const source = `TYPE="mqtt", DATASOURCE="in/${name}", CONF_KEY="here"`;
  await done('POST', '/streams', { sql: `CREATE STREAM ${name} (${columns}) WITH (${source}, ${options})` });
  const out: Buffer[] = [];
  received.set(`out/${name}`, out);
  await client.subscribeAsync(`out/${name}`);
  await done('POST', '/rules', {
    id: name,
    sql: sql.replace('$', name),
    actions: [{ mqtt: { server: broker.url, topic: `out/${name}`, sendSingle: true, ...sink } }],
    options: { sendError: true },
  });
  await eventually('the subscription', async () => {
    const { json } = await server.request('GET', `/rules/${name}/status`);
    return json[`source_${name}_0_connection_status`] === 1 || undefined;
  });
  const send = async (messages: readonly Buffer[], count = messages.length) => {
    for (const message of messages) await client.publishAsync(`in/${name}`, message);
    await eventually('the messages', () => out.length >= count || undefined);
    return out;
  };
  return { send };
}

test('schemas are stored, checked and described', async () => {
  const { file, ...described } = (await done('GET', '/schemas/avro/reading')).json;
  assert.equal(described, { type: 'avro', name: 'reading', content });
  assert.match(file, /reading\.avsc$/);
  assert.equal((await done('GET', '/schemas/avro')).json, ['reading']);
  for (const wrong of ['{', '{"type":"record","name":"R","fields":[{"name":"a","type":"nope"}]}']) {
    const answer = await server.request('POST', '/schemas/avro', { name: 'wrong', content: wrong });
    assert.is(answer.status, 400, answer.text);
    assert.match(answer.json.message, /schema wrong: (it is no JSON|undefined type name: nope)/);
  }
});

test('columns of a stream are those of its schema', async () => {
  const options = 'TYPE="mqtt", DATASOURCE="x", FORMAT="avro", SCHEMAID="reading.Reading"';
  await done('POST', '/streams', { sql: `CREATE STREAM described () WITH (${options})` });
  assert.equal((await done('GET', '/streams/described/schema')).json, {
    id: { type: 'bigint', index: 0 },
    temp: { type: 'float', index: 1 },
    at: { type: 'bigint', index: 2 },
    raw: { type: 'bytea', index: 3 },
  });
});

test('messages of Avro become rows', async () => {
  const { send } = await running('rows', 'FORMAT="avro", SCHEMAID="reading"', {}, 'SELECT *, id + 1 AS next FROM $');
  const message = type.toBuffer({ id: 5, temp: { double: 21.5 }, at: 1700000000123, raw: Buffer.from([1, 2]) });
  const out = await send([message, message.subarray(0, 3), Buffer.concat([message, Buffer.from([0])])]);
  assert.equal(out.map(String), [
    '{"at":1700000000123,"id":5,"next":6,"raw":"AQI=","temp":21.5}',
    'stream rows: format avro: it ends in the middle of a value',
    'stream rows: format avro: 1 bytes follow the value',
  ]);
});

test('declared columns hold integers of 64 bits', async () => {
  const long = { type: 'record', name: 'Long', fields: [{ name: 'id', type: 'long' }] };
  await done('POST', '/schemas/avro', { name: 'long', content: JSON.stringify(long) });
  const options = 'FORMAT="avro", SCHEMAID="long.Long", STRICT_VALIDATION="true"';
  const { send } = await running(
    'longs',
    options,
    { format: 'avro', schemaId: 'long' },
    'SELECT id FROM $',
    'id BIGINT',
  );
  const largest = Buffer.from('feffffffffffffffff01', 'hex');
  assert.equal(await send([largest]), [largest]);
});

test('rows become messages of Avro, errors stay texts', async () => {
  const { send } = await running('made', 'FORMAT="json"', { format: 'avro', schemaId: 'reading' });
  const messages = [
    '{"id":5,"at":"2023-11-14T22:13:20.123Z","temp":1.5,"more":1}',
    '{"id":6,"at":7}',
    '{"id":"x","at":7}',
  ];
  const [first, second, third] = await send(messages.map((one) => Buffer.from(one)));
  const read = (message?: Buffer) => JSON.parse(JSON.stringify(type.fromBuffer(message!)));
  const raw = { type: 'Buffer', data: [] };
  assert.equal(read(first), { id: 5, temp: { double: 1.5 }, at: 1700000000123, raw });
  assert.equal(read(second), { id: 6, temp: null, at: 7, raw });
  assert.is(String(third), 'sink mqtt: format avro: id: "x" is no long');
});

test('a template makes the JSON of messages', async () => {
  const sink = { format: 'avro', schemaId: 'reading', dataTemplate: '{"id":{{.n}},"at":1}' };
  const { send } = await running('templated', 'FORMAT="json"', sink);
  const [message] = await send([Buffer.from('{"n":9}')]);
  assert.is((type.fromBuffer(message!) as unknown as { id: number }).id, 9);
});

test('fingerprints and numbers stand before messages', async () => {
  const single = { format: 'avro', schemaId: 'reading', singleObject: true };
  const extra = JSON.stringify({ singleObject: true }).replaceAll('"', '\\"');
  const read = await running('single', `FORMAT="avro", SCHEMAID="reading", EXTRA="${extra}"`, single);
  const write = await running('singles', 'FORMAT="json"', single);
  const [message] = await write.send([Buffer.from('{"id":1,"at":2}')]);
  assert.is(message!.toString('hex', 0, 2), 'c301');
  assert.equal(await read.send([message!]), [message]);
  const numbered = { format: 'avro', schemaId: 'reading', schemaRegistry: 'confluent', schemaNumber: 17 };
  const by = JSON.stringify({ schemaRegistry: 'confluent', schemaIds: { 17: 'reading' } }).replaceAll('"', '\\"');
  const { send } = await running('numbered', `FORMAT="avro", EXTRA="${by}"`, numbered);
  const given = Buffer.concat([
    Buffer.from('0000000011', 'hex'),
    type.toBuffer({ id: 1, temp: null, at: 2, raw: Buffer.alloc(0) }),
  ]);
  const out = await send([given, Buffer.from('0000000012', 'hex')]);
  assert.equal(out[0], given);
  assert.match(String(out[1]), /^stream numbered: format avro: its schema has the number 18/);
});

test('what is wrong is refused by name', async () => {
  const rule = async (sink: object) => {
    const actions = [{ log: { format: 'avro', ...sink } }];
    return (await server.request('POST', '/rules', { id: 'wrong', sql: 'SELECT * FROM rows', actions })).text;
  };
  assert.match(await rule({}), /format avro: property schemaId is missing/);
  assert.match(await rule({ schemaId: 'none' }), /schema none of type avro is not found/);
  assert.match(await rule({ schemaId: 'reading', schemaRegistry: 'own' }), /schemaRegistry/);
  assert.match(await rule({ schemaId: 'reading', schemaRegistryPassword: 5 }), /schemaRegistryPassword/);
  const source = 'TYPE="mqtt", DATASOURCE="x", FORMAT="avro"';
  const { text } = await done('POST', '/streams', { sql: `CREATE STREAM bare () WITH (${source})` });
  assert.match(text, /no rule can read it: .*format avro: SCHEMAID is missing/);
});

test.run();
