import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, freePort, request, startServer, type TestServer } from '../../support/harness.js';

let server: TestServer;
let data: string;

test.before(async () => {
  const port = await freePort();
  data = `http://127.0.0.1:${port}`;
  server = await startServer({ env: { KUIPER__SOURCE__HTTPSERVERPORT: String(port) } });
});
test.after(async () => void (await server.stop()));

/** Creates a stream and a rule that writes what comes to a file. */
async function rule(id: string, options: string): Promise<string> {
  const sql = `CREATE STREAM ${id}s (a BIGINT) WITH (TYPE="httppush", ${options})`;
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  const path = join(server.data, `${id}.txt`);
  const actions = [{ file: { path, sendSingle: true } }];
  assert.is((await server.request('POST', '/rules', { id, sql: `SELECT a FROM ${id}s`, actions })).status, 201);
  await connected(id);
  return path;
}

const connected = (id: string) =>
  eventually(`${id} to be connected`, async () => {
    const { json } = await server.request('GET', `/rules/${id}/status`);
    return json[`source_${id}s_0_connection_status`] === 1 || undefined;
  });

const wrote = (path: string, text: string) =>
  eventually(`${text} in ${path}`, () => (existsSync(path) && readFileSync(path, 'utf8') === text) || undefined);

test('a rule takes what is sent to its path, an object or a list of them', async () => {
  const path = await rule('one', 'DATASOURCE="/one"');
  const answer = await request(data, 'POST', '/one', { a: 1 });
  assert.equal([answer.status, answer.text], [200, 'ok']);
  assert.is(answer.headers.get('access-control-allow-origin'), null);
  await request(data, 'POST', '/one', [{ a: 2 }, { a: 3 }]);
  await wrote(path, '{"a":1}\n{"a":2}\n{"a":3}\n');
  const broken = await request(data, 'POST', '/one', '{bad');
  assert.is(broken.status, 200);
  await eventually('the failure to be counted', async () => {
    const { json } = await server.request('GET', '/rules/one/status');
    return json.source_ones_0_exceptions_total + json.op_2_decoder_0_exceptions_total > 0 || undefined;
  });
});

test('two rules of a path both get the data', async () => {
  const paths = [await rule('two', 'DATASOURCE="/shared"'), await rule('three', 'DATASOURCE="/shared"')];
  assert.is((await request(data, 'POST', '/shared', { a: 7 })).status, 200);
  for (const path of paths) await wrote(path, '{"a":7}\n');
});

test('the path is there as long as a rule wants it, with its method', async () => {
  await server.request('PUT', '/metadata/sources/httppush/confKeys/put', { method: 'PUT' });
  await rule('four', 'DATASOURCE="/four", CONF_KEY="put"');
  assert.is((await request(data, 'POST', '/four', { a: 1 })).status, 405);
  assert.is((await request(data, 'PUT', '/four', { a: 1 })).status, 200);
  assert.is((await request(data, 'POST', '/none', { a: 1 })).status, 404);
  await server.request('POST', '/rules/four/stop');
  assert.is((await request(data, 'PUT', '/four', { a: 1 })).status, 404);
  await server.request('POST', '/rules/four/start');
  await connected('four');
  assert.is((await request(data, 'PUT', '/four', { a: 1 })).status, 200);
});

test('the context of a trace in the head of a request is followed', async () => {
  await server.request('POST', '/rules/one/trace/start', { strategy: 'head' });
  await request(data, 'POST', '/one', { a: 8 });
  const traceId = '12'.repeat(16);
  await request(data, 'POST', '/one', { a: 9 }, { traceparent: `00-${traceId}-${'34'.repeat(8)}-01` });
  const ids = await eventually('the trace', async () => {
    const { json } = await server.request('GET', '/trace/rule/one');
    return json.length > 0 ? json : undefined;
  });
  assert.equal(ids, [traceId]);
});

test('a request that follows the start of tracing is traced', async () => {
  for (let round = 10; round < 30; round++) {
    await server.request('POST', '/rules/one/trace/stop');
    await server.request('POST', '/rules/one/trace/start', { strategy: 'head' });
    const traceId = `${round}`.repeat(16);
    await request(data, 'POST', '/one', { a: round }, { traceparent: `00-${traceId}-${'34'.repeat(8)}-01` });
    await eventually(`the trace of round ${round}`, async () => {
      const { json } = await server.request('GET', '/trace/rule/one');
      return json.includes(traceId) || undefined;
    });
  }
});

test('too much at once is refused', async () => {
  const answer = await request(data, 'POST', '/one', 'x'.repeat((16 << 20) + 1)).catch(() => undefined);
  // The server ends the connection without reading on: the answer may be lost with it.
  if (answer !== undefined) assert.is(answer.status, 413);
  assert.is((await request(data, 'POST', '/one', { a: 1 })).status, 200);
});

test('a method that makes no sense is refused by name', async () => {
  const wrong = await server.request('PUT', '/metadata/sources/httppush/confKeys/bad', { method: 'DANCE' });
  if (wrong.status === 200) {
    await server.request('POST', '/streams', {
      sql: 'CREATE STREAM bad () WITH (TYPE="httppush", DATASOURCE="/b", CONF_KEY="bad")',
    });
    const made = await server.request('POST', '/rules', {
      id: 'bad',
      sql: 'SELECT * FROM bad',
      actions: [{ nop: {} }],
    });
    assert.is(made.status, 400);
    assert.match(made.json.message, /method must be one of POST, PUT/);
  } else {
    assert.match(wrong.json.message, /method/);
  }
});

test('the trace of what does not decode ends at the decoder and shows what came', async () => {
  await rule('odd', 'DATASOURCE="/odd"');
  await server.request('POST', '/rules/odd/trace/start', { strategy: 'always' });
  await request(data, 'POST', '/odd', '{bad');
  const id = await eventually('the trace', async () => {
    const [first] = (await server.request('GET', '/trace/rule/odd')).json as string[];
    return first;
  });
  const { Attribute, ChildSpan } = (await server.request('GET', `/trace/${id}`)).json;
  assert.is(Buffer.from(Attribute.data, 'base64').toString(), '{bad');
  assert.equal(
    ChildSpan.map(({ Name, ChildSpan: below }: Record<string, unknown[]>) => [Name, below]),
    [['2_decoder', []]],
  );
});

test.run();
