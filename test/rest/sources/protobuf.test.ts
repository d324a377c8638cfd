/** Streams and actions of the format protobuf: schemas that are uploaded, import each other and change under rules. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectClient, openBroker } from '../../support/brokers/broker.js';
import { messageIn } from '../../support/formats/protobuf.js';
import { eventually, startServer } from '../../support/harness.js';
import { fileUri } from '../../support/rest/given-files.js';
import { writeZip } from '../../support/rest/zip-writer.js';

const server = await startServer();
const broker = await openBroker();
const client = await connectClient(broker.url);
test.after(async () => {
  await client.endAsync();
  await broker.close();
  await server.stop();
});

const done = async (method: string, path: string, body?: object) => {
  const answer = await server.request(method, path, body);
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
  return answer;
};
await done('PUT', '/metadata/sources/mqtt/confKeys/here', { server: broker.url });

const received = new Map<string, Buffer[]>();
client.on('message', (topic, message) => received.get(topic)?.push(message));
async function subscribed(topic: string): Promise<Buffer[]> {
  const messages: Buffer[] = [];
  received.set(topic, messages);
  await client.subscribeAsync(topic);
  return messages;
}

async function streamOf(name: string, schemaId: string): Promise<void> {
  const options = `TYPE="mqtt", DATASOURCE="in/${name}", CONF_KEY="here", FORMAT="protobuf", SCHEMAID="${schemaId}"`;
  await done('POST', '/streams', { sql: `CREATE STREAM ${name} () WITH (${options})` });
}

/** A rule that sends to `out/<id>`, when it has subscribed. */
async function ruleOf(id: string, sql: string, sink: object = {}): Promise<Buffer[]> {
  const messages = await subscribed(`out/${id}`);
  const actions = [{ mqtt: { server: broker.url, topic: `out/${id}`, sendSingle: true, ...sink } }];
  await done('POST', '/rules', { id, sql, actions, options: { sendError: true } });
  await connected(id);
  return messages;
}

async function connected(id: string): Promise<void> {
  await eventually('the subscription', async () => {
    const status = (await server.request('GET', `/rules/${id}/status`)).json;
    return Object.entries(status).some(([key, value]) => /^source_.*connection_status$/.test(key) && value === 1);
  });
}

const partText = 'syntax = "proto3"; package parts; message Part { string name = 1; }';
const orderText = `syntax = "proto3"; package shop.v1; import "order/part.proto"; import "money.proto";
  message Order { int64 id = 1; repeated parts.Part parts = 2; money.Price price = 3; }`;
const moneyText = 'syntax = "proto3"; package money; message Price { sint64 cents = 1; string currency = 2; }';

test('a schema with imports, from its archive and from another schema, on the way in and out', async () => {
  const archive = writeZip([
    { name: 'order.proto', content: orderText },
    { name: 'order/part.proto', content: partText },
  ]);
  await done('POST', '/schemas/protobuf', { name: 'order', file: fileUri('order.zip', archive) });
  await done('POST', '/schemas/protobuf', { name: 'money', content: moneyText });
  await streamOf('orders', 'order.Order');
  const schema = (await done('GET', '/streams/orders/schema')).json;
  assert.equal(Object.keys(schema), ['id', 'parts', 'price']);
  const json = await ruleOf('orderRows', 'SELECT *, price->cents / 100 AS euros FROM orders');
  const out = await ruleOf('orderMessages', 'SELECT id + 1 AS id, price, parts FROM orders', {
    format: 'protobuf',
    schemaId: 'order.shop.v1.Order',
  });
  const made = await ruleOf('orderTemplate', 'SELECT id, parts FROM orders', {
    format: 'protobuf',
    schemaId: 'order.Order',
    dataTemplate: '{"id":{{.id}},"price":{"currency":"{{range .parts}}{{.name}}{{end}}"}}',
  });
  const { type } = messageIn(orderText, 'Order', { 'order/part.proto': partText, 'money.proto': moneyText });
  const order = {
    id: '9007199254740993',
    parts: [{ name: 'a' }, { name: 'ü' }],
    price: { cents: -250, currency: 'EUR' },
  };
  await client.publishAsync('in/orders', Buffer.from(type.encode(type.fromObject(order)).finish()));
  await client.publishAsync('in/orders', Buffer.from([8]));
  await eventually('all messages', () => json.length > 1 && out.length > 1 && made.length > 1);
  assert.is(
    String(json[0]),
    '{"euros":-2,"id":9007199254740993,"parts":[{"name":"a"},{"name":"ü"}],"price":{"cents":-250,"currency":"EUR"}}',
  );
  assert.match(String(json[1]), /invalid protobuf message at byte 1, field id: the message ends within a number/);
  const plain = (bytes: Buffer | undefined) => type.toObject(type.decode(bytes ?? Buffer.alloc(0)), { longs: String });
  assert.equal(plain(out[0]), { ...order, id: '9007199254740994', price: { cents: '-250', currency: 'EUR' } });
  assert.match(String(out[1]), /invalid protobuf message/);
  assert.equal(plain(made[0]), { id: order.id, price: { currency: 'aü' } });
});

