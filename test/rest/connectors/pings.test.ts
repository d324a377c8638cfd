/**
 * Whether the other side of a connector can be reached, as user interfaces ask before they save its properties: each
 * kind against a real server, against a port where nobody listens, and with a login that the server does not know.
 */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocketServer } from 'ws';
import { Publisher } from 'zeromq';
import { allConnectors, connectorOf } from '../../../host/connectors/index.js';
import { connectClient, openBroker } from '../../support/brokers/broker.js';
import { openHttp } from '../../support/connectors/http-server.js';
import { eventually, freePort, temporaryFolder } from '../../support/harness.js';
import { startControlPlane } from '../../support/rest/control-plane.js';
import { kafkaUser, needsKafka, sharedKafka } from '../../support/servers/kafka.js';
import { needsMariadb, sharedMariadb } from '../../support/servers/mariadb.js';
import { needsNats, openNats } from '../../support/servers/nats.js';
import { needsNng, openNng } from '../../support/servers/nng.js';
import { needsPostgres, sharedPostgres } from '../../support/servers/postgres.js';
import { needsRabbit, rabbitLogin, sharedRabbit } from '../../support/servers/rabbitmq.js';
import { needsRedis, openRedis } from '../../support/servers/redis.js';
import { openTds } from '../../support/servers/tds.js';
import { needsInflux, needsVictoria, openInflux, openVictoria } from '../../support/servers/time-series.js';

type Props = Record<string, unknown>;

/** A server, and the properties by which connectors of a kind find it. */
interface Reached {
  readonly port: number;
  close(): unknown;
  readonly kinds: readonly Kind[];
}

interface Side {
  /** Types that are tried with it. */
  readonly types: string;
  /** Left out where the machine has no such server. */
  readonly open?: (() => Promise<Reached>) | false;
}

interface Kind {
  readonly type: string;
  to(port: number): Props;
  /** Properties of a login that it does not know, and how it says so. */
  readonly stranger?: readonly [Props, RegExp];
}

const secret = 'wrong-secret-73';
const nobody = /ECONNREFUSED|nobody|refused/i;

/** Properties of a request over HTTP. */
const http = (port: number) => ({ url: `http://127.0.0.1:${port}/rows`, timeout: 5000 });
const bearer = { headers: { Authorization: `Bearer ${secret}` } };
const portOf = (url: string) => Number(new URL(url).port);

