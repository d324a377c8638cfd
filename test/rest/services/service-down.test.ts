/** A service that is down: its rows are errors in time, the status tells, neighbours go on, and it is tried again. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { briefEnd } from '../../support/connectors/faults/site.js';
import { eventually, startServer } from '../../support/harness.js';
import { installService } from '../../support/services/install.js';

let asked = 0;
let answer: (response: ServerResponse) => void = () => {};
const shop = createServer((request, response) => {
  asked++;
  request.resume();
  answer(response);
}).listen(0, '127.0.0.1');
await new Promise((resolve) => shop.once('listening', resolve));
const { port } = shop.address() as AddressInfo;
const server = await startServer({ env: { KUIPER__BASIC__ENABLEPRIVATENET: 'true' } });
test.after(async () => {
  await server.stop();
  shop.close();
  shop.closeAllConnections();
});

const fine = (response: ServerResponse) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"price": 1}');

async function makeRule(id: string, sql: string): Promise<void> {
  const body = { id, sql, actions: [{ nop: {} }], options: briefEnd };
  const made = await server.request('POST', '/rules', body);
  assert.is(made.status, 201, made.text);
}

async function troubleOf(id: string): Promise<string> {
  const rules = (await server.request('GET', '/rules?trouble=true')).json as { id: string; trouble: string[] }[];
  return rules.find((rule) => rule.id === id)?.trouble.join('; ') ?? '';
}

const status = async (id: string) => (await server.request('GET', `/rules/${id}/status`)).json;

test('a service that hangs is not asked any more after some failures, and again when it answers', async () => {
  const one = { address: `http://127.0.0.1:${port}`, protocol: 'rest', schemaless: true };
  const options = { timeout: '50ms', breakerFailures: 3, breakerInterval: '50ms', concurrency: 4 };
  await installService(server, 'shop', { interfaces: { price: { ...one, options } } });
  const key = { data: [{ v: 1 }], interval: '1ms', loop: true };
  assert.is((await server.request('PUT', '/metadata/sources/simulator/confKeys/fast', key)).status, 200);
  const sql = 'CREATE STREAM clock () WITH (TYPE="simulator", CONF_KEY="fast")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  answer = () => {};
  await makeRule('asking', "SELECT price('get', '/x') AS p FROM clock");
  await makeRule('neighbour', 'SELECT v FROM clock');
  await eventually('the trouble', async () => /service shop\.price at .* is down/.test(await troubleOf('asking')));
  assert.match(await troubleOf('asking'), /it is asked again every 50 ms: no answer within 50 ms/);
  assert.not.match(await troubleOf('neighbour'), /down/);
  // Rows are errors at once: they do not wait.
  const before = (await status('asking')).source_clock_0_records_in_total as number;
  await eventually('more rows', async () => (await status('asking')).source_clock_0_records_in_total > before + 200);
  assert.match(JSON.stringify(await status('asking')), /function price: service shop\.price at .* is down/);
  const seen = asked;
  await eventually('a call that tries it', () => asked > seen);
  const ofNeighbour = (await status('neighbour')).sink_nop_0_0_records_out_total as number;
  await eventually('rows of the neighbour', async () => {
    return (await status('neighbour')).sink_nop_0_0_records_out_total > ofNeighbour;
  });
  answer = fine;
  // Errors of rows are told for some more time.
  await eventually('the end of it', async () => !(await troubleOf('asking')).includes('it is asked again'));
  const good = (await status('asking')).sink_nop_0_0_records_out_total as number;
  await eventually('results', async () => (await status('asking')).sink_nop_0_0_records_out_total > good + 10);
  for (const id of ['asking', 'neighbour']) await server.request('DELETE', `/rules/${id}`);
});

test('a rule whose service hangs ends at once', async () => {
  const one = { address: `http://127.0.0.1:${port}`, protocol: 'rest', schemaless: true };
  await installService(server, 'slow', { interfaces: { forever: { ...one, options: { timeout: '60s' } } } });
  answer = () => {};
  const before = asked;
  await makeRule('stuck', "SELECT forever('get', '/y') AS p FROM clock");
  await eventually('a call', () => asked > before);
  assert.is((await server.request('DELETE', '/rules/stuck')).status, 200);
  assert.is((await server.request('DELETE', '/services/slow')).status, 200);
});

test.run();