test('what is missing is named when the rule is made', async () => {
  await done('POST', '/schemas/protobuf', { name: 'flat', content: 'syntax = "proto3"; message A { int32 a = 1; }' });
  await done('POST', '/schemas/protobuf', { name: 'broken', content: 'no schema' });
  await done('POST', '/schemas/protobuf', { name: 'short', content: 'syntax = "proto3"; message A {' });
  await done('POST', '/schemas/protobuf', { name: 'alone', content: 'import "nowhere.proto";' });
  await streamOf('flat', 'flat.A');
  const library = fileUri('lib.so', Buffer.from('x'));
  await done('POST', '/schemas/protobuf', {
    name: 'native',
    content: 'syntax = "proto3"; message A {}',
    soFile: library,
  });
  const refusal = async (sql: string, sink: object) => {
    const actions = [{ mqtt: { server: broker.url, topic: 'none', sendSingle: true, ...sink } }];
    const answer = await server.request('POST', '/rules', { id: 'refused', sql, actions });
    assert.is(answer.status, 400, answer.text);
    return String(answer.json.message);
  };
  const plain = 'SELECT a FROM flat';
  assert.match(await refusal(plain, { format: 'protobuf' }), /sink mqtt: the format protobuf needs schemaId/);
  for (const [schemaId, reason] of [
    ['none.A', /schema none is not found/],
    ['flat.B', /message type B not found in schema flat/],
    ['flat', /message type of schema flat is not named, expected flat.Message/],
    ['broken.A', /schema broken can't be read: /],
    ['short.A', /schema short can't be read: the text ends too early \(schema, line 1\)/],
    ['alone.A', /the import nowhere\.proto is not there/],
    ['native.A', /schema native has a native library \(soFile\) for its messages, which is not loaded/],
  ] as const) {
    assert.match(await refusal(plain, { format: 'protobuf', schemaId }), reason);
    const name = `s${schemaId.replace('.', '')}`;
    await streamOf(name, schemaId);
    assert.match(await refusal(`SELECT a FROM ${name}`, {}), reason);
  }
  const without = await done('POST', '/streams', {
    sql: 'CREATE STREAM noid () WITH (TYPE="mqtt", DATASOURCE="x", FORMAT="protobuf")',
  });
  assert.match(without.text, /Warning: no rule can read it: .*the format protobuf needs SCHEMAID/);
  assert.match(await refusal('SELECT a FROM noid', {}), /stream noid: the format protobuf needs SCHEMAID/);
});

test('a rule keeps the schema it began with until it starts again', async () => {
  const text = (field: string, version: string) => ({
    content: `syntax = "proto3"; message A { int32 ${field} = 1; }`,
    version,
  });
  await done('POST', '/schemas/protobuf', { name: 'moving', ...text('a', '1') });
  await streamOf('moving', 'moving.A');
  const rows = await ruleOf('moving', 'SELECT * FROM moving');
  const send = async (count: number) => {
    await client.publishAsync('in/moving', Buffer.from([8, count]));
    await eventually(`row ${count}`, () => rows.length >= count);
    return String(rows.at(-1));
  };
  assert.is(await send(1), '{"a":1}');
  await done('PUT', '/schemas/protobuf/moving', { name: 'moving', ...text('b', '2') });
  assert.is(await send(2), '{"a":2}');
  await done('POST', '/rules/moving/restart');
  await connected('moving');
  assert.is(await send(3), '{"b":3}');
  const broken = await done('PUT', '/schemas/protobuf/moving', { name: 'moving', content: 'no schema', version: '3' });
  const [line, warning = '', ...more] = broken.text.split('\n');
  assert.equal([line, more], ['protobuf schema moving is updated', []]);
  assert.match(warning, /^Warning: stream moving runs on .* can't start again: schema moving can't be read: /);
  const mended = await done('PUT', '/schemas/protobuf/moving', { name: 'moving', ...text('b', '4') });
  assert.is(mended.text, 'protobuf schema moving is updated');
  const deleted = await done('DELETE', '/schemas/protobuf/moving');
  assert.match(deleted.text, /is deleted\nWarning: stream moving runs on .*: schema moving is not found$/);
  assert.match(deleted.headers.get('warning') ?? '', /schema moving is not found/);
  assert.is(await send(4), '{"b":4}');
  const restarted = await server.request('POST', '/rules/moving/restart');
  assert.is(restarted.status, 400);
  assert.match(restarted.json.message, /stream moving: schema moving is not found/);
  const { status, message } = (await server.request('GET', '/rules/moving/status')).json;
  assert.equal([status, message], ['Stopped: canceled by error.', 'stream moving: schema moving is not found']);
});

test('messages within messages, one way and the other', async () => {
  const text = 'syntax = "proto3"; message A { int32 a = 1; } message Outer { string device = 1; bytes data = 2; }';
  await done('POST', '/schemas/protobuf', { name: 'boxes', content: text });
  const key = (name: string, props: object) =>
    done('PUT', `/metadata/sources/mqtt/confKeys/${name}`, { server: broker.url, payloadField: 'data', ...props });
  await key('boxed', { payloadFormat: 'protobuf', payloadSchemaId: 'boxes.A' });
  await key('boxing', { payloadFormat: 'json' });
  await key('lost', { payloadFormat: 'protobuf', payloadSchemaId: 'boxes.B' });
  const stream = (name: string, options: string) =>
    done('POST', '/streams', {
      sql: `CREATE STREAM ${name} () WITH (TYPE="mqtt", DATASOURCE="in/${name}", ${options})`,
    });
  await stream('boxed', 'CONF_KEY="boxed", FORMAT="json"');
  await stream('boxing', 'CONF_KEY="boxing", FORMAT="protobuf", SCHEMAID="boxes.Outer"');
  const lost = await stream('lost', 'CONF_KEY="lost", FORMAT="json"');
  assert.match(lost.text, /Warning: .*message type B not found in schema boxes/);
  const inner = await ruleOf('boxed', 'SELECT * FROM boxed');
  const outer = await ruleOf('boxing', 'SELECT * FROM boxing');
  const packed = (bytes: number[]) => JSON.stringify({ device: 'x', data: Buffer.from(bytes).toString('base64') });
  await client.publishAsync('in/boxed', packed([8, 5]));
  await client.publishAsync('in/boxed', packed([8]));
  const { type } = messageIn(text, 'Outer');
  const message = { device: 'y', data: Buffer.from('{"b":[1]}') };
  await client.publishAsync('in/boxing', Buffer.from(type.encode(type.create(message)).finish()));
  await eventually('all messages', () => inner.length > 1 && outer.length > 0);
  assert.is(String(inner[0]), '{"a":5,"device":"x"}');
  assert.match(String(inner[1]), /the payload in data: format protobuf: invalid protobuf message at byte 1, field a: /);
  assert.is(String(outer[0]), '{"b":[1],"device":"y"}');
});

test('a file gets the bytes of messages', async () => {
  const path = join(server.data, 'messages.out');
  await streamOf('flatfile', 'flat.A');
  const actions = [{ file: { path, fileType: 'lines', format: 'protobuf', schemaId: 'flat.A', sendSingle: true } }];
  await done('POST', '/rules', { id: 'flatfile', sql: 'SELECT a + 1 AS a FROM flatfile', actions });
  await connected('flatfile');
  await client.publishAsync('in/flatfile', Buffer.from([8, 5]));
  await eventually('the file', () => {
    try {
      return readFileSync(path).length > 0;
    } catch {
      return false;
    }
  });
  assert.equal([...readFileSync(path)].slice(0, 2), [8, 6]);
});

test.run();
