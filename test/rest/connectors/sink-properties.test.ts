/** Properties of sinks as eKuiper has them: templates before rows, letter case of names, defaults. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openHttp } from '../../support/connectors/http-server.js';
import { eventually, startServer, type TestServer } from '../../support/harness.js';

let server: TestServer;
let count = 0;

test.before(async () => {
  server = await startServer();
  const data = [
    { id: 1, name: 'a' },
    { id: 2, name: 'b' },
  ];
  await accepted('PUT', '/metadata/sources/simulator/confKeys/two', { data, interval: 1, loop: false });
  await accepted('POST', '/streams', { sql: 'CREATE STREAM two () WITH (TYPE="simulator", CONF_KEY="two")' });
});
test.after(async () => void (await server.stop()));

async function accepted(method: string, path: string, body?: unknown): Promise<void> {
  const { status, text } = await server.request(method, path, body);
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
}

/** Asks for a rule over the two rows. */
function ruleOf(action: object, options: object = {}) {
  return server.request('POST', '/rules', {
    id: `r${++count}`,
    sql: 'SELECT * FROM two',
    actions: [action],
    options,
  });
}

/** Rows that come through a memory topic, each as it is written to a file. */
async function throughTopic(sink: object, rows: number, options: object = {}): Promise<unknown[]> {
  const topic = `t${++count}`;
  const sql = `CREATE STREAM ${topic} () WITH (TYPE="memory", DATASOURCE="${topic}")`;
  await accepted('POST', '/streams', { sql });
  const path = join(server.data, topic);
  const actions = [{ file: { path, sendSingle: true } }];
  await accepted('POST', '/rules', { id: topic, sql: `SELECT * FROM ${topic}`, actions });
  const made = await ruleOf({ memory: { topic, ...sink } }, options);
  assert.is(made.status, 201, made.text);
  const lines = () => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : []);
  await eventually(`${rows} rows`, () => lines().length >= rows);
  return lines().map((line) => JSON.parse(line));
}

test('dataTemplate at a memory sink: the topic gets the rows that the template makes', async () => {
  const template = '{"text":"{{.name}}","n":{{.id}}}';
  assert.equal(await throughTopic({ dataTemplate: template, sendSingle: true }, 2), [
    { n: 1, text: 'a' },
    { n: 2, text: 'b' },
  ]);
  const list = '[{{range .}}{"id":{{.id}}},{"of":"{{.name}}"}{{end}}]';
  assert.equal(await throughTopic({ dataTemplate: list }, 4), [{ id: 1 }, { of: 'a' }, { id: 2 }, { of: 'b' }]);
  const picked = { dataTemplate: '{"a":{{.id}},"b":2}', fields: ['a'], sendSingle: true };
  assert.equal(await throughTopic(picked, 2), [{ a: 1 }, { a: 2 }]);
  const batch = { dataTemplate: template, sendSingle: true, batchSize: 2 };
  assert.equal(await throughTopic(batch, 2), [
    { n: 1, text: 'a' },
    { n: 2, text: 'b' },
  ]);
});

test('a text of dataTemplate that is no row is an error, which is a row where errors are sent', async () => {
  const sink = { dataTemplate: '{{if eq .id 1.0}}no row{{else}}{"id":{{.id}}}{{end}}', sendSingle: true };
  const [error, row] = (await throughTopic(sink, 2, { sendError: true })) as { error: string }[];
  assert.match(error?.error ?? '', /dataTemplate: what comes out must be an object of JSON/);
  assert.equal(row, { id: 2 });
  const id = `r${count}`;
  const { json } = await server.request('GET', `/rules/${id}/status`);
  assert.match(JSON.stringify(json), /what comes out must be an object of JSON/);
});

test('shared properties count in any letter case, the exact spelling first', async () => {
  assert.equal(await throughTopic({ DataTemplate: '{"n":{{.id}}}', sendsingle: true }, 2), [{ n: 1 }, { n: 2 }]);
  const path = join(server.data, 'lower');
  const file = { path, sendsingle: true, SENDSINGLE: false, sendSingle: true, Fields: ['name'], FileType: 'json' };
  const made = await ruleOf({ file });
  assert.is(made.text, `Rule r${count} was created successfully.`);
  await eventually('the file', () => existsSync(path) && readFileSync(path, 'utf8').includes('"b"'));
  await accepted('POST', `/rules/r${count}/stop`);
  await eventually('the array', () => readFileSync(path, 'utf8').trimEnd().endsWith(']'));
  assert.equal(JSON.parse(readFileSync(path, 'utf8')), [{ name: 'a' }, { name: 'b' }]);
});

