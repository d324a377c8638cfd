/** Messages that can't go out, through REST: they come to the sink that `deadLetter` names, each with its reason. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type HttpDouble, openHttp } from '../../support/connectors/http-server.js';
import { eventually, startServer, type TestServer } from '../../support/harness.js';

let server: TestServer;
let other: HttpDouble;

test.before(async () => {
  other = await openHttp();
  server = await startServer();
  await accepted('PUT', '/metadata/sources/file/confKeys/here', { path: server.data, fileType: 'lines' });
});
test.after(async () => {
  await server.stop();
  await other.close();
});
test.before.each(() => {
  other.received.length = 0;
  // Row 2 is one that no repetition makes better.
  other.answer = (response, { body }) => {
    response.statusCode = body.toString().includes('"id":2') ? 422 : 200;
    response.end(response.statusCode === 200 ? '{}' : 'no such id');
  };
});

async function accepted(method: string, path: string, body?: unknown): Promise<void> {
  const { status, text } = await server.request(method, path, body);
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
}

/** Runs a rule over three rows to its end; returns its status. */
async function run(id: string, action: object, options: object = {}) {
  const rows = [1, 2, 3].map((row) => `${JSON.stringify({ id: row, name: `n${row}` })}\n`);
  writeFileSync(join(server.data, `${id}.in`), rows.join(''));
  const props = `DATASOURCE="${id}.in", TYPE="file", CONF_KEY="here", FORMAT="json"`;
  await accepted('POST', '/streams', { sql: `CREATE STREAM ${id} () WITH (${props})` });
  await accepted('POST', '/rules', { id, sql: `SELECT * FROM ${id}`, actions: [action], options });
  return eventually(`the end of ${id}`, async () => {
    const { json } = await server.request('GET', `/rules/${id}/status`);
    return /^stopped/i.test(json.status) ? json : undefined;
  });
}

const outside = (more: object = {}) => ({ url: other.url, method: 'post', sendSingle: true, ...more });

