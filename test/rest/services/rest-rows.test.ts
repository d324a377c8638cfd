/** Functions of external services in rules: requests that go out, answers that come back, rows that wait meanwhile. */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer } from '../../support/harness.js';
import { fileUri } from '../../support/rest/given-files.js';
import { RowsThrough } from '../../support/rest/rows-through.js';
import { writeZip } from '../../support/rest/zip-writer.js';

interface Asked {
  readonly line: string;
  readonly body: string;
  readonly headers: IncomingMessage['headers'];
}

const asked: Asked[] = [];
let answer: (asked: Asked, response: ServerResponse) => void = () => {};
const shop = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const one = { line: `${request.method} ${request.url}`, body: `${Buffer.concat(chunks)}`, headers: request.headers };
  asked.push(one);
  answer(one, response);
}).listen(0, '127.0.0.1');
await new Promise((resolve) => shop.once('listening', resolve));
const { port } = shop.address() as AddressInfo;

const server = await startServer({ env: { KUIPER__BASIC__ENABLEPRIVATENET: 'true' } });
test.after(async () => {
  await server.stop();
  shop.close();
  shop.closeAllConnections();
});
const rule = new RowsThrough(server);

const json = (response: ServerResponse, body: unknown, status = 200) =>
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));

const proto = `syntax = "proto3"; package shop;
import "google/api/annotations.proto";
message Ask { string item = 1; int32 count = 2; }
message One { string id = 1; }
message Answer { double price = 1; int64 stock = 2; }
service Shop {
  rpc getPrice(Ask) returns (Answer) {}
  rpc getItem(One) returns (Answer) { option (google.api.http) = { get: "/v1/{id=items/*}" }; }
  rpc setItem(Ask) returns (google.protobuf.Empty) { option (google.api.http) = { put: "/v1/{item}" body: "*" }; }
  rpc find(Ask) returns (google.protobuf.StringValue) { option (google.api.http) = { get: "/find" }; }
}`;

async function install(name: string, more: object = {}, functions: object[] = []): Promise<void> {
  const address = `http://127.0.0.1:${port}/api`;
  const one = { address, protocol: 'rest', schemaType: 'protobuf', schemaFile: 'shop.proto', functions, ...more };
  const zip = writeZip([
    { name: `${name}.json`, content: JSON.stringify({ about: {}, interfaces: { one } }) },
    { name: 'schemas/shop.proto', content: proto },
  ]);
  const made = await server.request('POST', '/services', { name, file: fileUri(`${name}.zip`, zip) });
  assert.is(made.status, 201, made.text);
}

test.before.each(() => {
  asked.length = 0;
});

test('a function of a service is called for each row, arguments are the fields of its message', async () => {
  await install('shop', { options: { headers: { Authorization: 'Bearer x' } } });
  answer = (_one, response) => json(response, { price: 2, stock: '7', other: true });
  const rows = [
    { item: 'tea', n: 2 },
    { item: 'tea', n: 3 },
    { item: null, n: 1 },
  ];
  assert.equal(await rule.results('SELECT n, getPrice(item, n) AS p FROM s', rows), [
    { n: 2, p: { price: 2, stock: 7 } },
    { n: 3, p: { price: 2, stock: 7 } },
    { n: 1, p: { price: 2, stock: 7 } },
  ]);
  assert.equal(
    asked.map(({ line }) => line),
    Array(3).fill('POST /api/getPrice'),
  );
  assert.equal(
    asked.map(({ body }) => JSON.parse(body)),
    [{ item: 'tea', count: 2 }, { item: 'tea', count: 3 }, { count: 1 }],
  );
  assert.is(asked[0]?.headers.authorization, 'Bearer x');
});

