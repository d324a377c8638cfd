/** What web pages in the browser of a user may do with a server that the user's machine reaches. */
import { request as requestHttp } from 'node:http';
import { connect } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort, startServer, type TestServer } from '../../support/harness.js';

const listed = 'https://ui.example:8443';
let server: TestServer;
let dataPort: number;

test.before(async () => {
  dataPort = await freePort();
  server = await startServer({
    env: {
      KUIPER__SOURCE__HTTPSERVERPORT: String(dataPort),
      KUIPER__BASIC__CORSORIGINS: listed,
      KUIPER__BASIC__ALLOWEDHOSTS: 'plant.example,*.lan.example',
    },
  });
  const sql = 'CREATE STREAM s (a BIGINT) WITH (TYPE="httppush", DATASOURCE="/in")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  // The data server listens from its first user on.
  await server.request('POST', '/ruletest', { id: 't', sql: 'SELECT a FROM s' });
});
test.after(async () => void (await server.stop()));

interface Asked {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Sends a request with headers that `fetch` doesn't let programs set. */
function ask(method: string, path: string, headers: Record<string, string> = {}, body?: string): Promise<Asked> {
  const port = path.startsWith('/test/') ? dataPort : Number(new URL(server.base).port);
  return new Promise((resolve, reject) => {
    const asked = requestHttp({ host: '127.0.0.1', port, method, path, headers, agent: false }, (answer) => {
      const done = (text: string) => resolve({ status: answer.statusCode ?? 0, text, headers: answer.headers });
      // An event stream goes on: its head says enough.
      if (answer.headers['content-type'] === 'text/event-stream') {
        asked.destroy();
        return done('');
      }
      let text = '';
      answer.on('data', (chunk) => (text += chunk));
      answer.on('end', () => done(text));
      answer.on('error', reject);
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

const own = () => new URL(server.base).host;
const places = ['/streams', '/test/t'];

test('pages of other origins are refused, whatever they send', async () => {
  for (const path of places) {
    for (const origin of ['http://evil.example', 'null', 'http://127.0.0.1', 'http://127.0.0.1:1', `${listed}0`]) {
      const answer = await ask('GET', path, { origin });
      assert.is(answer.status, 403, `${path} ${origin}`);
      assert.match(JSON.parse(answer.text).message, 'basic.corsOrigins');
      assert.is(answer.headers['access-control-allow-origin'], undefined);
    }
  }
  const sql = JSON.stringify({ sql: 'CREATE STREAM evil () WITH (TYPE="memory", DATASOURCE="t")' });
  const plain = { origin: 'http://evil.example', 'content-type': 'text/plain' };
  assert.is((await ask('POST', '/streams', plain, sql)).status, 403);
  assert.is((await ask('POST', '/stop', plain)).status, 403);
  assert.equal((await server.request('GET', '/streams')).json, ['s']);
});

test('requests without an origin are refused when a browser says that another site made them', async () => {
  for (const path of [...places, '/stop']) {
    assert.is((await ask('GET', path, { 'sec-fetch-site': 'cross-site' })).status, 403, path);
    assert.is((await ask('GET', path, { referer: 'http://evil.example/page' })).status, 403, path);
  }
  // An image of a page that hides where it comes from, at an address of which the browser says nothing.
  assert.is((await ask('GET', '/stop', { 'user-agent': 'Mozilla/5.0' })).status, 403);
  assert.is((await ask('GET', '/streams', { 'user-agent': 'Mozilla/5.0', 'sec-fetch-site': 'none' })).status, 200);
});

/** Sends the first line of a request as it stands; returns the status of the answer. */
function askRaw(line: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(server.base).port), '127.0.0.1');
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk) => (text += chunk));
    socket.on('end', () => resolve(Number(text.split(' ')[1])));
    socket.on('error', reject);
    socket.write(`${line} HTTP/1.1\r\nHost: ${own()}\r\nUser-Agent: Mozilla/5.0\r\nConnection: close\r\n\r\n`);
  });
}

