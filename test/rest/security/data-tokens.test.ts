/** The data server asks for a token where REST does. */
import { createSign, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import { ManualClock } from '../../../host/base/time/clock.js';
import { TicketService } from '../../../host/rest/guard/tickets.js';
import { eventually, freePort, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const authorization = tokenOf({ iss: 'client.pub', aud: ['eKuiper'] });

function tokenOf(claims: Record<string, unknown>): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg: 'RS256', typ: 'JWT' })}.${part(claims)}`;
  return `${text}.${createSign('RSA-SHA256').update(text).sign(privateKey, 'base64url')}`;
}

async function start(env: Record<string, string> = {}): Promise<{ server: TestServer; url: string }> {
  const data = temporaryFolder();
  mkdirSync(join(data, 'etc/mgmt'), { recursive: true });
  writeFileSync(join(data, 'etc/mgmt/client.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
  const port = await freePort();
  const server = await startServer({
    data,
    args: ['--etc', join(data, 'etc')],
    env: { KUIPER__BASIC__AUTHENTICATION: 'true', KUIPER__SOURCE__HTTPSERVERPORT: String(port), ...env },
  });
  const send = (path: string, body: object) => server.request('POST', path, body, { authorization });
  const sql = 'CREATE STREAM s (a BIGINT) WITH (TYPE="httppush", DATASOURCE="/in")';
  assert.is((await send('/streams', { sql })).status, 201);
  assert.is((await send('/rules', { id: 'r', sql: 'SELECT a FROM s', actions: [{ nop: {} }] })).status, 201);
  assert.is((await send('/ruletest', { id: 't', sql: 'SELECT a FROM s' })).status, 200);
  await eventually('the path of pushed data', async () => {
    const { json } = await server.request('GET', '/rules/r/status', undefined, { authorization });
    return json.source_s_0_connection_status === 1 || undefined;
  });
  return { server, url: `http://127.0.0.1:${port}` };
}

/** Status of a request; an event stream is left at once. */
async function status(url: string, init: RequestInit = {}): Promise<number> {
  const abort = new AbortController();
  const answer = await fetch(url, { ...init, signal: abort.signal });
  abort.abort();
  return answer.status;
}

test('event streams and pushed data ask for a token, or a ticket that is good once', async () => {
  const { server, url } = await start();
  const push = (headers: Record<string, string>, path = '/in') =>
    status(url + path, { method: 'POST', body: '{"a":1}', headers });
  const wrong = tokenOf({ iss: 'client.pub', aud: ['eKuiper'], exp: 1 });
  for (const path of ['/test/t', '/test/none', '/', '/ping']) assert.is(await status(url + path), 401, path);
  assert.is(await status(`${url}/test/t`, { headers: { authorization: wrong } }), 401);
  assert.is(await status(`${url}/test/t`, { headers: { authorization } }), 200);
  assert.is(await status(`${url}/test/none`, { headers: { authorization } }), 404);
  assert.is(await push({}), 401);
  assert.is(await push({ authorization: wrong }), 401);
  assert.is(await push({ authorization }), 200);
  assert.is(await push({ authorization: `Bearer ${authorization}` }), 200);

  assert.is((await server.request('POST', '/tickets')).status, 401);
  const ticket = async () => {
    const made = await server.request('POST', '/tickets', undefined, { authorization });
    assert.is(made.status, 201);
    assert.is(made.json.expiresIn, 30);
    return made.json.ticket as string;
  };
  const once = await ticket();
  assert.is(await push({}, `/in?ticket=${await ticket()}`), 401, 'a ticket is for reading');
  assert.is(await status(`${url}/test/t?ticket=${once}`), 200);
  assert.is(await status(`${url}/test/t?ticket=${once}`), 401, 'used');
  assert.is(await status(`${url}/test/t?ticket=`), 401);
  assert.is(await status(`${url}/test/t?ticket=x`), 401);
  await server.stop();
});

test('pushed data may be left open, event streams are not', async () => {
  const { server, url } = await start({ KUIPER__SOURCE__OPENPUSH: 'true' });
  assert.is(await status(`${url}/in`, { method: 'POST', body: '{"a":1}' }), 200);
  assert.is(await status(`${url}/test/t`), 401);
  await server.stop();
});