test('the service of the page works: its description, its function, its figures', async () => {
  const page = readFileSync(new URL('../../../docs/external-services.md', import.meta.url), 'utf8');
  const blocks = [...page.matchAll(/```\w*\n(.*?)```/gs)].map(([, text = '']) => text);
  const block = (word: string) => blocks.find((text) => text.includes(word)) ?? '';
  const described = JSON.parse(block('"interfaces"').replace('…', 'secret'));
  described.interfaces.pricing.address = `http://127.0.0.1:${port}/api`;
  const prices = `syntax = "proto3"; package shop;
    message Ask { string item = 1; int32 amount = 2; }
    message Answer { double price = 1; }
    service Shop { rpc GetPrice(Ask) returns (Answer) {} }`;
  const zip = writeZip([
    { name: 'pages.json', content: JSON.stringify(described) },
    { name: 'schemas/shop.proto', content: prices },
  ]);
  const made = await server.request('POST', '/services', { name: 'pages', file: fileUri('pages.zip', zip) });
  assert.is(made.status, 201, made.text);
  answer = (_one, response) => json(response, { price: 2.5 });
  const rows = [
    { device: 'a', item: 'tea', amount: 2 },
    { device: 'b', item: 'tea', amount: 0 },
  ];
  const select = block('itemPrice(item').trim().replace('FROM orders', 'FROM s');
  assert.equal(await rule.results(select, rows), [{ device: 'a', price: 2.5 }]);
  assert.equal([asked.length, asked[0]?.line], [1, 'POST /api/GetPrice']);
  assert.is(asked[0]?.headers.authorization, described.interfaces.pricing.options.headers.Authorization);
  const figures = (await server.request('GET', '/services/pages/status')).json.pricing;
  const shown = JSON.parse(block('"calls_in_flight"')).pricing;
  assert.equal(Object.keys(figures.errors_total), Object.keys(shown.errors_total));
  assert.equal(
    Object.keys(figures).filter((key) => !(key in shown)),
    [],
  );
  assert.equal([figures.calls_total, figures.breaker], [1, 'closed']);
});

test('what the schema says of HTTP gives verb, path, query and body', async () => {
  answer = ({ line }, response) => {
    if (line.includes('/find')) response.writeHead(200, { 'content-type': 'text/plain' }).end('shelf 5');
    else json(response, { price: 1.5 });
  };
  const select = `SELECT getItem('items/a b').price AS p, setItem(item, 2) AS nothing, find(item, 4) AS place,
    getItem('wrong') AS w FROM s`;
  assert.equal(
    await rule.results(select.replace(", getItem('wrong') AS w", '').replace(/,\s*getItem\('wrong'\) AS w/, ''), [
      { item: 'x/y' },
    ]),
    [{ p: 1.5, place: 'shelf 5' }],
  );
  assert.equal(asked.map(({ line }) => line).sort(), [
    'GET /api/find?item=x%2Fy&count=4',
    'GET /api/v1/items/a%20b',
    'PUT /api/v1/x/y',
  ]);
  assert.equal(JSON.parse(asked.find(({ line }) => line.startsWith('PUT'))?.body ?? ''), { count: 2 });
  assert.equal(await rule.results("SELECT getItem('wrong') AS w FROM s", [{ a: 1 }]), [
    'function getItem: id must begin with items/, it is wrong',
  ]);
});

test('a function without schema gets verb and path', async () => {
  await install('free', { schemaless: true, schemaType: '', schemaFile: '' }, [{ name: 'web', serviceName: 'web' }]);
  answer = ({ body }, response) => json(response, { got: JSON.parse(body) });
  assert.equal(await rule.results("SELECT web('post', '/x', a, b) AS r FROM s", [{ a: 1, b: { c: [2] } }]), [
    { r: { got: [1, { c: [2] }] } },
  ]);
  assert.equal(await rule.results("SELECT web('steal', '/x', a) AS r FROM s", [{ a: 1 }]), [
    'function web: the first argument must be a method of HTTP, such as post',
  ]);
  assert.equal(await rule.results("SELECT web('get', '@evil.example/', a) AS r FROM s", [{ a: 1 }]), [
    'function web: the second argument must be a path that begins with a slash',
  ]);
});