test('a rest sink has a url, and sends a form whose file has no name', async () => {
  assert.is((await ruleOf({ rest: { method: 'get' } })).status, 201);
  const http = await openHttp();
  const rest = { url: http.url, method: 'post', bodyType: 'formdata', formData: { plant: 'north' }, timeout: 0 };
  assert.is((await ruleOf({ rest: { ...rest, sendSingle: true } })).status, 201);
  await eventually('both messages', () => http.received.length === 2);
  const [first] = http.received;
  assert.match(first?.headers['content-type'] ?? '', /^multipart\/form-data/);
  assert.match(first?.body ?? '', /form-data; name=""; filename=/);
  assert.match(first?.body ?? '', /name="plant"\r\n\r\nnorth/);
  await http.close();
});

test('a rest sink refuses a format that its body can not have', async () => {
  const url = 'http://127.0.0.1:1';
  const wrong = [
    [{ method: 'post', format: 'delimited' }, /format must be json when bodyType is json/],
    [{ bodyType: 'form' }, /format must be urlencoded when bodyType is form/],
  ] as const;
  for (const [props, reason] of wrong) {
    const { status, json } = await ruleOf({ rest: { url, ...props } });
    assert.is(status, 400);
    assert.match(json.message, reason);
  }
  for (const props of [
    { method: 'post', bodyType: 'text', format: 'delimited' },
    { bodyType: 'form', format: 'URLencoded', sendSingle: true },
    { format: 'delimited' },
  ]) {
    const { status, text } = await ruleOf({ rest: { url, ...props } });
    assert.is(status, 201, text);
  }
});

test('a file sink without a path writes to the file cache', async () => {
  assert.is((await ruleOf({ file: {} })).status, 201);
  await eventually('the file', () => existsSync(join(server.data, 'cache')));
  assert.is((await ruleOf({ file: { path: '' } })).status, 400);
});

test('an action takes over the configuration key that resourceId names, what it gives itself wins', async () => {
  const path = join(server.data, 'profile.txt');
  const key = '/metadata/sinks/file/confKeys/profile';
  const lines = (name: string) => () => existsSync(name) && readFileSync(name, 'utf8').split('\n').slice(0, -1);
  await accepted('PUT', key, { path, sendSingle: true, fields: ['name'] });
  const made = await ruleOf({ file: { resourceId: 'profile', fields: ['id'] } });
  assert.is(made.text, `Rule r${count} was created successfully.`);
  await eventually('two rows', () => (lines(path)() || []).length === 2);
  assert.equal(lines(path)(), ['{"id":1}', '{"id":2}']);
  const stored = await server.request('GET', `/rules/r${count}`);
  assert.equal(stored.json.actions, [{ file: { resourceId: 'profile', fields: ['id'] } }]);

  // The key of now counts at the next start.
  const other = join(server.data, 'other.txt');
  await accepted('PUT', key, { path: other, sendSingle: true });
  await accepted('POST', `/rules/r${count}/restart`);
  await eventually('the rows in the other file', () => (lines(other)() || []).length === 2);
  assert.equal(lines(other)(), ['{"id":1}', '{"id":2}']);
});

test('a configuration key that is not there is named, one with a secret is for its own server', async () => {
  const absent = await ruleOf({ nop: { resourceId: 'none' } });
  assert.is(absent.status, 201);
  assert.match(
    absent.text,
    /\nWarning: actions\[0\]\.nop\.resourceId: configuration key none of sink nop is not found$/,
  );
  await accepted('PUT', '/metadata/sinks/mqtt/confKeys/plant', { server: 'tcp://127.0.0.1:1', password: 'geheim' });
  const elsewhere = await ruleOf({ mqtt: { resourceId: 'plant', server: 'tcp://127.0.0.2:1', topic: 't' } });
  assert.is(elsewhere.status, 400);
  assert.match(elsewhere.text, /password is given by configuration key plant for another server/);
});

test.run();