const sides: Record<string, Side> = {
  'an MQTT broker': {
    types: 'mqtt edgex',
    open: async () => {
      const { port, close } = await openBroker();
      const bus = (at: number) => ({ type: 'mqtt', server: '127.0.0.1', port: at });
      return {
        port,
        close,
        kinds: [
          { type: 'mqtt', to: (at) => ({ server: `tcp://127.0.0.1:${at}` }) },
          { type: 'edgex', to: bus },
        ],
      };
    },
  },
  Redis: {
    types: 'redis redisPub redisSub redisStream edgex',
    open:
      needsRedis('pings of Redis') &&
      (async () => {
        const { port, close } = await openRedis(undefined, [], 'right');
        const login = (at: number) => ({ address: `127.0.0.1:${at}`, password: 'right' });
        const stranger = [{ password: secret }, /WRONGPASS|NOAUTH/] as const;
        const bus = (password: string) => ({ optional: { Password: password } });
        return {
          port,
          close,
          kinds: [
            { type: 'redis', to: (at) => ({ addr: `127.0.0.1:${at}`, password: 'right' }), stranger },
            ...['redisPub', 'redisSub', 'redisStream'].map((type) => ({ type, to: login, stranger })),
            {
              type: 'edgex',
              to: (at) => ({ type: 'redis', server: '127.0.0.1', port: at, ...bus('right') }),
              stranger: [bus(secret), /WRONGPASS|NOAUTH/],
            },
          ],
        };
      }),
  },
  NATS: {
    types: 'nats',
    open:
      needsNats('pings of NATS') &&
      (async () => {
        const { port, close } = await openNats({ conf: 'authorization { token: "right" }', login: { token: 'right' } });
        const to = (at: number) => ({ server: `nats://127.0.0.1:${at}`, token: 'right' });
        return { port, close, kinds: [{ type: 'nats', to, stranger: [{ token: secret }, /uthoriz/] }] };
      }),
  },
  Kafka: {
    types: 'kafka',
    open:
      needsKafka('pings of Kafka') &&
      (async () => {
        const { saslBrokers, close } = await sharedKafka();
        const to = (at: number) => ({ brokers: `127.0.0.1:${at}`, saslAuthType: 'scram', ...kafkaUser });
        const kind: Kind = { type: 'kafka', to, stranger: [{ password: secret }, /uthentication failed/] };
        return { port: portOf(`http://${saslBrokers}`), close, kinds: [kind] };
      }),
  },
  RabbitMQ: {
    types: 'rabbitmq',
    open:
      needsRabbit('pings of RabbitMQ') &&
      (async () => {
        const { url, close } = await sharedRabbit();
        const to = (at: number) => ({ server: `amqp://127.0.0.1:${at}`, ...rabbitLogin });
        const kind: Kind = { type: 'rabbitmq', to, stranger: [{ password: secret }, /ACCESS.REFUSED/] };
        return { port: portOf(url), close, kinds: [kind] };
      }),
  },
  PostgreSQL: {
    types: 'sql',
    open:
      needsPostgres('pings of PostgreSQL') &&
      (async () => databaseOf(await sharedPostgres(), /password authentication failed/)),
  },
  MariaDB: {
    types: 'sql',
    open: needsMariadb('pings of MariaDB') && (async () => databaseOf(await sharedMariadb(), /Access denied/)),
  },
  'SQL Server': {
    types: 'sql',
    open: async () => {
      const { url, close } = await openTds();
      const to = (at: number) => ({ dburl: url.replace(/:\d+/, `:${at}`) });
      return { port: portOf(url), close, kinds: [{ type: 'sql', to }] };
    },
  },
  'InfluxDB 1': {
    types: 'influx',
    open:
      needsInflux('pings of InfluxDB') &&
      (async () => {
        const { url, close } = await openInflux({ login: ['plant', 'right'] });
        const login = { username: 'plant', password: 'right' };
        const to = (at: number) => ({ addr: `http://127.0.0.1:${at}`, database: 'plant', ...login });
        const kind: Kind = { type: 'influx', to, stranger: [{ password: secret }, /401/] };
        return { port: portOf(url), close, kinds: [kind] };
      }),
  },
  'time series': {
    types: 'influx2 prometheus',
    open:
      needsVictoria('pings of time series') &&
      (async () => {
        const { url, close } = await openVictoria();
        return {
          port: portOf(url),
          close,
          kinds: [
            { type: 'influx2', to: (at) => ({ addr: `http://127.0.0.1:${at}`, org: 'o', bucket: 'b' }) },
            { type: 'prometheus', to: (at) => ({ url: `http://127.0.0.1:${at}/api/v1/write` }) },
          ],
        };
      }),
  },
  'a server of HTTP': {
    types: 'rest httppull sse tdengine3',
    open: async () => {
      const server = await openHttp();
      server.answer = (response, { headers }) => {
        response.statusCode = headers.authorization?.includes(secret) === true ? 401 : 200;
        response.setHeader('Content-Type', 'application/json');
        response.end('{"code":0,"column_meta":[],"data":[[1]],"rows":1}');
      };
      const { port, close } = server;
      const taos = { host: '127.0.0.1', database: 'plant' };
      return {
        port,
        close,
        kinds: [
          ...['rest', 'httppull'].map((type) => ({ type, to: http, stranger: [bearer, /401/] as const })),
          { type: 'sse', to: http, stranger: [{ token: secret }, /401/] },
          { type: 'tdengine3', to: (at) => ({ ...taos, port: at }) },
        ],
      };
    },
  },
  'a server of websockets': {
    types: 'websocket',
    open: async () => {
      const server = createServer((_request, response) => response.writeHead(404).end());
      const sockets = new WebSocketServer({
        server,
        verifyClient: ({ req }: { req: IncomingMessage }) => req.headers.authorization?.includes(secret) !== true,
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const close = () => {
        for (const socket of sockets.clients) socket.terminate();
        sockets.close();
        server.close();
      };
      const kind: Kind = {
        type: 'websocket',
        to: (at) => ({ addr: `127.0.0.1:${at}`, path: '/rows' }),
        stranger: [{ requestHeader: bearer.headers }, /401/],
      };
      return { port: (server.address() as AddressInfo).port, close, kinds: [kind] };
    },
  },
  'a publisher of ZeroMQ': {
    types: 'zmq',
    open: async () => {
      const publisher = new Publisher({ linger: 0 });
      await publisher.bind('tcp://127.0.0.1:*');
      const to = (at: number) => ({ server: `tcp://127.0.0.1:${at}` });
      return {
        port: Number(publisher.lastEndpoint?.split(':').at(-1)),
        close: () => publisher.close(),
        kinds: [{ type: 'zmq', to }],
      };
    },
  },
  'a peer of nng': {
    types: 'neuron nng',
    open:
      needsNng('pings of nng') &&
      (async () => {
        const port = await freePort();
        const to = (at: number) => ({ url: `tcp://127.0.0.1:${at}` });
        const { close } = openNng(`tcp://127.0.0.1:${port}`);
        return { port, close, kinds: ['neuron', 'nng'].map((type) => ({ type, to })) };
      }),
  },
};

function databaseOf({ port, url, close }: { port: number; url: string; close(): unknown }, refusal: RegExp): Reached {
  const at = (other: number, password?: string) => {
    const address = new URL(url);
    address.port = String(other);
    if (password !== undefined) address.password = password;
    return { dburl: address.href };
  };
  return { port, close, kinds: [{ type: 'sql', to: (other) => at(other), stranger: [at(port, secret), refusal] }] };
}

const plane = await startControlPlane();
test.after(() => plane.close());

/** Asks for each part that the connector plays; for one without parts as a named connection. */
async function ping(type: string, props: Props): Promise<string[]> {
  const { source, lookup, sink } = connectorOf(type)!;
  const parts = [...((source ?? lookup?.asked) ? ['sources'] : []), ...(sink ? ['sinks'] : [])];
  const answers: string[] = [];
  for (const part of parts) {
    const { status, text } = await plane.request('POST', `/metadata/${part}/connection/${type}`, props);
    answers.push(`${status} ${text}`);
  }
  if (parts.length > 0) return answers;
  assert.is((await plane.request('POST', '/connections', { id: 'pinged', typ: type, props })).status, 201);
  const { status, err = '' } = await eventually('the state', async () => {
    const { json } = await plane.request('GET', '/connections/pinged');
    return json.status !== 'connecting' && json;
  });
  await plane.request('DELETE', '/connections/pinged');
  return [status === 'connected' ? '200 ' : `400 ${err}`];
}

async function refuses(type: string, props: Props, reason: RegExp): Promise<void> {
  for (const answer of await ping(type, props)) {
    assert.match(answer, /^400 /);
    assert.match(answer, reason);
    assert.not.ok(answer.includes(secret), answer);
  }
}

for (const [name, { types, open = false }] of Object.entries(sides)) {
  if (open === false) continue;
  test(`${name}: reached, away, and with a wrong login`, async () => {
    const { port, close, kinds } = await open();
    assert.equal(kinds.map(({ type }) => type).join(' '), types);
    const away = await freePort();
    for (const { type, to, stranger } of kinds) {
      assert.equal(new Set(await ping(type, to(port))), new Set(['200 ']), type);
      await refuses(type, to(away), nobody);
      if (stranger !== undefined) await refuses(type, { ...to(port), ...stranger[0] }, stranger[1]);
    }
    await close();
  });
}

test('a file of SQLite: there, or missing', async () => {
  const path = join(temporaryFolder(), 'a.db');
  const dburl = `sqlite:${path}`;
  await refuses('sql', { dburl }, /there is no file .*a\.db/);
  writeFileSync(path, '');
  assert.equal(new Set(await ping('sql', { dburl })), new Set(['200 ']));
});

test('each kind that can be asked is tried above', () => {
  const tried = new Set(Object.values(sides).flatMap(({ types }) => types.split(' ')));
  const asked = allConnectors().filter(({ connection }) => connection?.ping !== undefined);
  assert.equal([...tried].sort(), asked.map(({ name }) => name).sort());
});

test('a server of websockets whose path a stream names is reached without it', async () => {
  const server = createServer();
  const sockets = new WebSocketServer({ server, path: '/rows' });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const addr = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  assert.equal(new Set(await ping('websocket', { addr })), new Set(['200 ']));
  await refuses('websocket', { addr, path: '/none' }, /server response: 400/);
  sockets.close();
  server.close();
});

test('an MQTT broker with a client whose id is asked with: it keeps its connection', async () => {
  const broker = await openBroker();
  const rule = await connectClient(broker.url, { clientId: 'plant', reconnectPeriod: 0 });
  let isLost = false;
  rule.on('close', () => {
    isLost = true;
  });
  const own = { type: 'mqtt', server: '127.0.0.1', port: broker.port, optional: { ClientId: 'plant' } };
  assert.equal(await ping('edgex', own), ['200 ', '200 ']);
  assert.equal(await ping('mqtt', { server: broker.url, clientid: 'plant' }), ['200 ', '200 ']);
  await rule.publishAsync('rows', 'still there', { qos: 1 });
  assert.not.ok(isLost);
  rule.end(true);
  await broker.close();
});

test.run();