test(
  'rows stay in their order, WHERE decides before anybody is asked, and answers can be asked for in ' + 'turn',
  async () => {
    let pending = 0;
    answer = ({ body }, response) => {
      const { item, count } = JSON.parse(body);
      // The later the row, the sooner its answer.
      setTimeout(() => json(response, { price: Number(item), stock: count }), 40 - 10 * pending++);
    };
    const rows = [1, 2, 3, 4].map((v) => ({ v, keep: v !== 2 }));
    assert.equal(
      await rule.results(
        "SELECT v, getPrice(cast(v, 'string'), getPrice('10', v).price).stock AS s FROM s " +
          "WHERE keep AND getPrice(cast(v, 'string'), 0).price < 4",
        rows,
      ),
      [
        { v: 1, s: 10 },
        { v: 3, s: 10 },
      ],
    );
    assert.not.ok(
      asked.some(({ body }) => JSON.parse(body).item === '2'),
      'the row that is not wanted asks nobody',
    );
  },
);

test('answers are aggregated, and aggregates are asked for', async () => {
  answer = ({ body }, response) => json(response, { price: JSON.parse(body).count * 10 });
  const rows = [1, 2, 3].map((v) => ({ v }));
  const window = 'GROUP BY COUNTWINDOW(3)';
  assert.equal(await rule.results(`SELECT sum(getPrice('a', v).price) AS r FROM s ${window}`, rows), [{ r: 60 }]);
  assert.equal(await rule.results(`SELECT getPrice('a', sum(v)).price AS r FROM s ${window}`, rows), [{ r: 60 }]);
});

test('what goes wrong is the error of its row', async () => {
  answer = ({ body }, response) => {
    const { item } = JSON.parse(body);
    if (item === 'refused') json(response, { reason: 'sold out' }, 409);
    else if (item === 'html') response.writeHead(200, { 'content-type': 'text/html' }).end('<p>');
    else if (item === 'broken') response.writeHead(200, { 'content-type': 'application/json' }).end('{"price":');
    else if (item === 'list') json(response, [1]);
    else if (item === 'cut') response.destroy();
    else json(response, { price: 1 });
  };
  const rows = ['refused', 'html', 'broken', 'list', 'cut', 'fine'].map((item) => ({ item }));
  const results = await rule.results('SELECT getPrice(item, 1).price AS p FROM s', rows);
  const reasons = [
    /function getPrice: status 409: \{"reason":"sold out"\}/,
    /content type text\/html, which is neither JSON nor text/,
    /the answer to getPrice is no JSON/,
    /the answer to getPrice is no object/,
    /function getPrice: 127\.0\.0\.1:\d+: /,
  ];
  assert.is(results.length, 6);
  for (const [i, reason] of reasons.entries()) assert.match(String(results[i]), reason);
  assert.equal(results[5], { p: 1 });
  assert.equal(await rule.results("SELECT getPrice('a', b) AS p FROM s", [{ b: 'many' }]), [
    'function getPrice: count must be a number, not "many"',
  ]);
});

test('a call that can not reach the other side is tried again when that is wanted', async () => {
  await server.request('DELETE', '/services/shop');
  await install('shop', { options: { retryCount: 3, retryInterval: '1ms' } });
  let fails = 2;
  answer = (_one, response) => (fails-- > 0 ? response.destroy() : json(response, { price: 5 }));
  assert.equal(await rule.results("SELECT getPrice('a', 1).price AS p FROM s", [{ a: 1 }]), [{ p: 5 }]);
  assert.is(asked.length, 3);
});

