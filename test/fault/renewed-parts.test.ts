/**
 * A password that changes while rules are divided: over the nodes of a cluster, or among the threads of a server. All
 * parts of a rule read and write with the new one, none restarts, and no row is lost or repeated.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer } from '../support/harness.js';
import { startNode } from '../support/servers/cluster.js';
import { managerOf, needsNats, openNats, streamsOf, type TestNats } from '../support/servers/nats.js';

const keys = Array.from({ length: 12 }, (_, i) => `k${i}`);
/** Rows of each key between two changes. */
const some = 20;

interface Row {
  readonly key: string;
  readonly n: number;
  readonly total: number;
}

/** The server with the rows, which takes one password. */
class Plant {
  readonly #sent = new Map<string, number>();

  private constructor(public nats: TestNats) {}

  static async open(password: string): Promise<Plant> {
    const plant = new Plant(await opened(password));
    const manager = await managerOf(plant.nats.client);
    const dest = 'orders.{{partition(4,1)}}.{{wildcard(1)}}';
    await manager.streams.add({ name: 'ORDERS', subjects: ['in.*'], subject_transform: { src: 'in.*', dest } });
    await manager.streams.add({ name: 'RESULTS', subjects: ['result'] });
    return plant;
  }

  /** Takes another password from now on, and ends all connections. */
  async change(password: string): Promise<void> {
    const { port, store } = this.nats;
    await this.nats.close();
    this.nats = await opened(password, port, store);
  }

