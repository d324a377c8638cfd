/** Hostile clients of endpoints: too many of them, messages that never end, and readers of a byte at a time. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request as requestHttp } from 'node:http';
import { connect as connectTcp, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import { eventually, freePort, startServer, type TestServer } from '../../support/harness.js';

const maxClients = 3;
const maxBytes = 32 << 20;
let server: TestServer;
let port: number;

test.before(async () => {
  port = await freePort();
  server = await startServer({
    env: {
      KUIPER__SOURCE__HTTPSERVERPORT: String(port),
      KUIPER__SOURCE__MAXENDPOINTCLIENTS: String(maxClients),
      KUIPER__SOURCE__MAXENDPOINTBYTES: String(maxBytes),
    },
  });
});
test.after(async () => void (await server.stop()));

const status = async (id: string) => (await server.request('GET', `/rules/${id}/status`)).json;

/** A rule from a websocket endpoint `/ID` to the action. */
async function rule(id: string, action: Record<string, object>): Promise<void> {
  const sql = `CREATE STREAM ${id}s () WITH (FORMAT="json", TYPE="websocket", DATASOURCE="/${id}")`;
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  const answer = await server.request('POST', '/rules', { id, sql: `SELECT * FROM ${id}s`, actions: [action] });
  assert.is(answer.status, 201, answer.text);
  await eventually('the source', async () => (await status(id))[`source_${id}s_0_connection_status`] === 1);
}

async function connected(path: string): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`);
  socket.on('error', () => {});
  await once(socket, 'open');
  return socket;
}

/** What a client that is refused hears. */
async function refused(path: string) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`);
  socket.on('error', () => {});
  const [, response] = await once(socket, 'unexpected-response');
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode, text, again: response.headers['retry-after'] };
}

/** The failure in the status of a rule whose source or sink has counted one. */
const failure = (id: string, of: string) =>
  eventually(`a failure of ${of}`, async () => {
    const now = await status(id);
    return now[`${of}_exceptions_total`] > 0 ? String(now[`${of}_last_exception`]) : undefined;
  });

