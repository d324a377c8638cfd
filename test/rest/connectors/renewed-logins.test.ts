/**
 * Logins that change while rules use them: the server takes another password and ends all connections, the rule says
 * that it is refused, the named connection gets the new password, and the rule goes on without a restart. The other
 * kinds are in ../sources/renewed-connections.test.ts.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocketServer } from 'ws';
import { eventually, startServer, type TestServer } from '../../support/harness.js';
import { kafkaUser, needsKafka, sharedKafka } from '../../support/servers/kafka.js';
import { needsPostgres, sharedPostgres } from '../../support/servers/postgres.js';
import { needsRabbit, rabbitLogin, sharedRabbit } from '../../support/servers/rabbitmq.js';
import { needsRedis, openRedis } from '../../support/servers/redis.js';
import { needsInflux, openInflux } from '../../support/servers/time-series.js';

type Props = Record<string, unknown>;

interface Side {
  readonly type: string;
  readonly part: 'source' | 'sink';
  /** Properties of the connection with a password. */
  login(password: string): Props;
  /** What the action or the stream has besides. */
  readonly own?: Props;
  readonly dataSource?: string;
  /** Brings a row with the id; sources without it bring rows by themselves. */
  send?(id: number): unknown;
  /** A refused message is lost, and counted. */
  readonly loses?: boolean;
  /** Ids of the rows that have arrived, where none may be lost. */
  arrived?(): Promise<readonly number[]> | readonly number[];
}

interface OtherSide {
  readonly sides: readonly Side[];
  /** It takes this password alone from now on, and has ended all connections. */
  change(password: string): Promise<unknown>;
  /** How it refuses. */
  readonly refusal: RegExp;
  close(): unknown;
}

const [one, two] = ['first-secret', 'second-secret'];
/** Rows of a sink, and the pause between two of them, ms. */
const count = 200;
const pauseMs = 5;

async function redisSides(): Promise<OtherSide> {
  const { client, port, close } = await openRedis(undefined, [], one);
  const address = (password: string) => ({ address: `127.0.0.1:${port}`, password });
  const bus = (Password: string) => ({ type: 'redis', server: '127.0.0.1', port, optional: { Password } });
  const stream = async () => {
    const entries = await client.xRange('out', '-', '+');
    return (entries ?? []).map(({ message }) => Number(message.id));
  };
  return {
    sides: [
      { type: 'redisPub', part: 'sink', login: address, own: { channel: 'told' } },
      {
        type: 'redisSub',
        part: 'source',
        login: address,
        own: { channels: ['heard'] },
        send: (id) => client.publish('heard', JSON.stringify({ id })),
      },
      { type: 'redisStream', part: 'sink', login: address, own: { stream: 'out' }, arrived: stream },
      {
        type: 'redisStream',
        part: 'source',
        login: address,
        own: { group: 'g' },
        dataSource: 'in',
        send: (id) => client.xAdd('in', '*', { id: String(id) }),
      },
      { type: 'edgex', part: 'sink', login: bus, own: { topic: 'edge/rows' } },
    ],
    change: async (password) => {
      await client.sendCommand(['CONFIG', 'SET', 'requirepass', password]);
      const kill = (type: string) => client.sendCommand(['CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes']);
      await kill('normal');
      await kill('pubsub');
    },
    refusal: /WRONGPASS|NOAUTH/,
    close,
  };
}

