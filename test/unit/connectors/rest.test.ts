/** The sink rest against servers of every temper. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectorOf, dynamicProps } from '../../../host/connectors/index.js';
import { sinkContract } from '../../support/connectors/contract.js';
import { type HttpDouble, openHttp } from '../../support/connectors/http-server.js';
import { openPlane, passRule } from '../../support/engine/plane.js';
import { eventually, freePort } from '../../support/harness.js';

type Props = Record<string, unknown>;

let server: HttpDouble;
test.before(async () => {
  server = await openHttp();
});
test.after(() => server.close());
test.before.each(() => {
  server.received.length = 0;
  server.answer = (response) => response.end('{}');
});

sinkContract(
  test,
  () => ({
    type: 'rest',
    props: { url: server.url, method: 'post' },
    refused: [
      [{ url: '' }, /url must be an address/],
      [{ url: 'ftp://x' }, /url must begin with http/],
      [{ url: 'ftp://x/{{.a}}' }, /url must begin with http/],
      [{ url: 'http://x', method: 'push' }, /method must be one of get, post/],
      [{ url: 'http://x', bodyType: 'pdf' }, /bodyType must be one of none, text/],
      [{ url: 'http://x', timeout: -1 }, /timeout must be at least 0ms/],
      [{ url: 'http://x', bodyType: 'form', format: 'json' }, /format must be urlencoded/],
    ],
  }),
  'rest',
);

/** Runs a rule that sends so many rows. */
async function send(count: number, props: Props, interval = 0) {
  const { plane, report } = await openPlane();
  const data = Array.from({ length: count }, (_, id) => ({ id }));
  const rule = passRule({ type: 'simulator', props: { interval, loop: false, data } }, [
    {
      type: 'rest',
      props: { url: server.url, method: 'post', ...props },
      aesKey: Buffer.alloc(32, 1).toString('base64'),
    },
  ]);
  await plane.start(rule);
  return {
    ended: async () => {
      const { metrics } = await report(rule.run, 'ended');
      await plane.close();
      return metrics;
    },
    metrics: () => plane.status(rule.run)!.metrics,
    stop: async () => {
      await plane.stop(rule.run);
      await plane.close();
    },
  };
}

const rows = (count: number) => Array.from({ length: count }, (_, id) => `{"id":${id}}`);

test('messages arrive in order over one connection, with what the properties say', async () => {
  const sockets = new Set<unknown>();
  server.answer = (response) => {
    sockets.add(response.socket);
    response.end();
  };
  const rule = await send(20, { url: `${server.url}/a?b=1`, method: 'PUT', headers: { 'X-Plant': 7 } });
  const metrics = await rule.ended();
  assert.equal(server.bodies, rows(20));
  const [first] = server.received;
  assert.equal([first?.method, first?.url, first?.headers['x-plant']], ['PUT', '/a?b=1', '7']);
  assert.is(first?.headers['content-type'], 'application/json');
  assert.is(sockets.size, 1);
  assert.is(metrics.sinkRecordsOutTotal, 20);
});

test('without a body nothing but the address is sent', async () => {
  await (await send(1, { method: 'get' })).ended();
  const [{ method, body, headers }] = server.received as [HttpDouble['received'][number]];
  assert.equal([method, body, headers['content-type']], ['GET', '', undefined]);
});

test('a compressed body says how, unless it is encrypted or its headers say it', async () => {
  for (const [props, expected] of [
    [{ compression: 'gzip' }, 'gzip'],
    [{ compression: 'zstd', headers: { 'content-encoding': 'own' } }, 'own'],
    [{ compression: 'zlib' }, undefined],
    [{ compression: 'gzip', encryption: 'aes' }, undefined],
    [{ compression: 'gzip', method: 'get' }, undefined],
    [{}, undefined],
  ] as const) {
    server.received.length = 0;
    await (await send(1, props)).ended();
    assert.is(server.received[0]?.headers['content-encoding'], expected, JSON.stringify(props));
  }
});

test('a form has the message as a file, and its fields', async () => {
  const form = { bodyType: 'formdata', fileFieldName: 'data', formData: { plant: 'north' } };
  await (await send(1, form)).ended();
  const [{ body, headers }] = server.received as [HttpDouble['received'][number]];
  assert.match(headers['content-type'] ?? '', /^multipart\/form-data; boundary=/);
  const parts = await new Response(body, { headers: { 'content-type': headers['content-type']! } }).formData();
  assert.is(await (parts.get('data') as File).text(), '{"id":0}');
  assert.is(parts.get('plant'), 'north');
});

