/** Properties of streams as eKuiper has them: names of columns, files that are not there, errors as rows. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openHttp } from '../../support/connectors/http-server.js';
import { eventually, freePort, request, startServer, type TestServer } from '../../support/harness.js';

let server: TestServer;
let pushed: string;
let count = 0;

test.before(async () => {
  const port = await freePort();
  pushed = `http://127.0.0.1:${port}`;
  server = await startServer({
    env: { KUIPER__SOURCE__HTTPSERVERPORT: String(port), KUIPER__BASIC__CONSOLELOG: 'true' },
  });
});
test.after(async () => void (await server.stop()));

async function accepted(method: string, path: string, body?: unknown): Promise<void> {
  const { status, text } = await server.request(method, path, body);
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
}

interface Stream {
  type: string;
  props?: object;
  columns?: string;
  options?: string;
}

/** Creates a stream with a configuration key of its own; returns its name. */
async function streamOf({ type, props = {}, columns = '', options = '' }: Stream): Promise<string> {
  const name = `s${++count}`;
  await accepted('PUT', `/metadata/sources/${type}/confKeys/${name}`, props);
  const sql = `CREATE STREAM ${name} (${columns}) WITH (TYPE="${type}", CONF_KEY="${name}"${options})`;
  await accepted('POST', '/streams', { sql });
  return name;
}

/** Asks for a rule that writes the rows of a stream to a file. */
function ruleOf(stream: string, select = '*') {
  const actions = [{ file: { path: join(server.data, `${stream}.out`), sendSingle: true } }];
  const rule = { id: stream, sql: `SELECT ${select} FROM ${stream}`, actions, options: { sendError: true } };
  return server.request('POST', '/rules', rule);
}

