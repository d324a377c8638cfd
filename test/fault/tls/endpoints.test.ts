/** TLS of the data server: endpoints of websockets, events and pushed data, as clients see them. */
import { writeFileSync } from 'node:fs';
import { get, request } from 'node:https';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import { type Certified, makeAuthority } from '../../support/certificates.js';
import { eventually, freePort, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';

type Row = Record<string, unknown>;

const [plant, next, stranger] = ['plant', 'next', 'stranger'].map((name) => makeAuthority(name));
const folder = temporaryFolder();
const files = { certfile: join(folder, 'data.crt'), keyfile: join(folder, 'data.key') };
const untrusted = /self-signed|unable to (get|verify)/;

let server: TestServer;
let port: number;
/** Rows that came by the sources. */
let arrived: WebSocket;
const rows: Row[] = [];

test.before(async () => {
  port = await freePort();
  lay(plant!.server());
  server = await startServer({
    env: {
      KUIPER__SOURCE__HTTPSERVERPORT: String(port),
      KUIPER__SOURCE__HTTPSERVERTLS__CERTFILE: files.certfile,
      KUIPER__SOURCE__HTTPSERVERTLS__KEYFILE: files.keyfile,
    },
  });
  for (const type of ['websocket', 'httppush']) {
    const options = `DATASOURCE="/${type}", TYPE="${type}", FORMAT="json"`;
    await accepted('POST', '/streams', { sql: `CREATE STREAM ${type}s () WITH (${options})` });
    const sinks = [{ websocket: { path: '/rows', sendSingle: true } }, { sse: { endpoint: '/events' } }];
    await accepted('POST', '/rules', { id: type, sql: `SELECT * FROM ${type}s`, actions: sinks });
    await eventually(`the endpoints of ${type}`, async () => {
      const { json } = await server.request('GET', `/rules/${type}/status`);
      const states = Object.entries(json).filter(([name]) => name.endsWith('connection_status'));
      return states.length === 3 && states.every(([, state]) => state === 1);
    });
  }
  arrived = await opened('/rows', plant!.cert);
  arrived.on('message', (text) => rows.push(JSON.parse(String(text)) as Row));
});
test.after(async () => {
  arrived.terminate();
  await server.stop();
});

async function accepted(method: string, path: string, body: unknown): Promise<void> {
  const { status, text } = await server.request(method, path, body);
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
}

/** The certificate that the server has from now on; both files come one after the other. */
function lay({ cert, key }: Certified): void {
  writeFileSync(files.certfile, cert);
  writeFileSync(files.keyfile, key);
}

/** A websocket of a client that trusts the certificate, or those that all trust. */
function opened(path: string, ca: string | undefined): Promise<WebSocket> {
  const socket = new WebSocket(`wss://127.0.0.1:${port}${path}`, { ca });
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.once('open', () => resolve(socket));
  });
}

/** The first bytes of an event stream. */
function events(ca: string | undefined, came: (text: string) => void): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const asked = get(`https://127.0.0.1:${port}/events`, { ca }, (response) => {
      response.setEncoding('utf8').on('data', came);
      response.on('error', () => {});
      resolve(() => asked.destroy());
    });
    asked.once('error', reject);
  });
}

function push(ca: string | undefined, row: Row): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(`https://127.0.0.1:${port}/httppush`, { ca, method: 'POST', agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.once('error', reject);
    sent.end(JSON.stringify(row));
  });
}

const has = (row: Row) =>
  eventually(`the row ${JSON.stringify(row)}`, () => rows.some(({ id }) => id === row.id) || undefined);

const reasonOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'let in',
    (error: Error) => error.message,
  );

test('clients that trust the certificate send and get rows', async () => {
  let text = '';
  const end = await events(plant!.cert, (more) => {
    text += more;
  });
  const socket = await opened('/websocket', plant!.cert);
  socket.send('{"id":1}');
  await has({ id: 1 });
  assert.is(await push(plant!.cert, { id: 2 }), 200);
  await has({ id: 2 });
  await eventually('the events', () => text.includes('"id":1') && text.includes('"id":2'));
  end();
  socket.terminate();
});

test('clients that trust another certificate, or none, end the connection; no row gets through', async () => {
  for (const ca of [stranger!.cert, undefined]) {
    assert.match(await reasonOf(opened('/rows', ca)), untrusted);
    assert.match(await reasonOf(opened('/websocket', ca)), untrusted);
    assert.match(await reasonOf(events(ca, () => {})), untrusted);
    assert.match(await reasonOf(push(ca, { id: 3 })), untrusted);
  }
  assert.not.ok(rows.some(({ id }) => id === 3));
});

test('a client without TLS gets no answer, and holds up no other', async () => {
  const plain = createConnection(port, '127.0.0.1');
  let answer = '';
  plain.on('data', (bytes) => {
    answer += bytes.toString('latin1');
  });
  plain.on('error', () => {});
  const closed = new Promise((resolve) => plain.once('close', resolve));
  plain.write('GET /events HTTP/1.1\r\nHost: here\r\n\r\n');
  assert.is(await push(plant!.cert, { id: 4 }), 200);
  await has({ id: 4 });
  await closed;
  assert.not.match(answer, /event-stream|200 OK/);
});

test('a certificate that is replaced is that of the next connection; those that are open stay', async () => {
  writeFileSync(files.certfile, 'half of a certificate');
  assert.is(await push(plant!.cert, { id: 5 }), 200);
  lay(next!.server());
  assert.match(await reasonOf(push(plant!.cert, { id: 6 })), untrusted);
  assert.is(await push(next!.cert, { id: 7 }), 200);
  await has({ id: 7 });
  const socket = await opened('/websocket', next!.cert);
  socket.send('{"id":8}');
  await has({ id: 8 });
  let text = '';
  const end = await events(next!.cert, (more) => {
    text += more;
  });
  await push(next!.cert, { id: 9 });
  await eventually('the event', () => text.includes('"id":9'));
  assert.is(arrived.readyState, WebSocket.OPEN);
  end();
  socket.terminate();
});

test.run();
