/** Several requests in one. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startControlPlane } from '../../support/rest/control-plane.js';

const plane = await startControlPlane();
const stream = (name: string) => `CREATE STREAM ${name} (a BIGINT) WITH (DATASOURCE="t", TYPE="memory")`;
const batch = (parts: unknown) => plane.request('POST', '/batch/req', parts);
const create = (name: string) => ({ method: 'POST', path: '/streams', body: JSON.stringify({ sql: stream(name) }) });

test('answers the parts in their order, whatever becomes of one', async () => {
  const answer = await batch([
    create('b1'),
    { method: 'POST', path: '/streams', body: '{bad' },
    { method: 'GET', path: '/streams' },
    { method: 'GET', path: '/nosuch' },
    { method: 'PUT', path: '/ping' },
    { method: 'GET', path: '/ping' },
    { method: 'DELETE', path: '/streams/b1?force=true' },
    { method: 'GET', path: '/rules/none' },
  ]);
  assert.is(answer.status, 200);
  assert.match(answer.type, /^application\/json/);
  const { json } = answer;
  assert.equal(
    json.map(({ code }: { code: number }) => code),
    [201, 400, 200, 404, 405, 200, 200, 404],
  );
  assert.is(json[0].response, 'Stream b1 is created.');
  assert.is(JSON.parse(json[1].response).error, 1000);
  assert.equal(JSON.parse(json[2].response), ['b1']);
  assert.equal(Object.keys(json[5]), ['code'], 'an empty response is left out');
  assert.is(JSON.parse(json[7].response).error, 1002);
});

test('reads the query and takes whole addresses for paths', async () => {
  const { json } = await batch([
    { method: 'GET', path: '/tables?kind=lookup' },
    { method: 'GET', path: 'http://elsewhere:1/streams' },
    { path: '/ping' },
    { method: 'HEAD', path: '/streams' },
    { method: 'GET', path: '/rules/%zz' },
  ]);
  assert.equal(
    json.map(({ code }: { code: number }) => code),
    [200, 200, 200, 200, 400],
  );
  assert.is(json[3].response, undefined);
});

test('answers what is no request with code 0 and the reason', async () => {
  const { json } = await batch([
    { method: 'B AD', path: '/ping' },
    { method: 'GET', path: '/ping' },
    ...['http://[', '', 'ping', '?a=b', 'ftp://h/ping'].map((path) => ({ method: 'GET', path })),
    { method: 'GET' },
  ]);
  const errors = json.map(({ code, error }: { code: number; error?: string }) => (code === 0 ? error : code));
  assert.equal(errors, [
    'invalid method "B AD"',
    200,
    'invalid path "http://["',
    'invalid path ""',
    'invalid path "ping"',
    'invalid path "?a=b"',
    'invalid path "ftp://h/ping"',
    'invalid path ""',
  ]);
});

test('knows no path with two slashes at the start, as over HTTP', async () => {
  assert.equal((await batch([{ method: 'GET', path: '//ping' }])).json[0].code, 404);
  assert.is((await plane.request('GET', '//ping')).status, 404);
});

test('refuses batches of another form, naming the place', async () => {
  for (const [body, reason] of [
    [{ a: 1 }, /list of requests/],
    ['zzz', /no JSON/],
    ['', /empty/],
    [[3], /request 0 must be an object/],
    [
      [
        { method: 'GET', path: '/ping' },
        { method: 7, path: '/ping' },
      ],
      /method of request 1/,
    ],
    [[{ method: 'GET', path: '/ping', body: {} }], /body of request 0/],
  ] as const) {
    const answer = await batch(body);
    assert.is(answer.status, 400);
    assert.is(answer.json.error, 1000);
    assert.match(answer.json.message, reason);
  }
  assert.equal((await batch([])).json, []);
  assert.is((await plane.request('GET', '/batch/req')).status, 405);
});

test('takes thousands of changes at the price of a few waits for the disk', async () => {
  const count = 2000;
  const names = Array.from({ length: count }, (_, i) => `many${i}`);
  const created = await batch(names.map(create));
  assert.ok(created.json.every(({ code }: { code: number }) => code === 201));
  assert.is((await plane.request('GET', '/streams')).json.length, count);
  const dropped = await batch(names.map((name) => ({ method: 'DELETE', path: `/streams/${name}` })));
  assert.ok(dropped.json.every(({ code }: { code: number }) => code === 200));
});

test('responses that are too long together are told apart, and what was asked is done', async () => {
  const key = '/metadata/sources/mqtt/confKeys/long';
  const get = { method: 'GET', path: '/metadata/sources/yaml/mqtt' };
  const { json } = await batch([
    { method: 'PUT', path: key, body: JSON.stringify({ text: 'x'.repeat(8 << 20) }) },
    ...Array(9).fill(get),
    { method: 'DELETE', path: key },
  ]);
  assert.is(json[0].code, 200);
  for (const part of json.slice(1, 8)) assert.ok(part.response.length > 8 << 20);
  for (const part of json.slice(8, 10)) {
    assert.is(part.code, 200);
    assert.is(part.response, undefined);
    assert.match(part.error, /more than 67108864 characters, send this request by itself/);
  }
  assert.is(json[10].code, 200);
  assert.not.match((await plane.request('GET', '/metadata/sources/yaml/mqtt')).text, /xxx/);
});

test('what a batch has acknowledged is there after a restart', async () => {
  await batch([create('kept1'), create('kept2')]);
  await plane.close();
  const again = await startControlPlane(plane.data);
  assert.equal((await again.request('GET', '/streams')).json, ['kept1', 'kept2']);
  await again.close();
});

test.run();
