/**
 * Pushed messages while sinks are full: what is answered with 200 is delivered once, what is answered with 503 never.
 */
import { connect, createServer, type Socket } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Logger } from '../../../host/base/log/log.js';
import { PushSource } from '../../../host/connectors/httppush/source.js';
import { payloadsOf } from '../../../host/connectors/messages/frames.js';
import type { SourceContext } from '../../../host/connectors/running.js';
import { DataServer } from '../../../host/rest/data/data-server.js';
import { pushes } from '../../../host/rest/data/gateways.js';
import { maxPathBytes, maxPathWaiting, PushPath } from '../../../host/rest/data/push-path.js';
import { connectClient, openBroker } from '../../support/brokers/broker.js';
import { type Answer, eventually, freePort, request, startServer } from '../../support/harness.js';

const log = { debug() {}, info() {}, warn() {}, error() {} } as unknown as Logger;

/** The engine of a source, whose sinks are full as the test says. */
class Engine {
  isFull = false;
  readonly messages: string[] = [];
  readonly exceptions: string[] = [];
  readonly source: PushSource;
  #pause = () => {};
  #resume = () => {};
  constructor(path: string) {
    const context = {
      name: 's',
      dataSource: path,
      log,
      isFull: false,
      write: (bytes: Uint8Array) => {
        this.messages.push(...payloadsOf(bytes).toString().split('\n'));
        return !this.isFull;
      },
      whenTaken: async () => true,
      onFlow: (pause: () => void, resume: () => void) => {
        this.#pause = pause;
        this.#resume = resume;
      },
      exception: (reason: string) => this.exceptions.push(reason),
    };
    Object.defineProperty(context, 'isFull', { get: () => this.isFull });
    this.source = new PushSource('POST', context as unknown as SourceContext);
  }
  fill(): void {
    this.isFull = true;
    this.#pause();
  }
  empty(): void {
    this.isFull = false;
    this.#resume();
  }
}

async function gateway(busyTimeoutMs: number, slowBodyMs?: number) {
  const dataServer = new DataServer({ ip: '127.0.0.1', port: 0, tls: undefined, log });
  const push = pushes(async () => dataServer, log, { busyTimeoutMs, slowBodyMs });
  return {
    send: (path: string, body: unknown) => request(`http://127.0.0.1:${dataServer.port}`, 'POST', path, body),
    port: () => dataServer.port,
    async close() {
      await push.close();
      await dataServer.close();
    },
  };
}

test('what is answered with 503 never reaches the rule, what is answered with 200 reaches it once', async () => {
  const server = await gateway(300);
  const engine = new Engine('/m');
  await engine.source.open();
  assert.is((await server.send('/m', { id: 0 })).status, 200);
  engine.fill();
  const refused = await Promise.all(Array.from({ length: 8 }, (_, i) => server.send('/m', { id: i + 1 })));
  for (const { status, text, headers } of refused) {
    assert.equal([status, text], [503, 'the rules of this path are busy\n']);
    assert.is(headers.get('retry-after'), '1');
  }
  engine.empty();
  assert.is((await server.send('/m', { id: 9 })).status, 200);
  assert.equal(engine.messages, ['{"id":0}', '{"id":9}']);
  await eventually('the refusals to be counted', () => engine.exceptions.length === 8 || undefined);
  await engine.source.close();
  await server.close();
});

test('what waits is delivered in order as soon as there is room', async () => {
  const server = await gateway(60_000);
  const engine = new Engine('/o');
  await engine.source.open();
  engine.fill();
  const sent: Promise<Answer>[] = [];
  // One connection after the other, so that the order of arrival is known.
  for (let id = 0; id < 20; id++) {
    sent.push(server.send('/o', { id }));
    await new Promise((resolve) => setImmediate(resolve));
  }
  engine.empty();
  const answers = await Promise.all(sent);
  assert.ok(answers.every(({ status }) => status === 200));
  const ids = engine.messages.map((message) => JSON.parse(message).id as number);
  assert.equal(
    ids.sort((a, b) => a - b),
    Array.from({ length: 20 }, (_, i) => i),
  );
  await engine.source.close();
  await server.close();
});

test('with two rules of a path a message reaches both or none', async () => {
  const server = await gateway(300);
  const [quick, slow] = [new Engine('/two'), new Engine('/two')];
  await quick.source.open();
  await slow.source.open();
  slow.fill();
  assert.is((await server.send('/two', { id: 1 })).status, 503);
  assert.equal([quick.messages, slow.messages], [[], []]);
  const waits = server.send('/two', { id: 2 });
  await slow.source.close();
  assert.is((await waits).status, 200);
  assert.equal([quick.messages, slow.messages], [['{"id":2}'], []]);
  await quick.source.close();
  await server.close();
});

/** A path with one source whose sinks are full, and what was sent to the source. */
function fullPath() {
  const sent: unknown[] = [];
  const path = new PushPath('POST', '/p', (message) => sent.push(message));
  path.add('source', { plane: 0, id: 1 }, true);
  return { path, sent };
}

const push = { body: Buffer.from('{}'), traceparent: undefined };
const stays = () => {};

test('what a client that went away had sent is forgotten', async () => {
  const { path, sent } = fullPath();
  let leave = () => {};
  const outcome = path.hand(push, 60_000, (call) => {
    leave = call;
  });
  leave();
  assert.is(await outcome, 'busy');
  path.flow('source', false);
  assert.equal(sent, []);
});

