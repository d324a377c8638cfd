/** Websockets that we open, against a server of the same library. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type WebSocket, WebSocketServer } from 'ws';
import { connectorOf } from '../../../host/connectors/index.js';
import { sinkContract, sourceContract } from '../../support/connectors/contract.js';
import { openPlane, passRule } from '../../support/engine/plane.js';
import { eventually, freePort } from '../../support/harness.js';

type Props = Record<string, unknown>;

interface Double {
  readonly addr: string;
  readonly port: number;
  readonly texts: string[];
  readonly paths: (string | undefined)[];
  readonly headers: Props[];
  readonly clients: ReadonlySet<WebSocket>;
  close(): Promise<void>;
}

async function openServer(port = 0): Promise<Double> {
  const server = new WebSocketServer({ port, host: '127.0.0.1' });
  await once(server, 'listening');
  const { port: actual } = server.address() as AddressInfo;
  const double = { texts: [] as string[], paths: [] as (string | undefined)[], headers: [] as Props[] };
  server.on('connection', (socket, request) => {
    double.paths.push(request.url);
    double.headers.push(request.headers);
    socket.on('message', (message) => double.texts.push(String(message)));
  });
  return {
    ...double,
    addr: `127.0.0.1:${actual}`,
    port: actual,
    clients: server.clients,
    close: async () => {
      for (const client of server.clients) client.terminate();
      server.close();
      await once(server, 'close');
    },
  };
}

let server: Double;
test.before(async () => {
  server = await openServer();
});
test.after(() => server.close());

const refused: [Props, RegExp][] = [
  [{ addr: 'a b' }, /addr must be an address/],
  [{ addr: 'h:1', scheme: 'http' }, /scheme must be one of ws, wss/],
];
sourceContract(
  test,
  () => ({ type: 'websocket', dataSource: '/contract', props: { addr: server.addr }, refused }),
  'websocket',
);
sinkContract(
  test,
  () => ({
    type: 'websocket',
    props: { addr: server.addr, path: '/contract' },
    refused: [...refused, [{}, /path must begin with \/ where addr is empty/]],
  }),
  'websocket',
);

/** Sends rows to a server; resolves with the figures at the end. */
async function send(count: number, props: Props, interval = 0) {
  const { plane, report } = await openPlane();
  const data = Array.from({ length: count }, (_, id) => ({ id }));
  const rule = passRule({ type: 'simulator', props: { interval, loop: false, data } }, [{ type: 'websocket', props }]);
  await plane.start(rule);
  return {
    ended: async () => {
      const { metrics } = await report(rule.run, 'ended');
      await plane.close();
      return metrics;
    },
  };
}

const rows = (count: number) => Array.from({ length: count }, (_, id) => `{"id":${id}}`);

test('sends each message as a text, in order, to the path, with headers', async () => {
  const own = await openServer();
  const metrics = await (await send(100, { addr: own.addr, path: 'a/b', requestHeader: { 'X-Plant': '7' } })).ended();
  await eventually('the messages', () => own.texts.length >= 100);
  assert.equal(own.texts, rows(100));
  assert.equal([own.paths[0], own.headers[0]?.['x-plant']], ['/a/b', '7']);
  assert.is(metrics.sinkRecordsOutTotal, 100);
  await own.close();
});

test('a server that is absent at the start gets everything when it comes', async () => {
  const port = await freePort();
  const rule = await send(10, { addr: `127.0.0.1:${port}` }, 10);
  const late = await openServer(port);
  const metrics = await rule.ended();
  await eventually('the messages', () => late.texts.length >= 10);
  assert.equal(late.texts, rows(10));
  assert.is(metrics.sinkRecordsOutTotal, 10);
  await late.close();
});

test('takes messages in order, and comes back after the server was away', async () => {
  const first = await openServer();
  const second = await openServer();
  const { plane } = await openPlane();
  const rule = passRule({ type: 'websocket', dataSource: '/in', props: { addr: first.addr } }, [
    { type: 'websocket', props: { addr: second.addr } },
  ]);
  await plane.start(rule);
  const status = () => plane.status(rule.run)?.metrics.source_demo_0_connection_status;
  await eventually('the connection', () => status() === 1);
  assert.equal(first.paths, ['/in']);
  for (const text of rows(500)) for (const client of first.clients) client.send(text);
  await eventually('the messages', () => second.texts.length >= 500);
  assert.equal(second.texts, rows(500));
  await first.close();
  await eventually('the loss', () => status() !== 1);
  const again = await openServer(first.port);
  await eventually('the connection', () => status() === 1);
  for (const client of again.clients) client.send('{"id":"back"}');
  await eventually('the message', () => second.texts.length > 500);
  assert.is(second.texts.at(-1), '{"id":"back"}');
  await plane.stop(rule.run);
  await plane.close();
  await again.close();
  await second.close();
});

test('a large message and an empty one both arrive', async () => {
  const first = await openServer();
  const second = await openServer();
  const { plane } = await openPlane();
  const rule = passRule({ type: 'websocket', props: { addr: first.addr } }, [
    { type: 'websocket', props: { addr: second.addr } },
  ]);
  await plane.start(rule);
  await eventually('the connection', () => first.clients.size === 1);
  const [client] = first.clients;
  const large = JSON.stringify({ text: 'x'.repeat(1 << 19) });
  client!.send('');
  client!.send(large);
  client!.send('{"id":1}');
  await eventually('the last message', () => second.texts.includes('{"id":1}'));
  assert.ok(second.texts.includes(large));
  await plane.stop(rule.run);
  await plane.close();
  await first.close();
  await second.close();
});

test('a connection can be tried out', async () => {
  const { connection } = connectorOf('websocket')!;
  await connection!.ping!({ addr: server.addr });
  await connection!.ping!({ addr: `127.0.0.1:${await freePort()}` }).then(
    () => assert.unreachable(),
    (error) => assert.match(error.message, /ECONNREFUSED/),
  );
});

test.run();