test('calls where rows can not wait, and wrong numbers of arguments are refused', async () => {
  await server.request('POST', '/streams', {
    sql: 'CREATE STREAM one (a STRING, b BIGINT) WITH (TYPE="memory", DATASOURCE="o")',
  });
  await server.request('POST', '/streams', {
    sql: 'CREATE STREAM two (a STRING, b BIGINT) WITH (TYPE="memory", DATASOURCE="t")',
  });
  for (const [sql, message] of [
    ['SELECT getPrice(a, b, 1) AS p FROM one', /getPrice takes 1 to 2 arguments, not 3/],
    [
      'SELECT one.a FROM one INNER JOIN two ON getItem(one.a).price = two.b GROUP BY TUMBLINGWINDOW(ss, 1)',
      /getItem answers later: it can't be called in ON/,
    ],
  ] as const) {
    const refused = await server.request('POST', '/rules', { id: 'no', sql, actions: [{ nop: {} }] });
    assert.is(refused.status, 400, refused.text);
    assert.match(refused.json.message, message);
  }
  const explained = await server.request('POST', '/rules', {
    id: 'yes',
    sql: 'SELECT getPrice(a, b) AS p FROM one WHERE b > 1',
    actions: [{ nop: {} }],
    triggered: false,
  });
  assert.is(explained.status, 201, explained.text);
  assert.match((await server.request('GET', '/rules/yes/explain')).text, /CallPlan.*getPrice/);
});

test('a rule that runs asks the service that took the place of its own, and fails without one', async () => {
  const service = (from: string) => async (call: 'POST' | 'PUT') => {
    const one = { address: `http://127.0.0.1:${port}/${from}`, protocol: 'rest', schemaless: true };
    const interfaces = { one: { ...one, functions: [{ name: 'live', serviceName: 'live' }] } };
    const zip = writeZip([{ name: 'news.json', content: JSON.stringify({ about: {}, interfaces }) }]);
    const path = call === 'POST' ? '/services' : '/services/news';
    const done = await server.request(call, path, { name: 'news', file: fileUri('news.zip', zip) });
    assert.ok(done.status < 300, done.text);
  };
  answer = ({ line }, response) => json(response, { from: line.split('/')[1] });
  await service('old')('POST');
  const key = { data: [{ v: 1 }], interval: '5ms', loop: true };
  assert.is((await server.request('PUT', '/metadata/sources/simulator/confKeys/fast', key)).status, 200);
  const sql = 'CREATE STREAM clock () WITH (TYPE="simulator", CONF_KEY="fast")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  const made = await server.request('POST', '/rules', {
    id: 'asking',
    sql: "SELECT live('get', '/x') AS r FROM clock WHERE live('get', '/x').from = 'new'",
    actions: [{ nop: {} }],
  });
  assert.is(made.status, 201, made.text);
  const status = async () => (await server.request('GET', '/rules/asking/status')).json;
  await eventually('answers', () => asked.length > 3);
  assert.is((await status()).sink_nop_0_0_records_in_total, 0);
  await service('new')('PUT');
  await eventually('answers of the new one', async () => (await status()).sink_nop_0_0_records_in_total > 3);
  assert.is((await server.request('DELETE', '/services/news')).status, 200);
  await eventually('errors', async () => JSON.stringify(await status()).includes('service news is not there any more'));
  await server.request('DELETE', '/rules/asking');
});

test('private addresses are asked only where that is allowed', async () => {
  const guarded = await startServer();
  try {
    const one = { address: `http://127.0.0.1:${port}`, protocol: 'rest', schemaless: true };
    const interfaces = { one: { ...one, functions: [{ name: 'inside', serviceName: 'inside' }] } };
    const file = fileUri('in.zip', writeZip([{ name: 'in.json', content: JSON.stringify({ about: {}, interfaces }) }]));
    assert.is((await guarded.request('POST', '/services', { name: 'in', file })).status, 201);
    const [row] = await new RowsThrough(guarded).results("SELECT inside('get', '/x') AS r FROM s", [{ v: 1 }]);
    assert.match(String(row), /127\.0\.0\.1 is a .* address; basic\.enablePrivateNet allows such targets/);
    assert.is(asked.length, 0);
  } finally {
    await guarded.stop();
  }
});

test.run();