function rowsOf(stream: string): unknown[] {
  const path = join(server.data, `${stream}.out`);
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => (/^[{[]/.test(line) ? JSON.parse(line) : line));
}

/** What a rule makes of messages that are pushed. */
async function ofPushed(messages: readonly string[], stream: Omit<Stream, 'type'>, rows: number): Promise<unknown[]> {
  const path = `/p${count + 1}`;
  const options = `, DATASOURCE="${path}"${stream.options ?? ''}`;
  const name = await streamOf({ ...stream, type: 'httppush', options });
  assert.is((await ruleOf(name)).status, 201);
  for (const message of messages) assert.is((await request(pushed, 'POST', path, message)).status, 200);
  return eventually(`${rows} rows`, () => (rowsOf(name).length >= rows ? rowsOf(name) : undefined));
}

const delimited = ', FORMAT="delimited"';

test('fields: names of delimited values in their order; declared columns have their type', async () => {
  const fields = ['x', 'y'];
  assert.equal(await ofPushed(['1,2,3', '4'], { props: { fields }, options: delimited }, 2), [
    { x: '1', y: '2' },
    { x: '4' },
  ]);
  const typed = { props: { fields }, columns: 'y BIGINT, x STRING', options: delimited };
  assert.equal(await ofPushed(['1,2'], typed, 1), [{ x: '1', y: 2 }]);
  assert.equal(await ofPushed(['1,2'], { options: delimited }, 1), [{ col0: '1', col1: '2' }]);
});

test('fields of a payload within messages', async () => {
  const props = { fields: ['x', 'y'], payloadFormat: 'delimited', payloadField: 'data' };
  assert.equal(await ofPushed(['{"id":1,"data":"7,8"}'], { props }, 1), [{ id: 1, x: '7', y: '8' }]);
});

test('colAliasMapping: members of messages have other names, values stay as they are', async () => {
  const props = { colAliasMapping: { t: 'temperature', 'a"b': 'quoted' }, useInt64ForWholeNumber: true };
  const messages = ['{"t": 9007199254740993 ,"b":{"t":1},"a\\"b":[1]}', '[{"t":1},{"b":2}]'];
  assert.equal(await ofPushed(messages, { props }, 3), [
    JSON.parse('{"b":{"t":1},"quoted":[1],"temperature":9007199254740993}'),
    { temperature: 1 },
    { b: 2 },
  ]);
  const typed = { props: { colAliasMapping: { t: 'temperature' } }, columns: 'temperature FLOAT' };
  const [row, error] = await ofPushed(['{"t":1.5,"b":2}', '{"t":'], typed, 2);
  assert.equal(row, { temperature: 1.5 });
  assert.match(String(error), /format json/);
  const wrong = await server.request('PUT', '/metadata/sources/httppush/confKeys/wrong', { colAliasMapping: { a: 1 } });
  assert.is(wrong.status, 200);
  await accepted('POST', '/streams', {
    sql: 'CREATE STREAM wrong () WITH (TYPE="httppush", DATASOURCE="/wrong", CONF_KEY="wrong")',
  });
  assert.match((await ruleOf('wrong')).text, /property colAliasMapping must have the new names/);
});

test('merger: there are none, which the answer to a rule says', async () => {
  const name = await streamOf({
    type: 'httppush',
    props: { merger: 'can', interval: 10 },
    options: ', DATASOURCE="/m"',
  });
  const { status, text } = await ruleOf(name);
  assert.is(status, 400);
  assert.match(text, /property merger can is not found: .*mergeField/);
});

test('a rule whose file is not there is refused; one that is there already says so when it starts', async () => {
  const folder = join(server.data, 'later');
  mkdirSync(folder);
  const name = await streamOf({
    type: 'file',
    props: { path: folder, fileType: 'lines' },
    options: ', DATASOURCE="f"',
  });
  const refused = await ruleOf(name);
  assert.is(refused.status, 400);
  assert.is(refused.json.error, 2201);
  assert.match(refused.json.message, /file .*later\/f is not there/);
  assert.is((await server.request('GET', `/rules/${name}`)).status, 404);
  const body = { id: name, sql: `SELECT * FROM ${name}`, actions: [{ nop: {} }] };
  assert.is((await server.request('POST', '/rules/validate', body)).status, 422);
  writeFileSync(join(folder, 'f'), '{"a":1}\n');
  assert.is((await ruleOf(name)).status, 201);
  await eventually('its row', () => rowsOf(name).length === 1);
  rmSync(join(folder, 'f'));
  await accepted('POST', `/rules/${name}/restart`);
  const { json } = await eventually('the failure', async () => {
    const answer = await server.request('GET', `/rules/${name}/status`);
    return /error/.test(answer.json.status) ? answer : undefined;
  });
  assert.match(json.message, /ENOENT.*later\/f/);
});

test('properties of files: none of the lines are left out below 0, moveTo is needed to move', async () => {
  writeFileSync(join(server.data, 'whole'), '{"a":1}\n{"a":2}\n');
  const props = { path: server.data, fileType: 'lines', ignoreStartLines: -1, ignoreEndLines: -3 };
  const name = await streamOf({ type: 'file', props, options: ', DATASOURCE="whole"' });
  assert.is((await ruleOf(name)).status, 201);
  await eventually('both rows', () => rowsOf(name).length === 2);
  const key = { path: server.data, fileType: 'lines', actionAfterRead: 2, moveTo: '' };
  const moving = await streamOf({ type: 'file', props: key, options: ', DATASOURCE="whole"' });
  const { status, text } = await ruleOf(moving);
  assert.is(status, 400);
  assert.match(text, /property moveTo is required/);
});

test('lines come with the name of their file where a rule asks for it', async () => {
  const folder = join(server.data, 'named');
  mkdirSync(folder);
  for (const file of ['one', 'two']) writeFileSync(join(folder, file), `{"a":"${file}"}\n`);
  const props = { path: folder, fileType: 'lines' };
  for (const options of ['', ', SHARED="true"']) {
    const name = await streamOf({ type: 'file', props, options });
    assert.is((await ruleOf(name, 'a, meta(file) AS f')).status, 201);
    await eventually('a row of each', () => rowsOf(name).length === 2);
    const found = rowsOf(name) as { a: string; f: string }[];
    assert.equal(
      found.map(({ a, f }) => f === join(folder, a)),
      [true, true],
    );
    await accepted('POST', `/rules/${name}/stop`);
  }
});

test('what a server of httppull refuses is a row with the error for rules that send errors', async () => {
  const http = await openHttp();
  http.answer = (response, _request, number) => {
    response.statusCode = number === 1 ? 404 : 200;
    response.end(number === 1 ? 'nothing here' : '{"a":1}');
  };
  const name = await streamOf({ type: 'httppull', props: { url: http.url, method: 'get', interval: 20 } });
  assert.is((await ruleOf(name)).status, 201);
  const [first, second] = await eventually('two rows', () => (rowsOf(name).length > 1 ? rowsOf(name) : undefined));
  assert.match(String(first), /404: nothing here/);
  assert.equal(second, { a: 1 });
  const { json } = await server.request('GET', `/rules/${name}/status`);
  assert.is(json[`source_${name}_0_exceptions_total`], 1);
  await accepted('DELETE', `/rules/${name}`);
  await http.close();
});

test('a protobuf schema that can not be read is stored, with a warning', async () => {
  const answer = await server.request('POST', '/schemas/protobuf', { name: 'broken', content: 'message {' });
  assert.is(answer.status, 201);
  assert.is(answer.text, 'protobuf schema broken is created');
  assert.match(answer.headers.get('warning') ?? '', /schema broken can't be read/);
  await eventually('a line of the log', () => /schema broken can't be read/.test(server.output()));
  const good = await server.request('PUT', '/schemas/protobuf/broken', {
    name: 'broken',
    content: 'syntax = "proto3"; message A { string a = 1; }',
    version: '2',
  });
  assert.is(good.status, 200);
  assert.is(good.headers.get('warning'), null);
});

test.run();