test('only what was under way when the thread of the rule died is left open', async () => {
  const { path, sent } = fullPath();
  path.flow('source', false);
  const big = { body: Buffer.alloc(1 << 20), traceparent: undefined };
  const outcomes = [path.hand(big, 60_000, stays), path.hand(big, 60_000, stays)];
  assert.is(sent.length, 1);
  path.removeBefore({ plane: 1, id: 2 });
  path.removeBefore({ plane: 0, id: 2 });
  assert.equal(await Promise.all(outcomes), ['unknown', 'ended']);
  assert.is(await path.hand(push, 60_000, stays), 'ended');
});

test('bytes and requests that wait for a path are bounded, and the room comes back', async () => {
  const { path } = fullPath();
  path.hold(maxPathBytes);
  assert.throws(() => path.hold(1), /67108864 bytes wait for the rules of \/p already, try again later/);
  path.release(maxPathBytes);
  const waiting = Array.from({ length: maxPathWaiting }, () => path.hand(push, 60_000, stays));
  assert.throws(() => path.hold(1), /250 requests wait for the rules of \/p already/);
  path.remove('source');
  assert.ok((await Promise.all(waiting)).every((outcome) => outcome === 'ended'));
  path.hold(1);
  assert.is(path.heldBytes, 1);
});

/** Begins to send a body of 15 MB and stops short of its end; resolves when the server has what came. */
async function dripping(port: number, path: string): Promise<{ readonly socket: Socket; heard: string }> {
  const socket = connect(port, '127.0.0.1');
  const drip = { socket, heard: '' };
  socket.on('error', () => {});
  socket.on('data', (bytes) => {
    drip.heard += bytes.toString();
  });
  const size = 15 << 20;
  socket.write(`POST ${path} HTTP/1.1\r\nHost: h\r\nContent-Length: ${size + 1}\r\n\r\n`);
  await new Promise((resolve) => socket.write(Buffer.alloc(size, 32), resolve));
  return drip;
}

test('bodies that do not come to their end make room for others, the oldest first', async () => {
  const server = await gateway(60_000, 0);
  const engine = new Engine('/d');
  await engine.source.open();
  const slow: Awaited<ReturnType<typeof dripping>>[] = [];
  for (let n = 0; n < 4; n++) slow.push(await dripping(server.port(), '/d'));
  const { status } = await server.send('/d', { text: 'x'.repeat(8 << 20) });
  assert.is(status, 200);
  await eventually('the refusal to be counted', () => engine.exceptions.length > 0 || undefined);
  assert.match(engine.exceptions[0]!, /came too slowly and was refused: others needed the room/);
  await eventually('an answer', () => slow.some(({ heard }) => heard.startsWith('HTTP/1.1 408')) || undefined);
  for (const { socket } of slow) socket.write(' ');
  await eventually('the others', () => slow.filter(({ heard }) => heard.startsWith('HTTP/1.1 200')).length === 3);
  for (const { socket } of slow) socket.destroy();
  await engine.source.close();
  await server.close();
});

test('a broker that is away: what is too much is refused at once, and all that was taken arrives once', async () => {
  const [dataPort, brokerPort] = [await freePort(), await freePort()];
  const server = await startServer({ env: { KUIPER__SOURCE__HTTPSERVERPORT: String(dataPort) } });
  const data = `http://127.0.0.1:${dataPort}`;
  await server.request('POST', '/streams', { sql: 'CREATE STREAM pushed () WITH (TYPE="httppush", DATASOURCE="/in")' });
  const status = async (id: string) => (await server.request('GET', `/rules/${id}/status`)).json;
  const start = async (id: string) => {
    const actions = [{ mqtt: { server: `tcp://127.0.0.1:${brokerPort}`, topic: 'out', qos: 1, sendSingle: true } }];
    assert.is((await server.request('POST', '/rules', { id, sql: 'SELECT * FROM pushed', actions })).status, 201);
    await eventually('the source', async () => (await status(id)).source_pushed_0_connection_status === 1 || undefined);
  };
  const large = (id: string) => request(data, 'POST', '/in', { id, a: 'x'.repeat(15 << 20) });

  await start('sick');
  const early = Array.from({ length: 10 }, (_, i) => large(`early${i}`));
  const { source_pushed_0_last_exception: reason } = await eventually('refusals in the status', async () => {
    const metrics = await status('sick');
    return metrics.source_pushed_0_exceptions_total > 0 ? metrics : undefined;
  });
  assert.match(reason, /a pushed message was refused: \d+ bytes wait for the rules of \/in already, try again later/);
  await server.request('DELETE', '/rules/sick');
  for (const { status, headers } of await Promise.all(early)) {
    assert.ok(status === 200 || (status === 503 && headers.get('retry-after') === '1'), String(status));
  }

  await start('well');
  const late = ['late0', 'late1', 'late2', 'late3'].map(large);
  const broker = await openBroker();
  const client = await connectClient(broker.url);
  const arrived: string[] = [];
  client.on('message', (_topic, payload) => arrived.push(JSON.parse(String(payload)).id));
  await client.subscribeAsync('out', { qos: 1 });
  // The broker is reached where the rule looks for it only now, when somebody listens.
  const gate = createServer((socket) => {
    const there = connect(broker.port, '127.0.0.1');
    socket.on('error', () => there.destroy()).pipe(there);
    there.on('error', () => socket.destroy()).pipe(socket);
  }).listen(brokerPort, '127.0.0.1');
  const answers = await Promise.all(late);
  const taken = ['late0', 'late1', 'late2', 'late3'].filter((_, i) => answers[i]?.status === 200);
  assert.ok(taken.length > 0);
  await request(data, 'POST', '/in', { id: 'last' });
  await eventually('the last message', () => arrived.includes('last') || undefined);
  assert.equal(arrived.sort(), ['last', ...taken]);
  await client.endAsync();
  gate.close();
  await server.stop();
  await broker.close();
});

test.run();