test('more clients than an endpoint may have are refused, counted and named, until one leaves', async () => {
  await rule('many', { nop: {} });
  const clients = [];
  for (let n = 0; n < maxClients; n++) clients.push(await connected('/many'));
  const text = '/many has 3 clients already (source.maxEndpointClients)\n';
  assert.equal(await refused('/many'), { status: 503, text, again: '1' });
  assert.match(await failure('many', 'source_manys_0'), /a client was refused: \/many has 3 clients already/);
  const log = () => readFileSync(join(server.data, 'log', 'stream.log'), 'utf8');
  await eventually('a line of the log', () => log().includes('endpoint /many: a client was refused'));
  clients[0]!.close();
  await once(clients[0]!, 'close');
  const next = await eventually('a place', async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/many`);
    socket.on('error', () => {});
    await Promise.race([once(socket, 'open'), once(socket, 'unexpected-response')]);
    return socket.readyState === WebSocket.OPEN ? socket : undefined;
  });
  for (const socket of [...clients, next]) socket.terminate();
});

/** Opens an event stream; resolves with the request and the status of its answer. */
async function listen(path: string) {
  const asked = requestHttp({ port, path, host: '127.0.0.1' });
  asked.on('error', () => {});
  asked.end();
  const [response] = await once(asked, 'response');
  response.on('error', () => {}).resume();
  return { status: response.statusCode as number, leave: () => asked.destroy() };
}

test('more listeners than an event stream may have are refused, counted and named', async () => {
  await rule('heard', { sse: { endpoint: '/events' } });
  const listeners = [];
  for (let n = 0; n < maxClients; n++) listeners.push(await listen('/events'));
  assert.equal(
    listeners.map((one) => one.status),
    [200, 200, 200],
  );
  assert.is((await listen('/events')).status, 503);
  assert.match(await failure('heard', 'sink_sse_0_0'), /a client was refused: \/events has 3 clients already/);
  for (const { leave } of listeners) leave();
});

test('incomplete messages of all clients have a bound: who began first is disconnected', async () => {
  await rule('begun', { websocket: { path: '/ended', sendSingle: true } });
  const heard = await connected('/ended');
  const [first, second, third] = [await connected('/begun'), await connected('/begun'), await connected('/begun')];
  const text = 'x'.repeat(15_000_000);
  for (const socket of [first, second]) {
    // It is complete before the large one of the same client begins.
    socket.send('{"small":1}');
    await new Promise((resolve) => socket.send(`{"text":"${text}`, { fin: false }, resolve));
    // An answer between the pieces says that the others are there.
    socket.ping();
    await once(socket, 'pong');
  }
  const closed = once(first, 'close');
  const arrived = new Promise<string>((resolve) => {
    heard.on('message', (message) => String(message).length > 1000 && resolve(String(message)));
  });
  third.send(`{"third":"${text}`, { fin: false });
  third.send('"}', { fin: true });
  assert.is((await closed)[0], 1013);
  assert.is((await arrived).slice(0, 10), '{"third":"');
  const reason = await failure('begun', 'source_beguns_0');
  assert.is(
    reason,
    'a client was disconnected: incomplete messages of all clients have more than 33554432 bytes ' +
      '(source.maxEndpointBytes)',
  );
  const whole = once(heard, 'message');
  second.send('"}', { fin: true });
  assert.is(String((await whole)[0]).slice(0, 9), '{"text":"');
  for (const socket of [second, third, heard]) socket.terminate();
});

/** Opens a path and reads a byte of it at a time. */
async function dripping(path: string, headers: readonly string[]): Promise<Socket> {
  const socket = connectTcp(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(`${[`GET ${path} HTTP/1.1`, 'Host: h', ...headers].join('\r\n')}\r\n\r\n`);
  await once(socket, 'readable');
  const timer = setInterval(() => socket.read(1), 1);
  socket.on('close', () => clearInterval(timer));
  return socket;
}

function memoryMb(): number {
  const line = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.child.pid}/status`, 'utf8'));
  return Number(line?.[1]) / 1024;
}

const upgrade = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
];

for (const [type, props, headers] of [
  ['websocket', { path: '/drips' }, upgrade],
  ['sse', { endpoint: '/dripse' }, []],
] as const) {
  test(`a reader of a byte at a time holds neither the others of a ${type} endpoint nor memory`, async () => {
    const id = `drip${type}`;
    await rule(id, { [type]: { ...props, sendSingle: true } });
    const path = Object.values(props)[0]!;
    const drip = await dripping(path, headers);
    let heard = 0;
    const reader = connectTcp(port, '127.0.0.1');
    reader.write(`${[`GET ${path} HTTP/1.1`, 'Host: h', ...headers].join('\r\n')}\r\n\r\n`);
    await once(reader, 'data');
    let tail = '';
    reader.on('data', (bytes) => {
      const text = tail + bytes.toString('latin1');
      heard += text.match(/"last":true/g)?.length ?? 0;
      tail = heard > 0 ? '' : text.slice(-20);
    });
    const sender = await connected(`/${id}`);
    const before = memoryMb();
    const text = 'x'.repeat(200_000);
    for (let n = 0; n < 300; n++) sender.send(JSON.stringify({ n, text }));
    sender.send('{"last":true}');
    await eventually('the last message at the other reader', () => heard > 0);
    assert.match(
      await failure(id, `sink_${type}_0_0`),
      /a client of \/drips?e? did not keep up and lost the connection/,
    );
    // 60 MB were sent; what waits in kernels and queues on the way is far below them.
    assert.ok(memoryMb() - before < 300, `${memoryMb() - before} MB more are used`);
    for (const one of [drip, reader]) one.destroy();
    sender.terminate();
  });
}

test.run();
