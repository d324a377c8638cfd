/** Columns that hold messages of another format, and streams of which only some messages are read, through REST. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Encoder } from '@msgpack/msgpack';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectClient, openBroker } from '../../support/brokers/broker.js';
import { eventually, freePort, request, startServer, type TestServer } from '../../support/harness.js';

let server: TestServer;
let pushed: string;
let count = 0;

test.before(async () => {
  const port = await freePort();
  pushed = `http://127.0.0.1:${port}`;
  server = await startServer({ env: { KUIPER__SOURCE__HTTPSERVERPORT: String(port) } });
});
test.after(async () => {
  await server.stop();
});

async function accepted(method: string, path: string, body?: unknown): Promise<void> {
  const { status, text } = await server.request(method, path, body);
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
}

/** The messages of a file in the data folder so far. */
function rows(name: string): unknown[] {
  const path = join(server.data, name);
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (line.startsWith('{') ? JSON.parse(line) : line));
}

/** What comes out of a stream over a file of these messages. */
async function decoded(messages: readonly object[], props: object, columns = '', format = 'json'): Promise<unknown[]> {
  const id = `p${++count}`;
  writeFileSync(join(server.data, `${id}.in`), messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
  await accepted('PUT', `/metadata/sources/file/confKeys/${id}`, { path: server.data, fileType: 'lines', ...props });
  const options = `DATASOURCE="${id}.in", TYPE="file", CONF_KEY="${id}", FORMAT="${format}"`;
  await accepted('POST', '/streams', { sql: `CREATE STREAM ${id} (${columns}) WITH (${options})` });
  const actions = [{ file: { path: join(server.data, `${id}.out`), fileType: 'lines', sendSingle: true } }];
  const sql = `SELECT * FROM ${id}`;
  await accepted('POST', '/rules', { id, sql, actions, options: { sendError: true } });
  await eventually(`the end of ${id}`, async () => {
    const { json } = await server.request('GET', `/rules/${id}/status`);
    return /^stopped/i.test(json.status);
  });
  return rows(`${id}.out`);
}

const inData = { payloadFormat: 'json', payloadField: 'data' };

test('the columns of a payload take its place, and win', async () => {
  const found = await decoded(
    [
      { a: 1, data: '{"b":2,"a":3,"big":9007199254740993}', 'c d': [{ x: '}' }] },
      { data: '{}', a: 5 },
    ],
    { ...inData, useInt64ForWholeNumber: true },
  );
  assert.is(readFileSync(join(server.data, `p${count}.out`), 'utf8').includes('9007199254740993'), true);
  assert.equal(found, [{ a: 3, b: 2, big: 9007199254740992, 'c d': [{ x: '}' }] }, { a: 5 }]);
});

test('a list is as many rows, each with the other columns; rows without a payload are left out', async () => {
  const found = await decoded([{ a: 1, data: '[{"b":2},{"b":3}]' }, { a: 2 }, { a: 3, data: '[]' }], inData);
  assert.equal(found, [
    { a: 1, b: 2 },
    { a: 1, b: 3 },
  ]);
});

test('bytes are base64 in JSON', async () => {
  const data = Buffer.from('{"b":2}').toString('base64');
  assert.equal(await decoded([{ a: 1, data }], inData), [{ a: 1, b: 2 }]);
});

test('payloads have formats of their own', async () => {
  const packed = Buffer.from(new Encoder().encode({ b: 2, c: 'x' })).toString('base64');
  const msgpack = { payloadFormat: 'msgpack', payloadField: 'data' };
  assert.equal(await decoded([{ a: 1, data: packed }], msgpack), [{ a: 1, b: 2, c: 'x' }]);
  const lines = { payloadFormat: 'delimited', payloadField: 'data', payloadDelimiter: '|' };
  assert.equal(await decoded([{ a: 1, data: 'x|2' }], lines), [{ a: 1, col0: 'x', col1: '2' }]);
  const columns = 'name STRING, n BIGINT, ok BOOLEAN, a BIGINT';
  assert.equal(await decoded([{ a: 1, data: 'x|2|true' }], lines, columns), [{ a: 1, n: 2, name: 'x', ok: true }]);
});

test('a payload that can not be decoded is an error of its message', async () => {
  const found = await decoded([{ data: '{"b":' }, { data: 5 }, { data: '7.5' }, { data: '{"b":1}' }], inData);
  assert.is(found.length, 4);
  assert.match(String(found[0]), /JSON/);
  assert.match(String(found[1]), /the payload in data is neither text nor bytes/);
  assert.match(String(found[2]), /the payload in data: neither an object nor a list of objects/);
  assert.equal(found[3], { b: 1 });
});

for (const [what, props, reason, format] of [
  [
    'an unknown format',
    { payloadFormat: 'jsn', payloadField: 'd' },
    /payloadFormat: jsn is not supported, did you mean json\?/,
  ],
  ['no column', { payloadFormat: 'json' }, /payloadField: is required by payloadFormat/],
  ['messages of another format', inData, /payloadFormat: needs messages in .*json.*, not delimited/, 'delimited'],
  ['a merger', { merger: 'x' }, /x is not found: there are no mergers/],
] as const) {
  test(`refused: ${what}`, async () => {
    await accepted('PUT', '/metadata/sources/httppush/confKeys/wrong', props);
    await server.request('DELETE', '/streams/wrong');
    const options = `TYPE="httppush", DATASOURCE="/wrong", CONF_KEY="wrong", FORMAT="${format ?? 'json'}"`;
    await server.request('POST', '/streams', { sql: `CREATE STREAM wrong () WITH (${options})` });
    const rule = { id: 'wrong', sql: 'SELECT * FROM wrong', actions: [{ nop: {} }] };
    const { status, text } = await server.request('POST', '/rules', rule);
    assert.is(status, 400);
    assert.match(text, reason);
  });
}

/** Starts a rule over messages that are pushed; returns the name of its output. */
async function sampled(
  props: object,
  options: object = {},
): Promise<{ id: string; push(message: unknown): Promise<void> }> {
  const id = `s${++count}`;
  await accepted('PUT', `/metadata/sources/httppush/confKeys/${id}`, { method: 'POST', ...props });
  const given = `TYPE="httppush", DATASOURCE="/${id}", CONF_KEY="${id}", FORMAT="json"`;
  await accepted('POST', '/streams', { sql: `CREATE STREAM ${id} () WITH (${given})` });
  const actions = [{ file: { path: join(server.data, `${id}.out`), fileType: 'lines', sendSingle: true } }];
  await accepted('POST', '/rules', { id, sql: `SELECT * FROM ${id}`, actions, options });
  const push = async (message: unknown) => {
    const body = typeof message === 'string' ? message : JSON.stringify(message);
    const { status } = await request(pushed, 'POST', `/${id}`, body, { 'content-type': 'application/json' });
    assert.is(status, 200);
  };
  return { id, push };
}

test('of an interval the last message is read, the others are not decoded', async () => {
  const { id, push } = await sampled({ interval: '1s' });
  for (let i = 0; i < 10; i++) await push(i === 9 ? { i } : 'no JSON');
  await eventually('the message', () => rows(`${id}.out`).length > 0);
  assert.equal(rows(`${id}.out`), [{ i: 9 }]);
  const { json } = await server.request('GET', `/rules/${id}/status`);
  assert.is(json.exceptionsTotal, 0);
  await push({ i: 10 });
  await eventually('the next', () => rows(`${id}.out`).length > 1);
  assert.equal(rows(`${id}.out`), [{ i: 9 }, { i: 10 }]);
});

test('with mergeField the last message of each value is, all in one row', async () => {
  const { id, push } = await sampled({ interval: '1s', mergeField: 'id' });
  await push({ id: 1, temperature: 20 });
  await push({ id: 2, humidity: 80 });
  await push({ id: 1, temperature: 30 });
  await push('{"id":');
  await eventually('the message', () => rows(`${id}.out`).length > 0);
  assert.equal(rows(`${id}.out`)[0], { id: 1, temperature: 30, humidity: 80 });
  const { json } = await server.request('GET', `/rules/${id}/status`);
  assert.is(json[`source_${id}_0_exceptions_total`], 1);
  assert.match(json[`source_${id}_0_last_exception`], /can't be merged by id/);
});

test('messages of MQTT are sampled, and the sender need not wait for that', async () => {
  const broker = await openBroker();
  await accepted('PUT', '/metadata/sources/mqtt/confKeys/slow', { server: broker.url, qos: 1, interval: '500ms' });
  const options = 'TYPE="mqtt", DATASOURCE="plant/#", CONF_KEY="slow", FORMAT="json"';
  await accepted('POST', '/streams', { sql: `CREATE STREAM plant () WITH (${options})` });
  const actions = [{ file: { path: join(server.data, 'plant.out'), fileType: 'lines', sendSingle: true } }];
  const sql = 'SELECT i, meta(topic) AS topic FROM plant';
  await accepted('POST', '/rules', { id: 'plant', sql, actions });
  await eventually('the connection', async () => {
    const { json } = await server.request('GET', '/rules/plant/status');
    return json.source_plant_0_connection_status === 1;
  });
  const client = await connectClient(broker.url);
  for (let i = 0; i < 20; i++) await client.publishAsync(`plant/${i}`, JSON.stringify({ i }), { qos: 1 });
  await eventually('the last', () => rows('plant.out').some((row) => (row as { i: number }).i === 19));
  assert.ok(rows('plant.out').length < 10, String(rows('plant.out').length));
  assert.equal(rows('plant.out').at(-1), { i: 19, topic: 'plant/19' });
  await client.endAsync();
  await accepted('DELETE', '/rules/plant');
  await broker.close();
});

test('rows of a memory topic are sampled as well', async () => {
  await accepted('PUT', '/metadata/sources/memory/confKeys/slow', { interval: 400 });
  const options = 'TYPE="memory", DATASOURCE="sampled", CONF_KEY="slow"';
  await accepted('POST', '/streams', { sql: `CREATE STREAM topic () WITH (${options})` });
  const path = join(server.data, 'topic.out');
  const actions = [{ file: { path, fileType: 'lines', sendSingle: true } }];
  await accepted('POST', '/rules', { id: 'topic', sql: 'SELECT * FROM topic', actions });
  writeFileSync(join(server.data, 'many.in'), Array.from({ length: 500 }, (_, i) => `{"i":${i}}\n`).join(''));
  await accepted('PUT', '/metadata/sources/file/confKeys/many', { path: server.data, fileType: 'lines' });
  const many = 'DATASOURCE="many.in", TYPE="file", CONF_KEY="many", FORMAT="json"';
  await accepted('POST', '/streams', { sql: `CREATE STREAM many () WITH (${many})` });
  await accepted('POST', '/rules', {
    id: 'many',
    sql: 'SELECT * FROM many',
    actions: [{ memory: { topic: 'sampled' } }],
  });
  await eventually('the last', () => rows('topic.out').some((row) => (row as { i: number }).i === 499));
  assert.ok(rows('topic.out').length <= 3, String(rows('topic.out').length));
});

test('a message that waits for the end of its interval survives a stop', async () => {
  const { id, push } = await sampled({ interval: '1h' }, { qos: 1, checkpointInterval: 3_600_000 });
  await push({ i: 1 });
  await push({ i: 2 });
  await accepted('POST', `/rules/${id}/stop`);
  assert.equal(rows(`${id}.out`), []);
  await accepted('POST', `/rules/${id}/start`);
  await eventually('the message', () => rows(`${id}.out`).length > 0);
  assert.equal(rows(`${id}.out`), [{ i: 2 }]);
});

test.run();