async function influxSides(): Promise<OtherSide> {
  const influx = await openInflux({ login: ['plant', one] });
  let now = one;
  const ask = async (q: string) => {
    const Authorization = `Basic ${Buffer.from(`plant:${now}`).toString('base64')}`;
    const body = new URLSearchParams({ q, db: 'plant' });
    const answer = await fetch(`${influx.url}/query`, { method: 'POST', headers: { Authorization }, body });
    return answer.text();
  };
  const login = (password: string) => ({ addr: influx.url, database: 'plant', username: 'plant', password });
  const arrived = async () => [...(await ask('SELECT id FROM m')).matchAll(/",(\d+)\]/g)].map(([, id]) => Number(id));
  return {
    sides: [{ type: 'influx', part: 'sink', login, own: { measurement: 'm', fields: ['id'] }, arrived }],
    change: async (password) => {
      await ask(`SET PASSWORD FOR plant = '${password}'`);
      now = password;
    },
    refusal: /401/,
    close: () => influx.close(),
  };
}

/** A server of HTTP and websockets that lets those in who name its password somewhere in their headers. */
async function httpSides(): Promise<OtherSide> {
  let now = one;
  const knows = ({ headers }: IncomingMessage) => {
    const text = String(headers.authorization ?? '');
    return text.includes(now) || text.includes(Buffer.from(`u:${now}`).toString('base64'));
  };
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      if (!knows(request)) return response.writeHead(401).end();
      const [, kind = ''] = request.url?.split('/') ?? [];
      if (kind === 'sse') {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        const timer = setInterval(() => response.write('data: {"id":1}\n\n'), 20);
        return response.on('close', () => clearInterval(timer));
      }
      response.setHeader('Content-Type', 'application/json');
      return response.end('{"id":1,"code":0,"column_meta":[],"data":[[1]],"rows":1}');
    });
  });
  const sockets = new WebSocketServer({ server, verifyClient: ({ req }: { req: IncomingMessage }) => knows(req) });
  sockets.on('connection', (socket) => {
    const timer = setInterval(() => socket.send('{"id":1}'), 20);
    socket.on('close', () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const end = () => {
    for (const socket of sockets.clients) socket.terminate();
    server.closeAllConnections();
  };
  const at = (kind: string) => `http://127.0.0.1:${port}/${kind}`;
  const bearer = (password: string) => ({ Authorization: `Bearer ${password}` });
  const headers = (kind: string) => (password: string) => ({ url: at(kind), headers: bearer(password) });
  const socket = (password: string) => ({ addr: `127.0.0.1:${port}`, path: '/', requestHeader: bearer(password) });
  const points = { org: 'o', bucket: 'b' };
  return {
    sides: [
      {
        type: 'rest',
        part: 'sink',
        login: headers('rest'),
        own: { method: 'post', sendSingle: true },
        loses: true,
      },
      { type: 'httppull', part: 'source', login: headers('pull'), own: { interval: 20 } },
      { type: 'sse', part: 'source', login: (token) => ({ url: at('sse'), token }) },
      { type: 'websocket', part: 'source', login: socket },
      { type: 'websocket', part: 'sink', login: socket },
      {
        type: 'influx2',
        part: 'sink',
        login: (token) => ({ addr: `http://127.0.0.1:${port}`, ...points, token }),
        own: { measurement: 'm' },
      },
      { type: 'prometheus', part: 'sink', login: (token) => ({ url: at('write'), token }) },
      {
        type: 'tdengine3',
        part: 'sink',
        login: (password) => ({ host: '127.0.0.1', port, database: 'd', user: 'u', password }),
        own: { table: 't', tsFieldName: 'ts', fields: ['id'] },
      },
    ],
    change: async (password) => {
      now = password;
      end();
    },
    refusal: /401/,
    close: () => {
      end();
      sockets.close();
      server.close();
    },
  };
}

async function postgresSides(): Promise<OtherSide> {
  const postgres = await sharedPostgres();
  const role = `renewed_${process.pid}`;
  const set = (password: string) => postgres.query(`ALTER ROLE ${role} PASSWORD '${password}'`);
  await postgres.query(`CREATE ROLE ${role} LOGIN`);
  await set(one);
  await postgres.query('CREATE TABLE written (id int); CREATE TABLE given (id int); INSERT INTO given VALUES (1)');
  await postgres.query(`GRANT ALL ON written, given TO ${role}`);
  const login = (password: string) => {
    const url = new URL(postgres.url);
    Object.assign(url, { username: role, password });
    return { dburl: url.href };
  };
  return {
    sides: [
      {
        type: 'sql',
        part: 'sink',
        login,
        own: { table: 'written', fields: ['id'] },
        arrived: async () => (await postgres.query('SELECT id FROM written')).map(({ id }) => Number(id)),
      },
      {
        type: 'sql',
        part: 'source',
        login,
        own: { interval: 20, internalSqlQueryCfg: { table: 'given' } },
      },
    ],
    change: async (password) => {
      await set(password);
      await postgres.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`);
    },
    refusal: /password authentication failed/,
    close: async () => {
      await postgres.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
      await postgres.close();
    },
  };
}

let server: TestServer;
test.before(async () => {
  server = await startServer({ env: { KUIPER__BASIC__CONNECTION__MAXRECONNECTINTERVAL: '300' } });
});
test.after(async () => void (await server.stop()));

async function accepted(method: string, path: string, body?: unknown): Promise<void> {
  const { status, text } = await server.request(method, path, body);
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
}

const status = async (id: string) => (await server.request('GET', `/rules/${id}/status`)).json as Props;

let number = 0;

/** Starts a rule on a named connection of the id; returns when it is started. */
async function begin({ type, part, login, own = {}, dataSource = '' }: Side, password: string): Promise<string> {
  const id = `r${++number}`;
  await accepted('POST', '/connections', { id, typ: type, props: login(password) });
  const stream = async (name: string, from: string, conf: Props, at: string) => {
    await accepted('PUT', `/metadata/sources/${from}/confKeys/${name}`, conf);
    const options = `DATASOURCE="${at}", TYPE="${from}", FORMAT="json", CONF_KEY="${name}"`;
    await accepted('POST', '/streams', { sql: `CREATE STREAM ${name} () WITH (${options})` });
  };
  let action: Props = { nop: {} };
  if (part === 'source') await stream(id, type, { connectionSelector: id, ...own }, dataSource);
  else {
    const path = join(server.data, id);
    mkdirSync(path);
    const lines = Array.from({ length: count }, (_, i) => `{"id":${i},"ts":${1_700_000_000_000 + i}}\n`);
    writeFileSync(join(path, 'rows.lines'), lines.join(''));
    await stream(id, 'file', { path, fileType: 'lines', interval: '1h', sendInterval: pauseMs }, '.');
    action = { [type]: { connectionSelector: id, sendSingle: true, ...own } };
  }
  const options = { forceExitTimeout: '100ms' };
  await accepted('POST', '/rules', { id, sql: `SELECT * FROM ${id}`, actions: [action], options });
  return id;
}

/** Resolves when so many more messages are out. */
function goesOn(id: string, send?: Side['send']): Promise<unknown> {
  let before: number | undefined;
  let last: Props = {};
  const found = eventually(`messages of ${id}`, async () => {
    last = await status(id);
    const out = Number(last.sinkRecordsOutTotal);
    before ??= out;
    await send?.(out);
    return out >= before + 5;
  });
  return found.catch((error: Error) => {
    throw new Error(`${error.message}: ${JSON.stringify(last)}`);
  });
}

async function takesUp(side: Side, other: OtherSide): Promise<void> {
  const { type, part, login, send, arrived, loses = false } = side;
  await other.change(one);
  const id = await begin(side, one);
  await goesOn(id, send);
  const began = (await status(id)).lastStartTimestamp;
  await other.change(two);
  await eventually(`the refusal of ${type}`, async () => other.refusal.test(JSON.stringify(await status(id))));
  await accepted('PUT', `/connections/${id}`, { id, typ: type, props: login(two) });
  await goesOn(id, send);
  if (part === 'sink' && !loses)
    await eventually('all rows', async () => (await status(id)).sinkRecordsOutTotal === count);
  if (arrived !== undefined) {
    const ids = new Set(
      await eventually('all ids', async () => {
        const all = await arrived();
        return new Set(all).size >= count ? all : undefined;
      }),
    );
    assert.is(ids.size, count);
  }
  const last = await status(id);
  assert.is(last.lastStartTimestamp, began);
  if (!loses) assert.is(last.sinkRecordsFailedTotal, 0);
  const shown = JSON.stringify(last) + (await server.request('GET', `/connections/${id}`)).text + server.output();
  for (const secret of [one, two]) assert.not.ok(shown.includes(secret), `${type} shows a secret`);
  await accepted('DELETE', `/rules/${id}`);
}

function tests(name: string, types: readonly string[], open: () => Promise<OtherSide>): void {
  let other: OtherSide;
  test(`${name} is there`, async () => {
    other = await open();
    assert.equal(
      other.sides.map(({ type, part }) => `${type} ${part}`),
      types,
    );
  });
  for (const [i, what] of types.entries()) {
    test(`${what}: a rule goes on with the new login`, () => takesUp(other.sides[i]!, other));
  }
  test(`${name} ends`, () => void other.close());
}

const httpTypes = ['rest sink', 'httppull source', 'sse source', 'websocket source', 'websocket sink'];
tests('a server of HTTP', [...httpTypes, 'influx2 sink', 'prometheus sink', 'tdengine3 sink'], httpSides);
if (needsRedis('logins of Redis that change')) {
  const types = ['redisPub sink', 'redisSub source', 'redisStream sink', 'redisStream source', 'edgex sink'];
  tests('Redis', types, redisSides);
}
if (needsInflux('logins of InfluxDB that change')) tests('InfluxDB', ['influx sink'], influxSides);
if (needsPostgres('logins of databases that change')) tests('PostgreSQL', ['sql sink', 'sql source'], postgresSides);

/** A source whose password is wrong at first; the right one is taken up as the rule runs. */
async function takesRightPassword(side: Side, password: string, refusal: RegExp): Promise<void> {
  const id = await begin(side, 'wrong');
  await eventually(`the refusal of ${side.type}`, async () => refusal.test(JSON.stringify(await status(id))));
  const began = (await status(id)).lastStartTimestamp;
  await accepted('PUT', `/connections/${id}`, { id, typ: side.type, props: side.login(password) });
  await goesOn(id, side.send);
  assert.is((await status(id)).lastStartTimestamp, began);
  await accepted('DELETE', `/rules/${id}`);
}

if (needsRabbit('logins of RabbitMQ that change')) {
  test('rabbitmq source: a rule goes on with the right login', async () => {
    const rabbit = await sharedRabbit();
    const queue = `renewed_${process.pid}`;
    const channel = await rabbit.client.createChannel();
    await channel.assertQueue(queue, { durable: false });
    const { username, password } = rabbitLogin;
    const login = (now: string) => ({ server: rabbit.url, username, password: now });
    const send = (id: number) => channel.sendToQueue(queue, Buffer.from(JSON.stringify({ id })));
    const side: Side = { type: 'rabbitmq', part: 'source', login, own: { queue }, send };
    await takesRightPassword(side, password, /ACCESS.REFUSED/);
    await channel.deleteQueue(queue);
    await rabbit.close();
  });
}

if (needsKafka('logins of Kafka that change')) {
  test('kafka source: a rule goes on with the right login', async () => {
    const kafka = await sharedKafka();
    const { saslUserName, password } = kafkaUser;
    const topic = `renewed_${process.pid}`;
    const own = { brokers: kafka.saslBrokers, saslAuthType: 'plain', saslUserName };
    const login = (now: string) => ({ ...own, password: now });
    const feeder: Side = { type: 'kafka', part: 'sink', login, own: { topic } };
    const id = await begin(feeder, password);
    await eventually('the topic', async () => Number((await status(id)).sinkRecordsOutTotal) > 0);
    const side: Side = { type: 'kafka', part: 'source', login, dataSource: topic };
    await takesRightPassword(side, password, /uthentication failed/);
    await accepted('DELETE', `/rules/${id}`);
    await kafka.close();
  });
}

test.run();
