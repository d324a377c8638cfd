/** What a service was asked and how that ended: its status, and the metrics. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer } from '../../support/harness.js';
import { RowsThrough } from '../../support/rest/rows-through.js';
import { installService } from '../../support/services/install.js';

let busy = 0;
const shop = createServer((request, response) => {
  request.resume();
  const path = request.url ?? '';
  if (path === '/hangs') return;
  const status = path === '/busy' && busy-- > 0 ? 429 : path === '/wrong' ? 400 : 200;
  response.writeHead(status, { 'content-type': 'application/json' }).end('{"price": 2}');
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

const one = { address: `http://user:hidden@127.0.0.1:${port}`, protocol: 'rest', schemaless: true };
const options = { timeout: '100ms', retryCount: 2, breakerFailures: 1, breakerInterval: '1h', concurrency: 1 };

async function statusOf(name: string): Promise<Record<string, Record<string, unknown>>> {
  const answer = await server.request('GET', `/services/${name}/status`);
  assert.is(answer.status, 200, answer.text);
  return answer.json as Record<string, Record<string, unknown>>;
}

async function metrics(): Promise<string[]> {
  return (await server.request('GET', '/metrics')).text.split('\n').filter((line) => line.includes('kuiper_service_'));
}

const none = { unreachable: 0, busy: 0, late: 0, refused: 0, invalid: 0, down: 0, ended: 0 };

test('calls are counted by their ends, from the first one on and also for those whom nobody has called', async () => {
  await installService(server, 'shop', { interfaces: { price: { ...one, options }, other: one } });
  assert.equal((await statusOf('shop')).other, {
    address: `http://127.0.0.1:${port}`,
    breaker: 'closed',
    calls_total: 0,
    errors_total: none,
    tries_total: 0,
    calls_in_flight: 0,
    calls_waiting: 0,
    process_latency_us: 0,
    last_exception: '',
    last_exception_time: 0,
  });
  // The state of the breaker goes with the last rule that uses the service.
  const sql = 'CREATE STREAM idle () WITH (TYPE="memory", DATASOURCE="idle", FORMAT="json")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  const keeper = { id: 'keeper', sql: "SELECT price('get', '/x') AS p FROM idle", actions: [{ nop: {} }] };
  assert.is((await server.request('POST', '/rules', keeper)).status, 201);
  busy = 1;
  const rows = ['/x', '/busy', '/wrong', 'x', '/hangs', '/after'].map((path) => ({ path }));
  const results = await rule.results("SELECT price('get', path).price AS p FROM s", rows);
  assert.equal(results.slice(0, 2), [{ p: 2 }, { p: 2 }]);
  const { price = {} } = await statusOf('shop');
  const { process_latency_us: latency, last_exception: reason, last_exception_time: at, ...counts } = price;
  assert.equal(counts, {
    address: `http://127.0.0.1:${port}`,
    breaker: 'open',
    calls_total: 6,
    errors_total: { ...none, refused: 1, invalid: 1, late: 1, down: 1 },
    tries_total: 5,
    calls_in_flight: 0,
    calls_waiting: 0,
  });
  assert.ok(Number(latency) > 0 && Number(at) > 0);
  assert.match(String(reason), /is down: no answer within 100 ms$/);
});

test('metrics have the same by service and interface, and none of a service that was deleted', async () => {
  const lines = await metrics();
  const labels = 'service="shop",interface="price"';
  for (const line of [
    '# TYPE kuiper_service_calls_total counter',
    `kuiper_service_calls_total{${labels}} 6`,
    `kuiper_service_errors_total{${labels},kind="late"} 1`,
    `kuiper_service_errors_total{${labels},kind="busy"} 0`,
    `kuiper_service_tries_total{${labels}} 5`,
    `kuiper_service_in_flight{${labels}} 0`,
    `kuiper_service_waiting{${labels}} 0`,
    `kuiper_service_breaker{${labels}} -1`,
    'kuiper_service_breaker{service="shop",interface="other"} 1',
    `kuiper_service_latency_us_hist_count{${labels}} 2`,
  ]) {
    assert.ok(lines.includes(line), `${line} is not among\n${lines.join('\n')}`);
  }
  assert.is((await server.request('DELETE', '/services/shop')).status, 200);
  await eventually('their end', async () => (await metrics()).length === 0);
});

test.run();
