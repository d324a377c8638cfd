/** TLS of connectors over HTTP, through a door that demands a certificate: their servers know nothing of TLS. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'uvu';
import { WebSocketServer } from 'ws';
import { type SecureSide, secureSide } from '../../support/connectors/tls.js';
import { freePort } from '../../support/harness.js';
import { needsInflux, needsVictoria, openInflux, openVictoria } from '../../support/servers/time-series.js';
import { TlsDoor } from '../../support/servers/tls-door.js';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;
type Given = Pick<SecureSide, 'part' | 'type'> & { readonly propsAt: (host: string) => SecureSide['props'] };

/** A side behind a door; `behind` starts its server and returns the port. */
function behindDoor(given: Given, behind: () => Promise<{ port: number; close(): Promise<void> }>) {
  return async (): Promise<SecureSide> => {
    const server = await behind();
    const door = new TlsDoor(await freePort(), () => server.port);
    return {
      part: given.part,
      type: given.type,
      props: given.propsAt(`127.0.0.1:${door.port}`),
      start: (own, trusted) => door.open(own, trusted),
      close: () => door.close(),
      end: () => server.close(),
    };
  };
}

/** A server that answers each request so. */
function answering(answer: Answer) {
  return async () => {
    const server = createServer(answer);
    // Websockets send rows and take them.
    const sockets = new WebSocketServer({ server });
    sockets.on('connection', (socket) => {
      const timer = setInterval(() => socket.send('{"id":1}'), 20);
      socket.on('close', () => clearInterval(timer));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    return {
      port,
      close: async () => {
        for (const socket of sockets.clients) socket.terminate();
        server.close();
        server.closeAllConnections();
      },
    };
  };
}

const rows = answering((_request, response) => {
  response.setHeader('Content-Type', 'application/json');
  response.end('{"id":1}');
});

const events = answering((_request, response) => {
  response.setHeader('Content-Type', 'text/event-stream');
  const timer = setInterval(() => response.write('data: {"id":1}\n\n'), 20);
  response.on('close', () => clearInterval(timer));
});

/** TDengine takes everything. */
const taos = answering((request, response) => {
  request.resume();
  response.setHeader('Content-Type', 'application/json');
  request.on('end', () => response.end('{"code":0,"column_meta":[],"data":[[1]],"rows":1}'));
});

const http =
  (more: object = {}) =>
  (host: string) => ({ url: `https://${host}/rows`, timeout: 2000, ...more });
const pull = { part: 'source', type: 'httppull', propsAt: http({ interval: 50 }) } as const;
secureSide(test, 'httppull', behindDoor(pull, rows));
secureSide(test, 'rest', behindDoor({ part: 'sink', type: 'rest', propsAt: http({ method: 'post' }) }, rows));
secureSide(test, 'sse', behindDoor({ part: 'source', type: 'sse', propsAt: http() }, events));
const socket = (host: string) => ({ addr: host, scheme: 'wss', path: '/rows' });
secureSide(test, 'websocket, source', behindDoor({ part: 'source', type: 'websocket', propsAt: socket }, rows));
secureSide(test, 'websocket, sink', behindDoor({ part: 'sink', type: 'websocket', propsAt: socket }, rows));
const taosAt = (host: string) => ({
  host: '127.0.0.1',
  port: Number(host.split(':')[1]),
  ssl: true,
  database: 'plant',
  table: 't',
  tsFieldName: 'ts',
});
secureSide(test, 'tdengine3', behindDoor({ part: 'sink', type: 'tdengine3', propsAt: taosAt }, taos));

const withPort = <T extends { readonly url: string; close(): Promise<void> }>(server: T) => ({
  port: Number(new URL(server.url).port),
  close: () => server.close(),
});

if (needsInflux('TLS of InfluxDB')) {
  const propsAt = (host: string) => ({ addr: `https://${host}`, database: 'plant', measurement: 'm' });
  const open = async () => withPort(await openInflux());
  secureSide(test, 'influx', behindDoor({ part: 'sink', type: 'influx', propsAt }, open));
}

if (needsVictoria('TLS of time series')) {
  const open = async () => withPort(await openVictoria());
  const points = (host: string) => ({ addr: `https://${host}`, org: 'o', bucket: 'b', measurement: 'm' });
  secureSide(test, 'influx2', behindDoor({ part: 'sink', type: 'influx2', propsAt: points }, open));
  const samples = (host: string) => ({ url: `https://${host}/api/v1/write` });
  secureSide(test, 'prometheus', behindDoor({ part: 'sink', type: 'prometheus', propsAt: samples }, open));
}

test.run();
