/**
 * How often connectors try to reach a server that is away: several rules at once against a door that counts who comes
 * in. First it holds all, then it turns all away at one instant, and from then on each that comes.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { allConnectors } from '../../../host/connectors/index.js';
import { briefEnd } from '../../support/connectors/faults/site.js';
import { eventually, startServer, type TestServer } from '../../support/harness.js';

type Props = Record<string, unknown>;

/** Rules on one door, and the attempts of each after it was turned away. */
const rulesOfOne = 6;
const attempts = 4;
/** Bound of the time between two attempts, ms: that of the server's configuration. */
const maxMs = 400;
/** Least time of so many attempts: 200, 400, 400 and 400 ms, each up to a fifth shorter. */
const leastMs = 1100;
/** Sides that are tried at a time: attempts take no work, only time. */
const sidesAtOnce = 8;
/**
 * Six attempts between 160 and 200 ms or between 320 and 400 ms after an instant are further apart than this, ms; some
 * may come together while the thread is busy.
 */
const instantMs = 20;

class Door {
  readonly #held = new Set<Socket>();
  #isShut = false;
  /** When somebody came, after all were turned away, ms since then. */
  readonly came: number[] = [];
  #shutAt = 0;
  readonly #server = createServer((socket) => {
    socket.on('error', () => {});
    if (!this.#isShut) {
      this.#held.add(socket);
      return;
    }
    this.came.push(performance.now() - this.#shutAt);
    socket.destroy();
  });

  async open(): Promise<number> {
    // A failed test leaves it open.
    this.#server.unref();
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  get held(): number {
    return this.#held.size;
  }

  shut(): void {
    this.#isShut = true;
    this.#shutAt = performance.now();
    for (const socket of this.#held) socket.resetAndDestroy();
  }

  close(): void {
    this.#server.close();
  }
}

interface Side {
  readonly type: string;
  readonly part: 'source' | 'sink';
  /** Properties that lead to a port; `i` is the number of the rule. */
  to(port: number, i: number): Props;
  readonly dataSource?: string;
  /** All rules come in together. */
  readonly isOne?: boolean;
}

const host = '127.0.0.1';
const login = (i: number) => ({ username: `u${i}`, password: 'p' });
const bus = (type: string) => (port: number, i: number) => ({
  type,
  server: host,
  port,
  topic: 'rows',
  optional: { Username: `u${i}`, Password: 'p' },
});
const http = (port: number) => ({ url: `http://${host}:${port}/rows`, interval: 1000 });
const at = (scheme: string) => (port: number) => `${scheme}://${host}:${port}`;
const kafka = (port: number, i: number) => ({
  brokers: `${host}:${port}`,
  saslAuthType: 'plain',
  saslUserName: `u${i}`,
  password: 'p',
});
const address = (port: number, i: number) => ({ address: `${host}:${port}`, ...login(i) });
const points = { measurement: 'm', org: 'o', bucket: 'b', database: 'd' };

const sides: readonly Side[] = [
  { type: 'mqtt', part: 'source', dataSource: 'rows', to: (port) => ({ server: at('tcp')(port) }) },
  { type: 'mqtt', part: 'sink', to: (port, i) => ({ server: at('tcp')(port), topic: 'rows', ...login(i) }) },
  { type: 'nats', part: 'source', dataSource: 'rows', to: (port) => ({ server: at('nats')(port) }) },
  { type: 'nats', part: 'sink', to: (port, i) => ({ server: at('nats')(port), subject: 'rows', ...login(i) }) },
  { type: 'kafka', part: 'source', dataSource: 'rows', to: kafka },
  { type: 'kafka', part: 'sink', to: (port, i) => ({ ...kafka(port, i), topic: 'rows' }) },
  { type: 'rabbitmq', part: 'source', dataSource: 'rows', to: (port) => ({ server: at('amqp')(port) }) },
  { type: 'rabbitmq', part: 'sink', to: (port, i) => ({ server: at('amqp')(port), queue: 'rows', ...login(i) }) },
  { type: 'redis', part: 'sink', to: (port, i) => ({ addr: `${host}:${port}`, key: 'rows', ...login(i) }) },
  { type: 'redisPub', part: 'sink', to: (port, i) => ({ ...address(port, i), channel: 'rows' }) },
  { type: 'redisSub', part: 'source', to: (port, i) => ({ ...address(port, i), channels: ['rows'] }) },
  { type: 'redisStream', part: 'source', dataSource: 'rows', to: address },
  { type: 'redisStream', part: 'sink', to: (port, i) => ({ ...address(port, i), stream: 'rows' }) },
  ...['redis', 'mqtt', 'nats-core'].flatMap((type) => [
    { type: 'edgex', part: 'source' as const, to: bus(type) },
    { type: 'edgex', part: 'sink' as const, to: bus(type) },
  ]),
  ...['postgres', 'mysql', 'sqlserver'].flatMap((kind) => [
    {
      type: 'sql',
      part: 'source' as const,
      dataSource: 'rows',
      to: (port: number, i: number) => ({
        dburl: `${kind}://u${i}:p@${host}:${port}/d`,
        interval: 1000,
        internalSqlQueryCfg: { table: 'rows' },
      }),
    },
    {
      type: 'sql',
      part: 'sink' as const,
      to: (port: number, i: number) => ({ dburl: `${kind}://u${i}:p@${host}:${port}/d`, table: 'rows' }),
    },
  ]),
  { type: 'httppull', part: 'source', to: http },
  { type: 'rest', part: 'sink', to: http },
  { type: 'sse', part: 'source', to: http },
  { type: 'websocket', part: 'source', to: (port) => ({ addr: `${host}:${port}`, path: '/rows' }) },
  { type: 'websocket', part: 'sink', to: (port) => ({ addr: `${host}:${port}`, path: '/rows' }) },
  ...['influx', 'influx2'].map((type) => ({
    type,
    part: 'sink' as const,
    to: (port: number) => ({ addr: at('http')(port), ...points }),
  })),
  { type: 'prometheus', part: 'sink', to: (port) => ({ url: `${at('http')(port)}/api/v1/write` }) },
  { type: 'tdengine3', part: 'sink', to: (port) => ({ host, port, database: 'd', table: 't', tsFieldName: 'ts' }) },
  { type: 'neuron', part: 'source', to: (port) => ({ url: at('tcp')(port) }), isOne: true },
  { type: 'neuron', part: 'sink', to: (port) => ({ url: at('tcp')(port), raw: true }), isOne: true },
  { type: 'zmq', part: 'source', to: (port) => ({ server: at('tcp')(port) }) },
];

/** Kinds that reach no server by TCP themselves. */
const others = {
  zmq: 'sinks wait for others at an address of their own',
  nng: 'it is a connection without parts',
  httppush: 'others come to the data server',
  sse: 'clients of sinks come to the data server',
};

let server: TestServer;
test.before(async () => {
  server = await startServer({ env: { KUIPER__BASIC__CONNECTION__MAXRECONNECTINTERVAL: String(maxMs) } });
  await accepted('PUT', '/metadata/sources/simulator/confKeys/ticks', { data: [{ id: 1 }], interval: 500 });
  await accepted('POST', '/streams', { sql: 'CREATE STREAM ticks () WITH (TYPE="simulator", CONF_KEY="ticks")' });
  tryAll();
});
test.after(async () => void (await server.stop('SIGKILL')));

async function accepted(method: string, path: string, body: unknown): Promise<void> {
  const { status, text } = await server.request(method, path, body);
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
}

let count = 0;

async function begin({ type, part, dataSource = '', to }: Side, port: number, i: number): Promise<string> {
  const id = `r${++count}`;
  const props = to(port, i);
  if (part === 'sink') {
    const rule = { id, sql: 'SELECT id FROM ticks', actions: [{ [type]: props }], options: briefEnd };
    await accepted('POST', '/rules', rule);
    return id;
  }
  await accepted('PUT', `/metadata/sources/${type}/confKeys/${id}`, props);
  const options = `DATASOURCE="${dataSource}", TYPE="${type}", FORMAT="json", CONF_KEY="${id}"`;
  await accepted('POST', '/streams', { sql: `CREATE STREAM ${id} () WITH (${options})` });
  await accepted('POST', '/rules', { id, sql: `SELECT * FROM ${id}`, actions: [{ nop: {} }], options: briefEnd });
  return id;
}

/** When rules of the side came again, ms after all were turned away at one instant. */
async function timesOf(side: Side): Promise<readonly number[]> {
  const door = new Door();
  const port = await door.open();
  const ids = await Promise.all(Array.from({ length: rulesOfOne }, (_, i) => begin(side, port, i)));
  await eventually('all rules at the door', () => door.held >= (side.isOne === true ? 1 : rulesOfOne));
  door.shut();
  await eventually(`${attempts} attempts of each rule`, () => door.came.length >= rulesOfOne * attempts);
  const times = [...door.came];
  await Promise.all(ids.map((id) => server.request('DELETE', `/rules/${id}`)));
  door.close();
  return times;
}

const outcomes = new Map<Side, Promise<readonly number[]>>();

/** Each is tried as soon as one before it is done. */
function tryAll(): void {
  const lanes = Array.from({ length: sidesAtOnce }, () => Promise.resolve<unknown>(undefined));
  for (const [i, side] of sides.entries()) {
    const lane = i % sidesAtOnce;
    const outcome = lanes[lane]!.then(() => timesOf(side));
    lanes[lane] = outcome.catch(() => {});
    outcomes.set(side, outcome);
  }
}

for (const side of sides) {
  const { type, part } = side;
  const kind = Object.values(side.to(1, 0)).find((value) => /^(redis|mqtt|nats-core|\w+:\/\/u0)/.test(String(value)));
  test(`${type} ${part} ${kind ?? ''}: attempts are spaced, and those of several rules are spread`, async () => {
    const came = await outcomes.get(side)!;
    const last = came[rulesOfOne * attempts - 1] ?? 0;
    const rounds = Array.from({ length: attempts }, (_, i) => came.slice(i * rulesOfOne, (i + 1) * rulesOfOne));
    const widest = Math.max(...rounds.map((times) => times.at(-1)! - times[0]!));
    assert.ok(last >= leastMs, `there were ${rulesOfOne * attempts} attempts in ${last} ms: ${came}`);
    assert.ok(widest > instantMs, `all come again at one instant: ${came}`);
  });
}

test('each kind of source and sink that reaches a server is tried above', () => {
  const tried = new Set(sides.map(({ type, part }) => `${type} ${part}`));
  const missing = allConnectors()
    .filter(({ connection, name }) => connection !== undefined && !(name in others))
    .flatMap(({ name, source, sink }) => [source && `${name} source`, sink && `${name} sink`])
    .filter((one) => one !== undefined && !tried.has(one));
  assert.equal(missing, []);
});

test.run();