for (const status of [408, 429, 500, 503]) {
  test(`what is answered with ${status} is sent again, before all others`, async () => {
    server.answer = (response, _request, number) => {
      response.statusCode = number === 3 ? status : 200;
      response.end('busy');
    };
    const metrics = await (await send(5, {})).ended();
    const [one, two, three, four, five] = rows(5);
    assert.equal(server.bodies, [one, two, three, three, four, five]);
    assert.equal([metrics.sinkRecordsOutTotal, metrics.sinkRecordsFailedTotal], [5, 0]);
    assert.match(
      String(metrics.sink_rest_0_0_last_exception ?? metrics.sink_rest_0_last_exception),
      /status \d+: busy/,
    );
  });
}

test('a message that the server alone fails at lets the others pass, and goes when it can', async () => {
  let isWell = false;
  server.answer = (response, { body }) => {
    response.statusCode = body === '{"id":1}' && !isWell ? 500 : 200;
    response.end('no');
  };
  const rule = await send(3000, {}, 5);
  await eventually('the others', () => server.bodies.includes('{"id":199}'));
  const { sinkRecordsOutTotal, sinkRecordsFailedTotal } = rule.metrics();
  assert.equal([sinkRecordsOutTotal, sinkRecordsFailedTotal], [1, 0]);
  isWell = true;
  await eventually('its turn', () => Number(rule.metrics().sinkRecordsOutTotal) > 200);
  const others = server.bodies.filter((body) => body !== '{"id":1}');
  assert.equal(
    others,
    rows(others.length + 1).filter((body) => body !== '{"id":1}'),
  );
  await rule.stop();
});

test('with maxAttempts such a message is given up, and named', async () => {
  server.answer = (response, { body }) => {
    response.statusCode = body === '{"id":1}' ? 502 : 200;
    response.end('bad row');
  };
  const metrics = await (await send(5, { maxAttempts: 3 })).ended();
  assert.is(server.bodies.filter((body) => body === '{"id":1}').length, 3);
  assert.equal([metrics.sinkRecordsOutTotal, metrics.sinkRecordsFailedTotal], [4, 1]);
  assert.match(JSON.stringify(metrics), /status 502: bad row \(3 attempts\)/);
});

test('while the server fails at all messages they wait in their order', async () => {
  let count = 0;
  server.answer = (response) => {
    response.statusCode = ++count > 3 ? 200 : 500;
    response.end();
  };
  const rule = await send(3000, {}, 5);
  await eventually('all that waited', () => Number(rule.metrics().sinkRecordsOutTotal) > 100);
  const order = rows(100).map((body) => server.bodies.lastIndexOf(body));
  assert.equal(
    order,
    [...order].sort((a, b) => a - b),
  );
  assert.is(rule.metrics().sinkRecordsFailedTotal, 0);
  await rule.stop();
});

test('Retry-After is waited for', async () => {
  const times: number[] = [];
  server.answer = (response, _request, number) => {
    times.push(performance.now());
    if (number === 1) response.writeHead(429, { 'Retry-After': '1' });
    response.end();
  };
  await (await send(1, {})).ended();
  assert.is(times.length, 2);
  assert.ok(times[1]! - times[0]! >= 990, `${times[1]! - times[0]!} ms`);
});

test('what is refused is counted, named and not sent again', async () => {
  server.answer = (response, { body }) => {
    response.statusCode = body === '{"id":2}' ? 422 : 200;
    response.end('no such device');
  };
  const metrics = await (await send(5, {})).ended();
  assert.equal(server.bodies, rows(5));
  assert.equal([metrics.sinkRecordsOutTotal, metrics.sinkRecordsFailedTotal], [4, 1]);
  assert.match(JSON.stringify(metrics), /status 422: no such device/);
});

test('the code in an answer counts where the property says so', async () => {
  server.answer = (response, _request, number) => response.end(JSON.stringify({ code: number === 2 ? 404 : 200 }));
  const metrics = await (await send(3, { responseType: 'body' })).ended();
  assert.equal([metrics.sinkRecordsOutTotal, metrics.sinkRecordsFailedTotal], [2, 1]);
  assert.match(JSON.stringify(metrics), /code 404/);
});

test('a server that is absent at the start gets everything when it comes', async () => {
  const port = await freePort();
  const rule = await send(10, { url: `http://127.0.0.1:${port}` }, 5);
  await eventually('the refusal', () => /ECONNREFUSED/.test(JSON.stringify(rule.metrics())));
  const late = await openHttp(port);
  const metrics = await rule.ended();
  assert.equal(late.bodies, rows(10));
  assert.equal([metrics.sinkRecordsOutTotal, metrics.sinkRecordsFailedTotal], [10, 0]);
  await late.close();
});

