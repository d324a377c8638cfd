/** Slow and hostile clients: heads, bodies and answers that never end, too many connections, what is no HTTP. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { closeHttp, createHttpServer, type HttpLimits, listen } from '../../../host/base/net/http-server.js';
import { EventStream } from '../../../host/rest/data/event-stream.js';
import { maxBodyBytes, maxHeldBytes, readBody, TooManyBodies } from '../../../host/rest/route/body.js';
import { eventually, within } from '../../support/harness.js';
import { startControlPlane } from '../../support/rest/control-plane.js';

const fast: Partial<HttpLimits> = { headMs: 200, requestMs: 400, answerMs: 600, checkMs: 50 };

/** Everything a raw connection gets until it ends. */
function talk(url: string, ...sent: string[]): { socket: Socket; all: Promise<string> } {
  const { port, hostname } = new URL(url);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.on('data', (chunk) => (text += chunk));
  socket.on('error', () => undefined);
  // `once` of the events module would reject when the other side resets the connection.
  const closed = new Promise((resolve) => socket.once('close', resolve));
  for (const part of sent) socket.write(part);
  const all = within(
    20_000,
    'the end of a connection',
    closed.then(() => text),
  );
  // Who does not ask for it does not care how long it stays open.
  all.catch(() => undefined);
  return { socket, all };
}

const head = (method: string, path: string, ...more: string[]) =>
  `${[`${method} ${path} HTTP/1.1`, 'Host: localhost', ...more].join('\r\n')}\r\n\r\n`;

test('a head that does not end is cut off and answered with 408', async () => {
  const server = await startControlPlane(undefined, {}, { limits: fast });
  const slow = talk(server.base, 'GET /ping HTTP/1.1\r\nX-A: b\r\n');
  const drip = setInterval(() => slow.socket.write('X-B: c\r\n'), 30);
  const text = await slow.all;
  clearInterval(drip);
  assert.match(text, /^HTTP\/1\.1 408 /);
  assert.match(text, /\{"error":1000,"message":"the request was not complete in time"\}/);
  await server.close();
});

test('a body that does not end is cut off, and nothing changes', async () => {
  const server = await startControlPlane(undefined, {}, { limits: fast });
  const body = '{"sql":"CREATE STREAM s () WITH (DATASOURCE=\\"t\\", TYPE=\\"memory\\")"';
  const slow = talk(server.base, head('POST', '/streams', 'Content-Length: 1000'), body);
  const drip = setInterval(() => slow.socket.write(' '), 30);
  await slow.all;
  clearInterval(drip);
  assert.equal((await server.request('GET', '/streams')).json, []);
  await server.close();
});

test('a client that does not read its answer is cut off', async () => {
  const http: Server = createHttpServer((_request, response) => response.end(Buffer.alloc(64 << 20)), { limits: fast });
  const url = await listen(http, '127.0.0.1', 0, 'test', 'basic.restPort');
  const slow = talk(url, head('GET', '/'));
  slow.socket.pause();
  const [socket] = (await once(http, 'connection')) as [Socket];
  await within(3000, 'the end of a slow reader', once(socket, 'close'));
  slow.socket.destroy();
  await closeHttp(http, 10);
});

test('requests sent ahead are handled one at a time, in order, and not at all for a client that is gone', async () => {
  let underWay = 0;
  const handled: string[] = [];
  const http = createHttpServer(async (request, response) => {
    assert.is(++underWay, 1);
    handled.push(request.url ?? '');
    await new Promise((resolve) => setTimeout(resolve, 2));
    underWay--;
    response.end(request.url);
  });
  const url = await listen(http, '127.0.0.1', 0, 'test', 'basic.restPort');
  const paths = Array.from({ length: 20 }, (_, i) => `/${i}`);
  const answered = talk(
    url,
    paths.map((path) => head('GET', path)).join('') + head('GET', '/last', 'Connection: close'),
  );
  assert.equal((await answered.all).match(/(?<=\r\n\r\n)\/(last|\d+)/g), [...paths, '/last']);
  assert.equal(handled, [...paths, '/last']);
  handled.length = 0;
  const gone = talk(url, paths.map((path) => head('GET', path)).join(''));
  await once(http, 'request');
  gone.socket.destroy();
  await closeHttp(http, 10);
  assert.ok(handled.length < paths.length, `${handled.length} were handled`);
});

