/** Addresses that come with data lead to no private ones, and no request gets the credentials of a cloud. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';

const asked: string[] = [];
/** Where a request to /away is sent on to. */
let away = '';
const inside = createServer((request, response) => {
  asked.push(String(request.url));
  const headers = request.url?.startsWith('/away') ? { location: away } : {};
  response
    .writeHead('location' in headers ? 302 : 200, { 'content-type': 'application/json', ...headers })
    .end('{"a":1}');
});
await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve));
const { port } = inside.address() as AddressInfo;
const here = `http://127.0.0.1:${port}`;
away = `http://localhost:${port}/secret`;

const guarded = await startServer();
const open = await startServer({ env: { KUIPER__BASIC__ENABLEPRIVATENET: 'true' } });
test.after(async () => {
  inside.close();
  await guarded.stop();
  await open.stop();
});
for (const { request } of [guarded, open]) {
  const data = JSON.stringify({ data: [{ u: here, p: 'of-row', e: '' }], interval: '50ms', loop: true });
  const sql = `CREATE STREAM rows () WITH (TYPE="simulator", FORMAT="json", EXTRA='${data}')`;
  const made = await request('POST', '/streams', { sql });
  assert.is(made.status, 201, made.text);
}

let rules = 0;

/** Runs a rule until its status has a text that fits. */
async function seen(server: TestServer, action: object, wanted: RegExp, sql = 'SELECT * FROM rows'): Promise<void> {
  const id = `r${rules++}`;
  const made = await server.request('POST', '/rules', { id, sql, actions: [action] });
  assert.is(made.status, 201, made.text);
  let status = '';
  try {
    await eventually(`${wanted} in the status`, async () => {
      status = (await server.request('GET', `/rules/${id}/status`)).text;
      return wanted.test(status);
    });
  } catch (error) {
    throw new Error(`${(error as Error).message}: ${status}`);
  }
  await server.request('DELETE', `/rules/${id}`);
}

test('a row chooses the path of a request but no private server', async () => {
  await seen(guarded, { rest: { sendSingle: true, url: `${here}/{{.p}}` } }, /"sink_rest_0_0_records_out_total":[1-9]/);
  assert.ok(asked.includes('/of-row'));
  asked.length = 0;
  const refused = /127\.0\.0\.1 is a loopback address; basic\.enablePrivateNet allows such targets/;
  await seen(guarded, { rest: { sendSingle: true, url: '{{.u}}/chosen' } }, refused);
  await seen(guarded, { rest: { sendSingle: true, url: `http://127.0.0.1{{.e}}:${port}/chosen` } }, refused);
  assert.equal(asked, []);
  await seen(open, { rest: { sendSingle: true, url: '{{.u}}/chosen' } }, /"sink_rest_0_0_records_out_total":[1-9]/);
  assert.ok(asked.includes('/chosen'));
});

test('a redirect to another host leads to no private one', async () => {
  const extra = JSON.stringify({ url: here, method: 'get', interval: 50 });
  const sql = (name: string) => `CREATE STREAM ${name} () WITH (TYPE="httppull", DATASOURCE="away", EXTRA='${extra}')`;
  for (const { request } of [guarded, open]) await request('POST', '/streams', { sql: sql('pulled') });
  asked.length = 0;
  await seen(guarded, { nop: {} }, /localhost \((127\.0\.0\.1|::1)\) is a loopback address/, 'SELECT * FROM pulled');
  assert.not.ok(asked.includes('/secret'));
  await seen(open, { nop: {} }, /"source_pulled_0_records_out_total":[1-9]/, 'SELECT * FROM pulled');
});

test('the credentials of a cloud are nobody’s', async () => {
  const metadata = /169\.254\.169\.254 is a metadata address/;
  const url = 'http://169.254.169.254/latest/meta-data';
  await seen(guarded, { rest: { url } }, metadata);
  const path = `${temporaryFolder()}/out`;
  const hook = { rollingHook: 'http', rollingHookProps: { url }, rollingCount: 1 };
  await seen(guarded, { file: { path, fileType: 'lines', ...hook } }, metadata);
  await guarded.request('POST', '/schemas/avro', { name: 'x', content: '{"type":"record","name":"X","fields":[]}' });
  const registry = { schemaRegistry: 'confluent', schemaRegistryUrl: url, schemaSubject: 's', schemaId: 'x' };
  await seen(guarded, { rest: { url: here, format: 'avro', ...registry } }, metadata);
});

test.run();
