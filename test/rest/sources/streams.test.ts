import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startControlPlane } from '../../support/rest/control-plane.js';

const plane = await startControlPlane();
test.after(() => plane.close());

const sql = (name: string, fields = 'a BIGINT, b FLOAT', more = '') =>
  `CREATE STREAM ${name} (${fields}) WITH (DATASOURCE="t/${name}", TYPE="memory", FORMAT="json"${more})`;

test('creates, lists, describes, replaces and drops a stream', async () => {
  const created = await plane.request('POST', '/streams', { sql: sql('demo') });
  assert.is(created.status, 201);
  assert.is(created.text, 'Stream demo is created.');
  assert.equal((await plane.request('GET', '/streams')).json, ['demo']);
  assert.equal((await plane.request('GET', '/streamdetails')).json, [{ name: 'demo', type: 'memory', format: 'json' }]);
  const described = (await plane.request('GET', '/streams/demo')).json;
  assert.is(described.Name, 'demo');
  assert.equal(described.StreamFields[0], { Name: 'a', FieldType: { Type: 1 } });
  assert.is((await plane.request('GET', '/streams/demo/schema')).json.b.type, 'float');
  const replaced = await plane.request('PUT', '/streams/demo', { sql: sql('demo', 'c STRING') });
  assert.is(replaced.text, 'Stream demo is updated.');
  assert.equal(Object.keys((await plane.request('GET', '/streams/demo/schema')).json), ['c']);
  assert.is((await plane.request('DELETE', '/streams/demo')).text, 'Stream demo is dropped.');
  assert.equal((await plane.request('GET', '/streams')).json, []);
});

test('refuses versions that are not greater, unusable names, and DROP of what is not there', async () => {
  const put = (more: string) => plane.request('PUT', '/streams/ver', { sql: sql('ver', 'a BIGINT', more) });
  for (const [more, status] of [
    ['', 200],
    [', VERSION="2"', 200],
    [', VERSION="2"', 400],
    [', VERSION="1"', 400],
    ['', 400],
    [', VERSION="3"', 200],
  ] as const) {
    const answer = await put(more);
    assert.is(answer.status, status, more);
    if (status === 400) assert.match(answer.json.message, /version .*greater than 2/);
  }
  assert.is((await plane.request('DELETE', '/streams/ver')).status, 200);
  const dropped = await plane.request('POST', '/streams', { sql: 'DROP STREAM ver' });
  assert.is(dropped.status, 400);
  assert.is(dropped.json.error, 3000);
  assert.match(dropped.json.message, /ver is not found/);
  const named = await plane.request('POST', '/streams', { sql: sql('`a b`') });
  assert.is(named.status, 400);
  assert.match(named.json.message, /id 'a b'/);
  assert.equal((await plane.request('GET', '/streams')).json, []);
});

test('reads the body as JSON whatever its type says', async () => {
  const body = JSON.stringify({ sql: sql('typed') });
  for (const type of ['application/x-www-form-urlencoded', 'text/plain', '']) {
    const created = await plane.request('POST', '/streams', body, type === '' ? {} : { 'content-type': type });
    assert.is(created.status, 201);
    await plane.request('DELETE', '/streams/typed');
  }
});

test('keeps tables apart from streams, in one name space', async () => {
  const table = 'CREATE TABLE tab (id BIGINT) WITH (DATASOURCE="t", TYPE="memory", KIND="lookup", KEY="id")';
  assert.is((await plane.request('POST', '/streams', { sql: table })).text, 'Table tab is created.');
  assert.equal((await plane.request('GET', '/tables')).json, ['tab']);
  assert.equal((await plane.request('GET', '/tables?kind=scan')).json, []);
  assert.equal((await plane.request('GET', '/tables?kind=lookup')).json, ['tab']);
  assert.is((await plane.request('POST', '/streams', { sql: sql('tab') })).status, 400);
  assert.is((await plane.request('DELETE', '/streams/tab')).status, 404);
  assert.is((await plane.request('DELETE', '/tables/tab')).text, 'Table tab is dropped.');
});

const refusals: [string, string, unknown, number, number, RegExp][] = [
  ['POST', '/streams', { sql: 'CREATE STREM demo' }, 400, 3000, /STREM/],
  ['POST', '/streams', { sql: 'CREATE STREAM b () WITH (DATASOURCE="t", TYPO="memory")' }, 400, 3000, /TYPO/],
  ['POST', '/streams', { sql: 'SELECT 1 FROM a' }, 400, 3000, /must be CREATE/],
  ['POST', '/streams', { sql: 5 }, 400, 1000, /sql must be a text/],
  ['POST', '/streams', {}, 400, 3000, /./],
  ['POST', '/streams', '', 400, 1000, /invalid body: it is empty/],
  ['POST', '/streams', '<xml/>', 400, 1000, /invalid body: it is no JSON/],
  ['GET', '/streams/none', undefined, 400, 3000, /^describe stream error: stream none is not found/],
  ['GET', '/tables/none', undefined, 400, 3000, /^describe table error.*none/],
  ['DELETE', '/streams/none', undefined, 404, 1002, /none/],
  ['GET', '/streams/a%20b', undefined, 400, 1000, /'a b' contains invalid characters/],
  ['PUT', '/streams/x', { sql: sql('y') }, 400, 3000, /must create the stream x/],
  ['PUT', '/streams/x', '{bad', 400, 1000, /invalid body/],
];

for (const [method, path, body, status, code, message] of refusals) {
  test(`${method} ${path} refuses ${JSON.stringify(body)}`, async () => {
    const answer = await plane.request(method, path, body);
    assert.is(answer.status, status);
    assert.match(answer.type, /^application\/json/);
    assert.is(answer.json.error, code);
    assert.match(answer.json.message, message);
  });
}