test('answers that nobody reads share a bound: who has waited longest is cut off', async () => {
  // More than the system keeps for a connection.
  const answer = Buffer.alloc(32 << 20);
  const http = createHttpServer((_request, response) => response.end(answer), { limits: { unreadBytes: 80 << 20 } });
  const url = await listen(http, '127.0.0.1', 0, 'test', 'basic.restPort');
  const slow: Socket[] = [];
  for (let i = 0; i < 8; i++) {
    const { socket, all } = talk(url, head('GET', '/'));
    socket.pause();
    slow.push(socket);
    all.catch(() => undefined);
    await once(http, 'request');
  }
  // Paused sockets do not see their end; the server counts.
  const left = () => new Promise<number>((resolve) => http.getConnections((_error, count) => resolve(count)));
  const count = await eventually('the end of some', async () => ((await left()) < 5 ? left() : undefined));
  assert.ok(count >= 2, `${count} are left`);
  const answered = await talk(url, head('GET', '/', 'Connection: close')).all;
  assert.ok(answered.length > answer.length, 'who reads gets the answer');
  for (const socket of slow) socket.destroy();
  await closeHttp(http, 10);
});

test('requests without a host and with unknown expectations have the error envelope', async () => {
  const server = await startControlPlane();
  assert.match(
    await talk(server.base, 'GET /ping HTTP/1.1\r\n\r\n').all,
    /^HTTP\/1\.1 400 [\s\S]*"the header Host is missing"/,
  );
  assert.match(
    await talk(server.base, head('POST', '/streams', 'Expect: wonders', 'Content-Length: 2')).all,
    /^HTTP\/1\.1 417 [\s\S]*"the expectation wonders can't be met"/,
  );
  await server.close();
});

test('an event stream leaves a listener behind that does not read, and goes on for the others', async () => {
  const events = new EventStream({ slowMs: 1000 });
  const http = createHttpServer((_request, response) => events.open(response), { limits: { answerMs: 0 } });
  const url = await listen(http, '127.0.0.1', 0, 'test', 'basic.restPort');
  const slow = talk(url, head('GET', '/'));
  const quick = talk(url, head('GET', '/'));
  let received = 0;
  quick.socket.on('data', (chunk) => (received += chunk.length));
  await eventually('both heads', () => received > 0 && slow.socket.bytesRead > 0);
  slow.socket.pause();
  const payload = 'x'.repeat(1 << 20);
  for (let i = 0; i < 30; i++) await within(20_000, 'an event', events.send([payload]));
  await eventually('all events', () => received > 30 * payload.length);
  assert.is(await new Promise((resolve) => http.getConnections((_error, count) => resolve(count))), 1);
  events.close();
  slow.socket.destroy();
  await closeHttp(http, 10);
});

test('idle connections make room when all are taken', async () => {
  const server = await startControlPlane(undefined, {}, { limits: { connections: 5 } });
  const held = Array.from({ length: 20 }, () => talk(server.base, 'GET /ping HTTP/1.1\r\n'));
  await Promise.all(held.slice(0, 15).map(({ all }) => all));
  assert.is((await server.request('GET', '/ping')).status, 200);
  for (const { socket } of held) socket.destroy();
  await server.close();
});