/** Lines of a file in the data folder. */
function lines(name: string): Record<string, unknown>[] {
  const text = readFileSync(join(server.data, name), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

test('a row that is refused goes there with the reason, the others go out', async () => {
  const began = Date.now();
  const file = { path: join(server.data, 'refused.out'), fileType: 'lines' };
  const status = await run('refused', { rest: outside({ deadLetter: { file } }) });
  assert.equal(
    other.received.map(({ body }) => JSON.parse(body.toString()).id),
    [1, 2, 3],
  );
  const [{ time, ...letter } = {}, ...others] = lines('refused.out');
  assert.equal(others, []);
  assert.equal(letter, {
    rule: 'refused',
    sink: 'sink_rest_0',
    reason: 'status 422: no such id',
    message: '{"id":2,"name":"n2"}',
  });
  assert.ok(Number(time) >= began && Number(time) <= Date.now(), String(time));
  assert.is(status.sink_rest_0_0_records_out_total, 2);
  assert.is(status.sink_rest_0_0_exceptions_total, 1);
  assert.is(status.sink_file_1_0_records_out_total, 1);
});

test('the topology and the status of the rule show the sink behind the one whose letters it gets', async () => {
  const { json } = await server.request('GET', '/rules/refused/topo');
  assert.equal(json.edges.sink_rest_0, ['sink_file_1']);
  const status = await server.request('GET', '/rules/refused/status');
  assert.is(status.json.sink_file_1_0_records_in_total, 1);
});

test('what is no text is base64, and says so', async () => {
  other.answer = (response) => {
    response.statusCode = 400;
    response.end();
  };
  const file = { path: join(server.data, 'packed.out'), fileType: 'lines' };
  await run('packed', { rest: outside({ compression: 'gzip', bodyType: 'binary', deadLetter: { file } }) });
  const letters = lines('packed.out');
  assert.equal(
    letters.map(({ encoding }) => encoding),
    ['base64', 'base64', 'base64'],
  );
  const messages = letters.map(({ message }) => gunzipSync(Buffer.from(String(message), 'base64')).toString());
  assert.equal(
    messages.map((text) => JSON.parse(text).id),
    [1, 2, 3],
  );
});

test('another rule reads them from a memory topic', async () => {
  await accepted('POST', '/streams', { sql: 'CREATE STREAM letters () WITH (TYPE="memory", DATASOURCE="dead/#")' });
  const file = { path: join(server.data, 'read.out'), fileType: 'lines', sendSingle: true };
  const sql = 'SELECT rule, sink, parse_json(message)->name AS name, time > 0 AS hasTime FROM letters';
  await accepted('POST', '/rules', { id: 'reader', sql, actions: [{ file }] });
  await run('topic', { rest: outside({ deadLetter: { memory: { topic: 'dead/{{.sink}}' } } }) });
  const [letter] = await eventually('the letter', () => {
    try {
      return lines('read.out');
    } catch {
      return undefined;
    }
  });
  assert.equal(letter, { rule: 'topic', sink: 'sink_rest_0', name: 'n2', hasTime: true });
  await accepted('DELETE', '/rules/reader');
});

test('they have a template and properties of their own', async () => {
  const deadLetter = {
    rest: {
      url: `${other.url}/dead/{{.rule}}`,
      method: 'put',
      dataTemplate: '{{.sink}}: {{.reason}}',
      bodyType: 'text',
    },
  };
  await run('templated', { rest: outside({ deadLetter }) });
  const [letter] = other.received.filter(({ method }) => method === 'PUT');
  assert.is(letter?.url, '/dead/templated');
  assert.is(letter?.body.toString(), 'sink_rest_0: status 422: no such id');
});

test('a message that no template can make is one as well', async () => {
  const file = { path: join(server.data, 'unmade.out'), fileType: 'lines' };
  const dataTemplate = '{{if eq .id 3}}{{index .name 99}}{{else}}{{.id}}{{end}}';
  const status = await run('unmade', { rest: outside({ dataTemplate, deadLetter: { file } }) });
  const [{ message, reason } = {}] = lines('unmade.out');
  assert.is(message, '{"id":3,"name":"n3"}');
  assert.match(String(reason), /dataTemplate/);
  assert.is(status.sink_rest_0_0_records_out_total, 2);
});

test('the letter case of the property does not matter', async () => {
  await run('spelt', { rest: outside({ deadletter: { file: { path: join(server.data, 'spelt.out') } } }) });
  assert.equal(
    lines('spelt.out').map(({ message }) => message),
    ['{"id":2,"name":"n2"}'],
  );
});

test('a letter that is refused itself is counted and told', async () => {
  const away = await openHttp();
  away.answer = (response) => {
    response.statusCode = 403;
    response.end();
  };
  const status = await run('lost', { rest: outside({ deadLetter: { rest: { url: away.url, method: 'post' } } }) });
  assert.is(status.sink_rest_1_0_exceptions_total, 1);
  assert.match(status.sink_rest_1_0_last_exception, /status 403/);
  assert.is(status.sink_rest_1_0_records_out_total, 0);
  await away.close();
});

test('letters have what the sink has made of a row, or the row as JSON where it can make nothing', async () => {
  const influx = await openHttp();
  influx.answer = (response) => {
    response.statusCode = 400;
    response.end('{"error":"field type conflict"}');
  };
  const path = join(server.data, 'points.out');
  const deadLetter = { file: { path, fileType: 'lines' } };
  const points = { addr: influx.url, measurement: 'm', database: 'd', fields: ['id'], deadLetter };
  await run('points', { influx: points });
  const letters = lines('points.out');
  assert.is(letters.length, 3, JSON.stringify(letters));
  assert.match(String(letters[0]?.reason), /field type conflict/);
  assert.match(String(letters[0]?.message), /^m id=1/);
  const other = join(server.data, 'unmade-points.out');
  const unmade = {
    ...points,
    tags: { t: '{{index .name 99}}' },
    deadLetter: { file: { path: other, fileType: 'lines' } },
  };
  await run('unmadepoints', { influx: unmade });
  assert.equal(JSON.parse(String(lines('unmade-points.out')[0]?.message)), { id: 1, name: 'n1' });
  await influx.close();
});

test('a drawn rule has them, too', async () => {
  writeFileSync(join(server.data, 'drawn.in'), '{"id":2}\n');
  const path = join(server.data, 'drawn.out');
  const graph = {
    nodes: {
      rows: {
        type: 'source',
        nodeType: 'file',
        props: { datasource: 'drawn.in', path: server.data, fileType: 'lines' },
      },
      out: { type: 'sink', nodeType: 'rest', props: outside({ deadLetter: { file: { path, fileType: 'lines' } } }) },
    },
    topo: { sources: ['rows'], edges: { rows: ['out'] } },
  };
  await accepted('POST', '/rules', { id: 'drawn', graph });
  await eventually('the letter', () => {
    try {
      return lines('drawn.out').length === 1;
    } catch {
      return false;
    }
  });
  assert.is(lines('drawn.out')[0]?.sink, 'sink_out');
  const { json } = await server.request('GET', '/rules/drawn/topo');
  assert.equal(json.edges.sink_out, ['sink_file_1']);
});

for (const [what, deadLetter, reason] of [
  ['a type that nobody knows', { mqttt: {} }, /sink mqttt not found, did you mean mqtt\?/],
  ['two actions', { log: {}, nop: {} }, /actions\[0\].rest.deadLetter must be an object with one action/],
  ['no object', 'log', /actions\[0\].rest.deadLetter must be an object with one action/],
  [
    'dead letters of its own',
    { log: { deadLetter: { nop: {} } } },
    /deadLetter.log can't have a deadLetter of its own/,
  ],
  ['a wrong property', { rest: { url: 'ftp://x' } }, /url must begin with http/],
  ['a batch', { file: { path: 'x', batchSize: 5 } }, /batchSize: is not for dead letters/],
  ['columns', { file: { path: 'x', fields: ['a'] } }, /fields: is not for dead letters/],
  ['a format of rows', { file: { path: 'x', format: 'delimited' } }, /format: must be json/],
] as const) {
  test(`refused at creation: ${what}`, async () => {
    await server.request('POST', '/streams', { sql: 'CREATE STREAM any () WITH (TYPE="memory", DATASOURCE="x")' });
    const actions = [{ rest: { url: 'http://127.0.0.1:1', deadLetter } }];
    const { status, text } = await server.request('POST', '/rules', { id: 'wrong', sql: 'SELECT * FROM any', actions });
    assert.is(status, 400);
    assert.match(text, reason);
  });
}

test('passwords there are masked, and kept when the mask comes back', async () => {
  const rule = {
    id: 'masked',
    sql: 'SELECT * FROM any',
    actions: [{ nop: { deadLetter: { mqtt: { server: 'tcp://127.0.0.1:1', topic: 't', password: 'hunter2' } } } }],
    triggered: false,
  };
  await accepted('POST', '/rules', rule);
  const { text, json } = await server.request('GET', '/rules/masked');
  assert.not.match(text, /hunter2/);
  await accepted('PUT', '/rules/masked', json);
  const { text: exported } = await server.request('GET', '/connections');
  assert.not.match(exported, /hunter2/);
});

test.run();