test('a server that goes in the middle loses nothing', async () => {
  const first = await openHttp();
  first.answer = (response, _request, number) => {
    if (number === 4) response.destroy();
    else response.end();
  };
  const metrics = await (await send(8, { url: first.url })).ended();
  assert.equal([...new Set(first.bodies)], rows(8));
  assert.is(metrics.sinkRecordsOutTotal, 8);
  await first.close();
});

test('a request that takes too long is sent again', async () => {
  server.answer = (response, _request, number) => {
    if (number > 1) response.end();
  };
  const metrics = await (await send(2, { timeout: 100 })).ended();
  assert.equal(server.bodies, ['{"id":0}', ...rows(2)]);
  assert.is(metrics.sinkRecordsOutTotal, 2);
});

test('a rule stops while the server hangs', async () => {
  server.answer = () => {};
  const rule = await send(2, { timeout: '10m' });
  await eventually('the request', () => server.received.length > 0);
  const began = performance.now();
  await rule.stop();
  assert.ok(performance.now() - began < 10_000);
});

test('several requests are under way where that is allowed, and messages count in their order', async () => {
  const waiting: (() => void)[] = [];
  server.answer = (response) => {
    waiting.push(() => response.end());
    if (waiting.length === 4) for (const call of waiting.reverse()) call();
  };
  const metrics = await (await send(4, { concurrency: 4 })).ended();
  assert.equal([...server.bodies].sort(), rows(4));
  assert.is(metrics.sinkRecordsOutTotal, 4);
});

test('a token is fetched, put into headers, and fetched anew when it is not known any more', async () => {
  const tokens: string[] = [];
  server.answer = (response, { url, body, headers }) => {
    if (url === '/token') {
      assert.is(body, '{"secret":"s"}');
      tokens.push(`t${tokens.length}`);
      response.end(JSON.stringify({ access_token: tokens.at(-1) }));
      return;
    }
    const isGood = headers.authorization === `Bearer ${tokens.at(-1)}` && !(tokens.length === 1 && body === '{"id":1}');
    response.statusCode = isGood ? 200 : 401;
    response.end();
  };
  const oauth = { access: { url: `${server.url}/token`, body: '{"secret":"s"}' } };
  const metrics = await (await send(3, { oauth, headers: { Authorization: 'Bearer {{.access_token}}' } })).ended();
  assert.equal([metrics.sinkRecordsOutTotal, metrics.sinkRecordsFailedTotal], [3, 0]);
  assert.equal(tokens, ['t0', 't1']);
});

test('a token is renewed at half of its life', async () => {
  let renewed = 0;
  server.answer = (response, { url, body }) => {
    if (url === '/token') response.end('{"access_token":"a","refresh_token":"r","expires":1}');
    else if (url === '/renew') {
      assert.is(body, 'r');
      renewed++;
      response.end('{"access_token":"b","refresh_token":"r","expires":3600}');
    } else response.end();
  };
  const access = { url: `${server.url}/token`, expire: '{{.expires}}' };
  const refresh = { url: `${server.url}/renew`, body: '{{.refresh_token}}' };
  const headers = { Authorization: '{{.access_token}}' };
  await (await send(8, { oauth: { access, refresh }, headers }, 100)).ended();
  assert.is(renewed, 1);
  assert.is(server.received.at(-1)?.headers.authorization, 'b');
});

test('templates over rows are for all properties that may have them, those of headers unless there is a token', () => {
  const props = { url: 'http://h/{{.id}}', headers: { a: '{{.b}}' }, method: '{{.m}}' };
  assert.equal(Object.keys(dynamicProps('rest', props)).sort(), ['headers', 'method', 'url']);
  const oauth = { access: { url: 'http://h/token' } };
  assert.equal(Object.keys(dynamicProps('rest', { ...props, oauth })).sort(), ['method', 'url']);
  assert.equal(Object.keys(dynamicProps('rest', { ...props, oauth: JSON.stringify(oauth) })).sort(), ['method', 'url']);
});

test('a template that can not be right is refused', () => {
  const { sink } = connectorOf('rest')!;
  assert.throws(() => sink!.check({ url: 'mqtt://h/{{.id}}' }), /must begin with http/);
  sink!.check({ url: '{{.address}}' });
});

test.run();
