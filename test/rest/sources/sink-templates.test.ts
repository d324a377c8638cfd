/**
 * Properties of sinks that are templates over the row: topics and paths made of what rows bring, through a whole
 * server.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectClient } from '../../support/brokers/broker.js';
import { hasMosquitto, openMosquitto } from '../../support/brokers/mosquitto.js';
import { openHttp } from '../../support/connectors/http-server.js';
import { announceSkip, eventually, startServer, type TestServer } from '../../support/harness.js';

type Row = Record<string, unknown>;

let server: TestServer;
let number = 0;

test.before(async () => {
  server = await startServer();
  await accepted('PUT', '/metadata/sources/file/confKeys/here', { path: server.data, fileType: 'lines' });
});
test.after(async () => void (await server.stop()));

async function accepted(method: string, path: string, body?: unknown): Promise<void> {
  const { status, text } = await server.request(method, path, body);
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
}

/** A stream over a file with these rows; returns its name. */
async function streamOf(rows: readonly Row[]): Promise<string> {
  const name = `s${++number}`;
  writeFileSync(join(server.data, `${name}.in`), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const options = `DATASOURCE="${name}.in", TYPE="file", CONF_KEY="here", FORMAT="json"`;
  await accepted('POST', '/streams', { sql: `CREATE STREAM ${name} () WITH (${options})` });
  return name;
}

interface Rule {
  sql?: string;
  options?: Row;
}

/** Runs a rule over these rows to its end; returns its figures then. */
async function run(
  rows: readonly Row[],
  action: Row,
  { sql = 'SELECT * FROM $', options = {} }: Rule = {},
): Promise<Row> {
  const id = await streamOf(rows);
  await accepted('POST', '/rules', { id, sql: sql.replace('$', id), actions: [action], options });
  return eventually(`the end of ${id}`, async () => {
    const { json } = await server.request('GET', `/rules/${id}/status`);
    if (!/^stopped/i.test(json.status)) return undefined;
    assert.not.match(json.status, /error/, JSON.stringify(json));
    return json as Row;
  });
}

async function refusal(action: Row): Promise<string> {
  const stream = await streamOf([]);
  const body = { id: `r${stream}`, sql: `SELECT * FROM ${stream}`, actions: [action] };
  const { status, text } = await server.request('POST', '/rules', body);
  assert.is(status, 400, text);
  return text;
}

/** The lines of the files in a folder of the data folder, by name. */
function linesIn(folder: string): Record<string, string[]> {
  const path = join(server.data, folder);
  if (!existsSync(path)) return {};
  return Object.fromEntries(
    readdirSync(path)
      .sort()
      .map((name) => [name, readFileSync(join(path, name), 'utf8').split('\n').slice(0, -1)]),
  );
}

test('a file for each device, whatever the messages are made of', async () => {
  const rows = [
    { id: 'a', v: 1 },
    { id: 'b', v: 2.5 },
    { id: 'b', v: 3 },
    { id: 'a', v: 4 },
  ];
  const variants: [folder: string, props: Row, a: string[], b: string[]][] = [
    [
      'single',
      { sendSingle: true },
      ['{"id":"a","v":1}', '{"id":"a","v":4}'],
      ['{"id":"b","v":2.5}', '{"id":"b","v":3}'],
    ],
    ['fields', { sendSingle: true, fields: ['v'] }, ['{"v":1}', '{"v":4}'], ['{"v":2.5}', '{"v":3}']],
    ['excluded', { sendSingle: true, excludeFields: ['id'] }, ['{"v":1}', '{"v":4}'], ['{"v":2.5}', '{"v":3}']],
    ['text', { sendSingle: true, dataTemplate: 'v={{.v}}' }, ['v=1', 'v=4'], ['v=2.5', 'v=3']],
    ['csv', { sendSingle: true, format: 'delimited', fields: ['v', 'id'] }, ['1,a', '4,a'], ['2.5,b', '3,b']],
    ['form', { sendSingle: true, format: 'urlencoded', excludeFields: ['id'] }, ['v=1', 'v=4'], ['v=2.5', 'v=3']],
  ];
  for (const [folder, props, a, b] of variants) {
    const status = await run(rows, { file: { path: `${folder}/{{.id}}.txt`, ...props } });
    assert.equal(linesIn(folder), { 'a.txt': a, 'b.txt': b }, folder);
    assert.is(status.sinkRecordsOutTotal, 4);
    assert.is(status.bufferLength, 0);
  }
});

test('without sendSingle the template sees the list of rows of the message', async () => {
  const rows = [1, 2, 3, 4].map((v) => ({ id: v < 3 ? 'x' : 'y', v }));
  const path = '{{index . 0 "id"}}-{{len .}}.txt';
  await run(rows, { file: { path: `lists/${path}` } });
  assert.equal(linesIn('lists'), {
    'x-1.txt': ['[{"id":"x","v":1}]', '[{"id":"x","v":2}]'],
    'y-1.txt': ['[{"id":"y","v":3}]', '[{"id":"y","v":4}]'],
  });
  const sql = 'SELECT id, v FROM $ GROUP BY COUNTWINDOW(2)';
  await run(rows, { file: { path: `windows/${path}`, fields: ['v'] } }, { sql });
  assert.equal(linesIn('windows'), { 'x-2.txt': ['[{"v":1},{"v":2}]'], 'y-2.txt': ['[{"v":3},{"v":4}]'] });
  await run(rows, { file: { path: 'single-windows/{{.id}}.txt', fields: ['v'], sendSingle: true } }, { sql });
  assert.equal(linesIn('single-windows'), { 'x.txt': ['{"v":1}', '{"v":2}'], 'y.txt': ['{"v":3}', '{"v":4}'] });
});

test('a batch is one message and goes where its last message says', async () => {
  const rows = [1, 2, 3, 4].map((v) => ({ id: `d${v}`, v }));
  await run(rows, { file: { path: 'batches/{{.id}}.txt', sendSingle: true, batchSize: 2, fields: ['v'] } });
  assert.equal(linesIn('batches'), { 'd2.txt': ['[{"v":1},{"v":2}]'], 'd4.txt': ['[{"v":3},{"v":4}]'] });
  await run(rows, { file: { path: 'list-batches/{{index . 0 "id"}}{{len .}}.txt', batchSize: 3 } });
  assert.equal(Object.keys(linesIn('list-batches')), ['d31.txt', 'd41.txt']);
});

test('with dataField the template sees all rows of the message, though the first alone is sent', async () => {
  const rows = [1, 2, 3, 4].map((v) => ({ id: `d${v}`, v, o: { v } }));
  const path = '{{index . 0 "id"}}-{{len .}}.txt';
  const sql = 'SELECT id, o FROM $ GROUP BY COUNTWINDOW(2)';
  await run(rows, { file: { path: `of-first/${path}`, dataField: 'o' } }, { sql });
  assert.equal(linesIn('of-first'), { 'd1-2.txt': ['{"v":1}'], 'd3-2.txt': ['{"v":3}'] });
  await run(rows, { file: { path: `of-first-batch/${path}`, dataField: 'o', batchSize: 2 } }, { sql });
  assert.equal(linesIn('of-first-batch'), { 'd3-2.txt': ['[{"v":1},{"v":3}]'] });
  await run(rows, { file: { path: `of-row/${path}`, dataField: 'o' } });
  assert.equal(Object.keys(linesIn('of-row')), ['d1-1.txt', 'd2-1.txt', 'd3-1.txt', 'd4-1.txt']);
});

test('a row whose value leads out of the folder, or is no path, is an exception; the others go out', async () => {
  const ids = ['good', '../../escaped', '..', 'a/../../b', 'nul\0', 'x'.repeat(300), 'sub/deep', 'again'];
  const status = await run(
    ids.map((id) => ({ id })),
    { file: { path: 'fenced/{{.id}}', sendSingle: true } },
  );
  assert.equal(readdirSync(join(server.data, 'fenced')).sort(), ['again', 'good', 'sub']);
  assert.not.ok(existsSync(join(server.data, '../escaped')));
  assert.not.ok(existsSync(join(server.data, 'b')));
  assert.is(status.sinkRecordsOutTotal, 3);
  assert.is(status.sinkRecordsFailedTotal, 5);
  assert.is(status.sink_file_0_0_exceptions_total, 5);
});

test('a row that the template fails on is an exception with the reason', async () => {
  const rows = [{ o: { id: 1 } }, { o: 'text' }, { o: { id: 2 } }];
  const status = await run(rows, { file: { path: 'failing/{{.o.id}}', sendSingle: true } });
  assert.equal(Object.keys(linesIn('failing')), ['1', '2']);
  assert.is(status.sinkRecordsFailedTotal, 1);
  assert.match(
    String(status.sink_file_0_0_last_exception),
    /sink file: property path: template: sink:1: can't evaluate field id in type string/,
  );
});

test('the text of an error is a row with the member error', async () => {
  const rows = [
    { id: 'a', v: 1 },
    { id: 'a', v: 'x' },
  ];
  const path = 'errors/{{if .error}}failed{{else}}{{.id}}{{end}}';
  for (const props of [{}, { fields: ['w'] }]) {
    await run(
      rows,
      { file: { path, sendSingle: true, ...props } },
      { sql: 'SELECT id, v + 1 AS w FROM $', options: { sendError: true } },
    );
  }
  const { failed, a } = linesIn('errors');
  assert.equal(a, ['{"id":"a","w":2}', '{"w":2}']);
  assert.is(failed?.length, 2);
  for (const line of failed ?? []) assert.match(line, /invalid operation|cannot|string/);
});

test('more files than may be open get all their lines, in order', async () => {
  const rows = Array.from({ length: 3000 }, (_, n) => ({ id: (n * 7) % 50, n }));
  const status = await run(rows, { file: { path: 'many/{{.id}}', sendSingle: true, fields: ['n'], maxOpenFiles: 3 } });
  const files = linesIn('many');
  assert.is(Object.keys(files).length, 50);
  for (const [id, lines] of Object.entries(files)) {
    const wanted = rows.filter((row) => String(row.id) === id).map(({ n }) => `{"n":${n}}`);
    assert.equal(lines, wanted, id);
  }
  assert.is(status.sinkRecordsOutTotal, 3000);
});

test('memory topics are made of rows: readers of many topics get them with the topic', async () => {
  await accepted('POST', '/streams', { sql: 'CREATE STREAM halls () WITH (DATASOURCE="halls/#", TYPE="memory")' });
  const path = join(server.data, 'halls.out');
  const sql = 'SELECT id, v, meta(topic) AS topic FROM halls';
  await accepted('POST', '/rules', { id: 'reader', sql, actions: [{ file: { path, sendSingle: true } }] });
  const rows = [
    { id: 1, hall: 'a', v: 1.5 },
    { id: 2, hall: '#', v: 2 },
    { id: 3, hall: 'b/c', v: null },
  ];
  for (const fields of [undefined, ['v', 'id']]) {
    const status = await run(rows, { memory: { topic: 'halls/{{.hall}}', sendSingle: true, fields } });
    assert.is(status.sinkRecordsFailedTotal, 1);
    assert.match(
      String(status.sink_memory_0_0_last_exception),
      /sink memory: property topic must not have wildcards, as "halls\/#" has/,
    );
  }
  const lines = await eventually('the rows', () => {
    const found = existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
    return found.length === 4 ? found : undefined;
  });
  const read = ['{"id":1,"topic":"halls/a","v":1.5}', '{"id":3,"topic":"halls/b/c","v":null}'];
  assert.equal(lines, [...read, ...read]);
  await accepted('DELETE', '/rules/reader');
});

test('templates that can never be right are refused when the rule is made', async () => {
  const refused: [action: Row, reason: RegExp][] = [
    [{ mqtt: { server: 'tcp://127.0.0.1:1', topic: 'a/{{.id' } }, /property topic: .*unclosed action/],
    [{ mqtt: { server: 'tcp://127.0.0.1:1', topic: 'a/{{nofn .id}}' } }, /property topic: .*nofn/],
    [
      { mqtt: { server: 'tcp://127.0.0.1:1', topic: '+/{{.id}}' } },
      /property topic must not have wildcards, as .*\+\/x/,
    ],
    [{ memory: { topic: '{{.id}}/#' } }, /property topic must not have wildcards/],
  ];
  for (const [action, reason] of refused) assert.match(await refusal(action), reason);
});

if (!hasMosquitto) announceSkip('templates in MQTT topics', 'mosquitto is not installed');
const withBroker = hasMosquitto ? test : test.skip;

for (const qos of [0, 1, 2]) {
  withBroker(`MQTT topics and user properties are made of rows (quality of service ${qos})`, async () => {
    const broker = await openMosquitto();
    const client = await connectClient(broker.url, { protocolVersion: 5 });
    const got: string[] = [];
    client.on('message', (topic, payload, packet) => {
      got.push(`${topic} ${packet.properties?.userProperties?.kind} ${payload}`);
    });
    await client.subscribeAsync('devices/#', { qos: 2 });
    const rows = Array.from({ length: 300 }, (_, n) => ({ id: n % 5 === 4 ? '+' : `d${n % 4}`, kind: `k${n % 3}`, n }));
    const status = await run(rows, {
      mqtt: {
        server: broker.url,
        protocolVersion: '5',
        topic: 'devices/{{.id}}',
        properties: { kind: '{{.kind}}', fixed: 'f' },
        qos,
        sendSingle: true,
        fields: ['n'],
      },
    });
    const wanted = rows.filter(({ id }) => id !== '+').map(({ id, kind, n }) => `devices/${id} ${kind} {"n":${n}}`);
    await eventually('the messages', () => got.length >= wanted.length);
    assert.equal(got, wanted);
    assert.is(status.sinkRecordsOutTotal, 240);
    assert.is(status.sinkRecordsFailedTotal, 60);
    assert.match(
      String(status.sink_mqtt_0_0_last_exception),
      /property topic must not have wildcards, as "devices\/\+" has/,
    );
    client.end(true);
    await broker.close();
  });
}

test('an address and headers for each row, over HTTP', async () => {
  const http = await openHttp();
  const rows = [
    { id: 'a', v: 1 },
    { id: 'b', v: 2 },
  ];
  const rest = { url: `${http.url}/{{.id}}`, method: 'post', headers: { 'X-Value': '{{.v}}' }, sendSingle: true };
  await run(rows, { rest });
  assert.equal(
    http.received.map(({ url, headers, body }) => [url, headers['x-value'], body]),
    [
      ['/a', '1', '{"id":"a","v":1}'],
      ['/b', '2', '{"id":"b","v":2}'],
    ],
  );
  await http.close();
});

test.run();