/** Status with which a websocket is refused; 101 when it is opened. */
function upgraded(url: string, headers: Record<string, string> = {}): Promise<number | undefined> {
  const socket = new WebSocket(url.replace('http', 'ws'), { headers });
  return new Promise((resolve) => {
    socket.on('error', () => {});
    socket.on('unexpected-response', (_request, response) => resolve(response.statusCode));
    socket.on('open', () => {
      socket.terminate();
      resolve(101);
    });
  });
}

for (const isOpen of [false, true]) {
  test(`websockets ask for a token${isOpen ? ' where results are sent, not where data is pushed' : ''}`, async () => {
    const { server, url } = await start({ KUIPER__SOURCE__OPENPUSH: String(isOpen) });
    const send = (path: string, body: object) => server.request('POST', path, body, { authorization });
    const sql = 'CREATE STREAM w (a BIGINT) WITH (TYPE="websocket", DATASOURCE="/sent")';
    assert.is((await send('/streams', { sql })).status, 201);
    const actions = [{ websocket: { path: '/results' } }, { sse: { endpoint: '/events' } }];
    assert.is((await send('/rules', { id: 'w', sql: 'SELECT a FROM w', actions })).status, 201);
    await eventually('the endpoints', async () => {
      const { json } = await server.request('GET', '/rules/w/status', undefined, { authorization });
      return ['source_w_0', 'sink_websocket_0_0', 'sink_sse_1_0'].every(
        (name) => json[`${name}_connection_status`] === 1,
      );
    });
    assert.is(await upgraded(`${url}/sent`), isOpen ? 101 : 401);
    assert.is(await upgraded(`${url}/results`), 401);
    assert.is(await upgraded(`${url}/none`), 401);
    assert.is(await status(`${url}/events`), 401);
    assert.is(await upgraded(`${url}/results`, { authorization }), 101);
    assert.is(await status(`${url}/events`, { headers: { authorization } }), 200);
    const { ticket } = (await server.request('POST', '/tickets', undefined, { authorization })).json;
    assert.is(await upgraded(`${url}/results?ticket=${ticket}`), 101);
    assert.is(await upgraded(`${url}/results?ticket=${ticket}`), 401, 'used');
    await server.stop();
  });
}

test('who came without a token to send gets no results of a rule that sends there later', async () => {
  const { server, url } = await start({ KUIPER__SOURCE__OPENPUSH: 'true' });
  const send = (path: string, body: object) => server.request('POST', path, body, { authorization });
  const connected = (rule: string, part: string) =>
    eventually(`${part} of ${rule}`, async () => {
      const { json } = await server.request('GET', `/rules/${rule}/status`, undefined, { authorization });
      return json[`${part}_connection_status`] === 1;
    });
  await send('/streams', { sql: 'CREATE STREAM d () WITH (TYPE="websocket", DATASOURCE="/both", FORMAT="json")' });
  await send('/rules', { id: 'd', sql: 'SELECT * FROM d', actions: [{ nop: {} }] });
  await connected('d', 'source_d_0');
  const device = new WebSocket(`${url.replace('http', 'ws')}/both`);
  await once(device, 'open');
  const ended = once(device, 'close');
  await send('/rules', { id: 'e', sql: 'SELECT * FROM s', actions: [{ websocket: { path: '/both' } }] });
  await connected('e', 'sink_websocket_0_0');
  assert.is((await ended)[0], 1001);
  assert.is(await upgraded(`${url}/both`), 401);
  assert.is(await upgraded(`${url}/both`, { authorization }), 101);
  await server.stop();
});

test('tickets end after half a minute, and the oldest when there are too many', () => {
  const clock = new ManualClock(1_700_000_000_000);
  const tickets = new TicketService(clock);
  const [early, late] = [tickets.issue().ticket, tickets.issue().ticket];
  clock.advance(29_999);
  assert.ok(tickets.redeem(early));
  clock.advance(1);
  assert.not.ok(tickets.redeem(late));
  const first = tickets.issue().ticket;
  const rest = Array.from({ length: 1000 }, () => tickets.issue().ticket);
  assert.not.ok(tickets.redeem(first));
  assert.ok(rest.every((ticket) => tickets.redeem(ticket)));
});

test.run();