test('what is no HTTP and a head that is too long have the error envelope', async () => {
  const server = await startControlPlane(undefined, {}, { limits: { headBytes: 2048 } });
  assert.match(
    await talk(server.base, 'hello\r\n\r\n').all,
    /^HTTP\/1\.1 400 [\s\S]*\{"error":1000,"message":"this is no HTTP/,
  );
  const long = talk(server.base, head('GET', '/ping', `X-Long: ${'x'.repeat(4096)}`));
  assert.match(await long.all, /^HTTP\/1\.1 431 [\s\S]*"the head of the request is too long"/);
  await server.close();
});

test('a body over the limit is refused before it is sent', async () => {
  const server = await startControlPlane();
  const refused = talk(server.base, head('POST', '/streams', `Content-Length: ${1 << 30}`));
  assert.match(await refused.all, /^HTTP\/1\.1 413 [\s\S]*"error":1000/);
  const endless = talk(server.base, head('POST', '/streams', 'Transfer-Encoding: chunked'));
  const chunk = `100000\r\n${' '.repeat(1 << 20)}\r\n`;
  let sent = 0;
  while (!endless.socket.destroyed && sent++ < 80) {
    if (!endless.socket.write(chunk)) {
      await Promise.race([new Promise((resolve) => endless.socket.once('drain', resolve)), endless.all]);
    }
  }
  endless.socket.destroy();
  assert.equal((await server.request('GET', '/streams')).json, []);
  await server.close();
});

test('many large bodies at once are refused beyond a bound, and the memory comes back', async () => {
  const held = Math.floor(maxHeldBytes / maxBodyBytes);
  const part = Buffer.alloc(maxBodyBytes - 1, ' ');
  const slow = Array.from({ length: held }, () =>
    Object.assign(new PassThrough({ highWaterMark: 1 }), { headers: {} }),
  );
  const reading = slow.map((body) => readBody(body as unknown as IncomingMessage));
  for (const body of slow) body.write(part);
  await eventually('full memory', async () => {
    const more = Object.assign(new PassThrough(), { headers: {} });
    more.end(part);
    const refused = await readBody(more as unknown as IncomingMessage).catch((error: unknown) => error);
    return refused instanceof TooManyBodies;
  });
  for (const body of slow) body.end();
  assert.equal(
    (await Promise.all(reading)).map((body) => body.length),
    slow.map(() => part.length),
  );
  const next = Object.assign(new PassThrough(), { headers: {} });
  next.end(part);
  assert.is((await readBody(next as unknown as IncomingMessage)).length, part.length);
});

test('methods: HEAD as GET without body, OPTIONS names the methods, others are refused', async () => {
  const server = await startControlPlane();
  const answer = await server.request('HEAD', '/streams');
  assert.is(answer.status, 200);
  assert.is(answer.text, '');
  assert.is(answer.headers.get('content-length'), '2');
  const options = await server.request('OPTIONS', '/streams');
  assert.is(options.status, 200);
  assert.match(options.headers.get('allow') ?? '', /POST/);
  const wrong = await server.request('DELETE', '/streams');
  assert.is(wrong.status, 405);
  assert.match(wrong.headers.get('allow') ?? '', /GET/);
  for (const method of ['PROPFIND', 'COPY', 'LINK']) {
    assert.is((await server.request(method, '/streams')).status, 405, method);
    assert.is((await server.request(method, '/nosuch')).status, 404, method);
  }
  assert.is((await server.request('OPTIONS', '/nosuch')).status, 404);
  assert.is((await server.request('HEAD', '/nosuch')).status, 404);
  await server.close();
});

test('unusual paths: encodings, slashes, dots, ids', async () => {
  const server = await startControlPlane();
  const status = async (path: string) => {
    const text = await talk(server.base, head('GET', path, 'Connection: close')).all;
    return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0);
  };
  for (const path of ['/rules/%', '/rules/%zz', '/rules/%c3%28']) assert.is(await status(path), 400, path);
  for (const path of [
    '/rules/a%20b',
    '/rules/a%2Fb',
    '/rules/%00',
    '/rules/ü',
    '/rules/%F0%9F%98%80',
    '/rules/..%2f..',
  ]) {
    assert.is(await status(path), 400, path);
  }
  for (const path of ['/rules/', '//rules', '/rules//', '/RULES', '/rules/a/b/c/d', '/../etc/passwd', '/.']) {
    assert.is(await status(path), 404, path);
  }
  // Names of members that every object has are ids like others.
  for (const id of ['__proto__', 'constructor', 'toString']) assert.is(await status(`/rules/${id}`), 404, id);
  assert.is(await status(`/rules/${'x'.repeat(1000)}`), 404);
  await server.close();
});

test('a port in use is named', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as { port: number };
  try {
    await startControlPlane(undefined, { KUIPER__BASIC__RESTPORT: String(port) });
    assert.unreachable('the server started');
  } catch (error) {
    assert.match((error as Error).message, `REST can't listen on 127.0.0.1:${port}: the port is in use`);
  }
  other.close();
});

test('a port that is in use is told with the setting that changes it', async () => {
  const http = createServer();
  const url = await listen(http, '127.0.0.1', 0, 'test', 'basic.restPort');
  const other = createServer();
  const reason = await listen(other, '127.0.0.1', Number(new URL(url).port), 'REST', 'basic.restPort').catch(
    (error: Error) => error.message,
  );
  assert.match(String(reason), /REST can't listen on .* in use by another program, basic\.restPort sets another one/);
  http.close();
});

test.run();