  /** Publishes the next numbers of each key. */
  async send(): Promise<void> {
    const stream = streamsOf(this.nats.client);
    for (let i = 0; i < some; i++) {
      await Promise.all(
        keys.map(async (key) => {
          const n = (this.#sent.get(key) ?? 0) + 1;
          this.#sent.set(key, n);
          await stream.publish(`in.${key}`, JSON.stringify({ key, n }));
        }),
      );
    }
  }

  /** Waits for a row for each that was sent. */
  async whole(): Promise<void> {
    const manager = await managerOf(this.nats.client);
    const total = [...this.#sent.values()].reduce((sum, n) => sum + n, 0);
    await eventually(`${total} rows`, async () => (await manager.streams.info('RESULTS')).state.messages >= total);
  }

  /** Rows that have come, by key. */
  async rows(): Promise<Map<string, Row[]>> {
    const found = new Map<string, Row[]>(keys.map((key) => [key, []]));
    const { messages } = (await (await managerOf(this.nats.client)).streams.info('RESULTS')).state;
    const consumer = await streamsOf(this.nats.client).consumers.get('RESULTS');
    for (let i = 0; i < messages; i++) {
      const row = (await consumer.next())!.json<Row>();
      found.get(row.key)!.push(row);
    }
    return found;
  }
}

function opened(pass: string, port?: number, store?: string): Promise<TestNats> {
  const conf = `authorization { user: plant, password: ${pass} }`;
  return openNats({ conf, login: { user: 'plant', pass }, ...(port && { port }), ...(store && { store }) });
}

async function accepted(server: TestServer, method: string, path: string, body: object): Promise<void> {
  const { status, text } = await server.request(method, path, body);
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
}

interface Place {
  /** Servers, of which the first is told all. */
  open(): Promise<{ servers: readonly TestServer[]; close(): Promise<unknown> }>;
  readonly stream: string;
  readonly options: object;
  /** Whether the parts are in more than one place, by the status of the rule. */
  isSpread(status: Readonly<Record<string, unknown>>): boolean;
}

const threads = { KUIPER__BASIC__DATAPLANES: '2' };

async function openCluster(env: Record<string, string>) {
  const nats = await openNats();
  const servers = [await startNode(nats, 'a', env), await startNode(nats, 'b', env)];
  const close = async () => {
    await Promise.all(servers.map((server) => server.stop('SIGKILL')));
    await nats.close();
  };
  return { servers, close };
}

const differ = (values: readonly unknown[]) => !values.includes(undefined) && new Set(values).size > 1;
const inThreads = (status: Readonly<Record<string, unknown>>) =>
  differ([0, 1, 2, 3].map((i) => status[`part_${i}_data_plane`]));

const places: Readonly<Record<string, Place>> = {
  'partitions over two nodes': {
    open: () => openCluster({}),
    stream: 'DATASOURCE="orders.{0-3}.*"',
    options: { qos: 2 },
    isSpread: (status) => differ([0, 1, 2, 3].map((i) => status[`partition_${i}_node`])),
  },
  'parts in the threads of a node': {
    open: () => openCluster(threads),
    stream: 'DATASOURCE="orders.>", SHARED="true"',
    options: {},
    isSpread: inThreads,
  },
  'parts in the threads of a server': {
    open: async () => {
      const server = await startServer({ env: threads });
      return { servers: [server], close: () => server.stop() };
    },
    stream: 'DATASOURCE="orders.>", SHARED="true"',
    options: { qos: 2 },
    isSpread: inThreads,
  },
};

if (needsNats('passwords that change while rules are divided')) {
  for (const [name, place] of Object.entries(places)) {
    for (const by of ['a named connection', 'a configuration key'] as const) {
      test(`${name} go on with the new password of ${by}: nothing is lost or repeated`, async () => {
        const plant = await Plant.open('first');
        const { servers, close } = await place.open();
        try {
          await goesOn(plant, servers, place, by);
        } finally {
          await close();
          await plant.nats.close();
        }
      });
    }
  }
}

async function goesOn(plant: Plant, servers: readonly TestServer[], place: Place, by: string): Promise<void> {
  const server = servers[0]!;
  const other = servers.at(-1)!;
  const put = async (password: string) => {
    const login = { server: plant.nats.url, username: 'plant', password };
    const method = password === 'first' ? 'POST' : 'PUT';
    const path = password === 'first' ? '/connections' : '/connections/plant';
    await accepted(other, method, path, { id: 'plant', typ: 'nats', props: login });
    const key = {
      stream: 'ORDERS',
      deliverPolicy: 'all',
      ...(by === 'a named connection' ? { connectionSelector: 'plant' } : login),
    };
    if (password !== 'first' && by === 'a named connection') return;
    await accepted(other, 'PUT', '/metadata/sources/nats/confKeys/orders', key);
  };
  const statusOf = async () => (await server.request('GET', '/rules/totals/status')).json;
  await put('first');
  const options = `${place.stream}, TYPE="nats", FORMAT="JSON", CONF_KEY="orders"`;
  await eventually('the stream', async () => {
    const sql = `CREATE STREAM orders (key STRING, n BIGINT) WITH (${options})`;
    return (await server.request('POST', '/streams', { sql })).status < 300;
  });
  await accepted(server, 'POST', '/rules', {
    id: 'totals',
    sql: 'SELECT key, n, acc_sum(n) OVER (PARTITION BY key) AS total FROM orders',
    actions: [{ nats: { connectionSelector: 'plant', subject: 'result', jetStream: true, sendSingle: true } }],
    options: { parallelism: 4, checkpointInterval: '100ms', ...place.options },
  });
  await plant.send();
  await plant.whole();
  const before = await eventually('parts in two places', async () => {
    const status = await statusOf();
    return place.isSpread(status) && status;
  });
  await plant.change('second');
  await plant.send();
  await eventually('the refusal', async () => /uthoriz/.test(JSON.stringify(await statusOf())));
  await put('second');
  await plant.send();
  await plant.whole();
  const after = await statusOf();
  assert.is(after.status, 'Running');
  assert.is(after.lastStartTimestamp, before.lastStartTimestamp, 'no part restarts');
  for (const [key, rows] of await plant.rows()) {
    const expected = Array.from({ length: 3 * some }, (_, i) => ({ key, n: i + 1, total: ((i + 1) * (i + 2)) / 2 }));
    assert.equal(rows, expected, key);
  }
}

test.run();