test('no form of a request for the stop is an order that a page could give', async () => {
  const browser = { 'user-agent': 'Mozilla/5.0' };
  assert.is((await ask('HEAD', '/stop', browser)).status, 405);
  assert.is((await ask('HEAD', '/stop')).status, 405);
  assert.is((await ask('HEAD', '/ping', browser)).status, 200);
  for (const target of ['/stop', '/stop#', '/stop?', '/stop#/ping', `http://${own()}/stop`, `HTTP://${own()}/stop?x`]) {
    assert.is(await askRaw(`GET ${target}`), 403, target);
    assert.is(await askRaw(`HEAD ${target}`), 405, target);
  }
  const head = await server.request('POST', '/batch/req', [{ method: 'HEAD', path: '/stop' }]);
  assert.not.match(head.text, 'stop success');
  assert.is((await ask('GET', '/ping')).status, 200);
});

test('an origin is one of the web, as browsers write it', async () => {
  const host = own();
  for (const origin of [`ftp://${host}`, `blob:http://${host}/x`, `http://evil.example@${host}`, `ws://${host}`]) {
    for (const path of places) {
      const to = path.startsWith('/test/') ? origin.replace(host, `127.0.0.1:${dataPort}`) : origin;
      assert.is((await ask('GET', path, { origin: to })).status, 403, to);
      assert.is((await ask('GET', path, { referer: to })).status, 403, to);
    }
  }
});

test('the server answers to its addresses and plain names, and to configured ones', async () => {
  for (const host of [
    '127.0.0.1',
    '[::1]:9081',
    'localhost:1',
    'a.localhost',
    'haumea:9081',
    'plant.example',
    'x.LAN.example',
  ]) {
    for (const path of places) assert.is((await ask('GET', path, { host })).status, 200, host);
  }
  for (const host of [
    'evil.example',
    'evil.example:9081',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'a.',
    'a b',
  ]) {
    for (const path of places) assert.is((await ask('GET', path, { host })).status, 403, `host ${host}`);
  }
  // A name that a page has given the address of the server.
  const rebound = await ask('GET', '/streams', { host: 'evil.example:9081', origin: 'http://evil.example:9081' });
  assert.is(rebound.status, 403);
  assert.match(rebound.text, 'basic.allowedHosts');
});

test('the own origin and configured ones may ask and read', async () => {
  for (const origin of [`http://${own()}`, listed]) {
    const answer = await ask('GET', '/streams', { origin, 'sec-fetch-site': 'cross-site' });
    assert.is(answer.status, 200);
    assert.is(answer.headers['access-control-allow-origin'], origin);
    assert.is(answer.headers.vary, 'Origin');
  }
  const events = await ask('GET', '/test/t', { origin: listed });
  assert.equal([events.status, events.headers['access-control-allow-origin']], [200, listed]);
});

test('preflights: which methods and headers pages may send', async () => {
  const preflight = (path: string, origin: string, method: string, headers = '') =>
    ask('OPTIONS', path, {
      origin,
      'access-control-request-method': method,
      ...(headers === '' ? {} : { 'access-control-request-headers': headers }),
    });
  for (const path of places) {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']) {
      const { status, headers } = await preflight(path, listed, method, 'Content-Type, Authorization');
      assert.is(status, 200, method);
      assert.is(headers['access-control-allow-origin'], listed);
      assert.match(String(headers['access-control-allow-methods']), method);
      assert.is(headers['access-control-allow-headers'], 'content-type, authorization');
    }
    assert.is((await preflight(path, listed, 'TRACE')).status, 405);
    assert.is((await preflight(path, listed, 'POST', 'x-other')).status, 403);
    const foreign = await preflight(path, 'http://evil.example', 'POST');
    assert.equal([foreign.status, foreign.headers['access-control-allow-methods']], [403, undefined]);
  }
});

test('programs that are no browsers send what they like', async () => {
  const sql = JSON.stringify({ sql: 'CREATE STREAM mine () WITH (TYPE="memory", DATASOURCE="t")' });
  assert.is((await ask('POST', '/streams', { 'content-type': 'text/plain' }, sql)).status, 201);
});

test('with authentication foreign pages get what their token allows, but may not read it', async () => {
  const guarded = await startServer({ env: { KUIPER__BASIC__AUTHENTICATION: 'true' } });
  const origin = 'http://evil.example';
  const answer = await guarded.request('GET', '/ping', undefined, { origin });
  assert.is(answer.status, 200);
  assert.is(answer.headers.get('access-control-allow-origin'), null);
  assert.is((await guarded.request('GET', '/rules', undefined, { origin })).status, 401);
  await guarded.stop();
});

test.run();