test('does not drop a stream that a running rule reads, unless forced', async () => {
  await plane.request('POST', '/streams', { sql: sql('used') });
  await plane.request('POST', '/rules', { id: 'user', sql: 'SELECT * FROM used', actions: [{ log: {} }] });
  const refused = await plane.request('DELETE', '/streams/used');
  assert.is(refused.status, 400);
  assert.match(refused.json.message, /used has been referenced by other rules: user/);
  assert.is((await plane.request('DELETE', '/streams/used?force=no')).status, 400);
  assert.is((await plane.request('DELETE', '/streams/used?force=true')).status, 200);
  await plane.request('POST', '/streams', { sql: sql('used') });
  assert.is((await plane.request('DELETE', '/streams/used?force=1')).status, 200);
});

test('a body without the statement is told so', async () => {
  for (const [method, path] of [
    ['POST', '/streams'],
    ['POST', '/tables'],
  ] as const) {
    const refused = await plane.request(method, path, { sq: 'CREATE STREAM s () WITH (DATASOURCE="a")' });
    assert.equal([refused.status, refused.json.error], [400, 3000]);
    assert.match(refused.json.message, /command error: the property sql is missing, it holds the statement$/);
  }
});

test('a lookup table needs a type in which rows can be looked up, and what that type looks in', async () => {
  const table = (more: string) =>
    plane.request('POST', '/tables', { sql: `CREATE TABLE look (a BIGINT) WITH (KIND="lookup", ${more})` });
  for (const [more, reason] of [
    ['DATASOURCE="a", TYPE="nosuch"', /lookup source type nosuch not found/],
    ['DATASOURCE="a", TYPE="file"', /lookup source type file not found/],
    ['DATASOURCE="a", KEY="a"', /lookup source type mqtt not found/],
    ['TYPE="memory", KEY="a"', /DATASOURCE, a topic, is required/],
    ['DATASOURCE="16", TYPE="redis"', /number of a Redis database/],
  ] as const) {
    const refused = await table(more);
    assert.is(refused.status, 400, more);
    assert.is(refused.json.error, 3000);
    assert.match(refused.json.message, reason);
  }
  for (const more of ['DATASOURCE="a", TYPE="memory", KEY="a"', 'DATASOURCE="0", TYPE="redis"']) {
    assert.is((await table(more)).status, 201, more);
    await plane.request('DELETE', '/tables/look');
  }
});

test('the schema of a protobuf stream is the message of its SCHEMAID', async () => {
  const content = `syntax = "proto3"; import "google/protobuf/timestamp.proto";
    message M { int64 a = 1; repeated double b = 2; In c = 3; map<string, bool> d = 4; E e = 5; bytes f = 6; M g = 7;
      google.protobuf.Timestamp h = 8; message In { string x = 1; } enum E { Z = 0; } }`;
  await plane.request('POST', '/schemas/protobuf', { name: 'shapes', content });
  await plane.request('POST', '/schemas/protobuf', { name: 'broken', content: 'no schema' });
  await plane.request('POST', '/schemas/protobuf', { name: 'nosy', content: 'import "../../../etc/passwd";' });
  const schemaOf = async (id: string) => {
    const made = await plane.request('PUT', '/streams/proto', {
      sql: sql('proto', '').replace('"json"', `"protobuf", SCHEMAID="${id}"`),
    });
    assert.is(made.status, 200);
    return plane.request('GET', '/streams/proto/schema');
  };
  const index = 0;
  const simple = (type: string) => ({ type, index });
  assert.equal((await schemaOf('shapes.M')).json, {
    a: simple('bigint'),
    b: { type: 'array', items: simple('float'), index },
    c: { type: 'struct', properties: { x: simple('string') }, index },
    d: {
      type: 'array',
      items: { type: 'struct', properties: { key: simple('string'), value: simple('boolean') }, index },
      index,
    },
    e: simple('bigint'),
    f: simple('bytea'),
    g: { type: 'struct', properties: {}, index },
    h: { type: 'struct', properties: { seconds: simple('bigint'), nanos: simple('bigint') }, index },
  });
  for (const [id, reason] of [
    ['nosuch.M', /schema nosuch is not found/],
    ['shapes.Nope', /message type Nope not found in schema shapes/],
    ['shapes', /message type of schema shapes is not named, expected shapes\.Message/],
    ['broken.M', /schema broken can't be read/],
    ['nosy.M', /lies outside of the schema/],
  ] as const) {
    const refused = await schemaOf(id);
    assert.equal([refused.status, refused.json.error], [400, 3000], id);
    assert.match(refused.json.message, reason);
  }
});

test('can not change SHARED of a stream', async () => {
  await plane.request('POST', '/streams', { sql: sql('shared') });
  const answer = await plane.request('PUT', '/streams/shared', { sql: sql('shared', 'a BIGINT', ', SHARED="true"') });
  assert.match(answer.json.message, /SHARED can't be changed/);
});

test('of a drop and a rule that is created at the same time one succeeds', async () => {
  for (let i = 0; i < 10; i++) {
    await plane.request('POST', '/streams', { sql: sql('raced') });
    const rule = { id: `racer${i}`, sql: 'SELECT * FROM raced', actions: [{ log: {} }] };
    const [created, dropped] = await Promise.all([
      plane.request('POST', '/rules', rule),
      plane.request('DELETE', '/streams/raced'),
    ]);
    assert.equal([created.status, dropped.status].sort().at(-1), 400, `${created.text} ${dropped.text}`);
    await plane.request('DELETE', `/rules/racer${i}`);
    await plane.request('DELETE', '/streams/raced');
  }
});

test.run();
