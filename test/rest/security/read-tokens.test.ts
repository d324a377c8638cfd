/** Tokens that may only read. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import { eventually, freePort, startServer, temporaryFolder } from '../../support/harness.js';

const etc = temporaryFolder();
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
mkdirSync(join(etc, 'mgmt'));
writeFileSync(join(etc, 'mgmt', 'plant'), publicKey.export({ type: 'spki', format: 'pem' }));

async function tokenOf(claims: Record<string, unknown>): Promise<{ authorization: string }> {
  const token = new SignJWT(claims).setProtectedHeader({ alg: 'RS256' }).setIssuer('plant').setAudience('eKuiper');
  return { authorization: await token.sign(privateKey) };
}

const [full, read] = [await tokenOf({}), await tokenOf({ access: 'read' })];
const dataPort = await freePort();
const server = await startServer({
  args: ['--etc', etc],
  env: { KUIPER__BASIC__AUTHENTICATION: 'true', KUIPER__SOURCE__HTTPSERVERPORT: String(dataPort) },
});
test.after(async () => void (await server.stop()));

const rule = {
  id: 'r',
  sql: 'SELECT a FROM s',
  actions: [{ mqtt: { server: 'tcp://127.0.0.1:1', topic: 'x', password: 'p' } }],
};
await server.request(
  'POST',
  '/streams',
  { sql: 'CREATE STREAM s (a BIGINT) WITH (TYPE="httppush", DATASOURCE="/in")' },
  full,
);
await server.request('POST', '/rules', rule, full);

/** Requests that read, although they are no GET. */
const reading = [
  'POST /',
  'POST /rules/validate',
  'POST /tickets',
  'POST /batch/req',
  'POST /data/export',
  'POST /ruleset/export',
];

test('all that may change something is refused, all that reads is answered', async () => {
  const { paths } = (await server.request('GET', '/openapi.json', undefined, read)).json;
  const before = (await server.request('GET', '/data/export', undefined, full)).text;
  let refused = 0;
  for (const [path, operations] of Object.entries<Record<string, unknown>>(paths)) {
    for (const method of Object.keys(operations).map((one) => one.toUpperCase())) {
      const op = `${method} ${path}`;
      if (op === 'GET /ruletest/{id}/events') continue;
      const target = path.replace(/\{\w+\}/g, 'r');
      const isOmitting = path.endsWith('/export') ? '?secrets=omit' : '';
      const { status, text } = await server.request(
        method,
        target + isOmitting,
        method === 'GET' ? undefined : {},
        read,
      );
      const isReading = (method === 'GET' && path !== '/stop') || reading.includes(op);
      assert.is(status === 403, !isReading, `${op}: ${status} ${text}`);
      if (isReading) continue;
      assert.match(JSON.parse(text).message, /^the token may only read, .* may change something$/);
      refused++;
    }
  }
  assert.ok(refused > 50, `${refused}`);
  assert.is((await server.request('GET', '/data/export', undefined, full)).text, before);
});

test('a rule is checked, and an update of it is tried, without a change', async () => {
  const put = (query: string, token: Record<string, string>) => server.request('PUT', `/rules/r${query}`, rule, token);
  assert.is((await put('?dryRun=true', read)).status, 200);
  assert.is((await put('', read)).status, 403);
  assert.is((await put('?dryRun=false', read)).status, 403);
  assert.is((await server.request('POST', '/rules/validate', rule, read)).json.valid, true);
});

test('parts of a batch are refused each by itself', async () => {
  const parts = [
    { method: 'GET', path: '/rules/r' },
    { method: 'DELETE', path: '/rules/r' },
  ];
  const { json } = await server.request('POST', '/batch/req', parts, read);
  assert.equal(
    json.map(({ code }: { code: number }) => code),
    [200, 403],
  );
  assert.is((await server.request('GET', '/rules/r', undefined, full)).status, 200);
});

test('exports are given without passwords alone', async () => {
  for (const path of ['/data/export', '/v2/data/export']) {
    const { status, json } = await server.request('GET', path, undefined, read);
    assert.is(status, 403);
    assert.match(json.message, 'gets exports without passwords and keys: secrets=omit');
    const omitted = await server.request('GET', `${path}?secrets=omit`, undefined, read);
    assert.is(omitted.status, 200);
    assert.match(omitted.text, '******');
  }
  assert.is((await server.request('POST', '/ruleset/export', {}, read)).status, 403);
});

test('nothing is sent with such a token, neither by HTTP nor by a websocket', async () => {
  await eventually('the path of pushed data', async () => {
    const { json } = await server.request('GET', '/rules/r/status', undefined, full);
    return json.source_s_0_connection_status === 1 || undefined;
  });
  const url = `http://127.0.0.1:${dataPort}/in`;
  const push = (headers: Record<string, string>) => fetch(url, { method: 'POST', body: '{"a":1}', headers });
  const refused = await push(read);
  assert.is(refused.status, 403);
  assert.is(await refused.text(), 'the token may only read: events can be got, nothing can be sent');
  assert.is((await push(full)).status, 200);
  const upgraded = (query: string, headers: Record<string, string>) =>
    new Promise<number | undefined>((resolve) => {
      const socket = new WebSocket(url.replace('http', 'ws') + query, { headers });
      socket.on('error', () => {});
      socket.on('unexpected-response', (_request, response) => resolve(response.statusCode));
    });
  assert.is(await upgraded('', read), 403);
  const { ticket } = (await server.request('POST', '/tickets', undefined, read)).json;
  assert.is(await upgraded(`?ticket=${ticket}`, {}), 403, 'a ticket is no better than its token');
});

test('tokens without the claim may change things, tokens with an unknown one do nothing', async () => {
  const path = '/rules/r/restart';
  assert.is((await server.request('POST', path, undefined, full)).status, 200);
  assert.is((await server.request('POST', path, undefined, await tokenOf({ access: 'full' }))).status, 200);
  for (const access of ['Read', 'write', true, null, ['read']]) {
    const { status, text } = await server.request('GET', '/rules', undefined, await tokenOf({ access }));
    assert.is(status, 401, String(access));
    assert.match(text, 'access must be "read" or "full"');
  }
});

test.run();
