/** A rule on a stream with partitions, over three nodes of which one is killed. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, type TestServer } from '../../support/harness.js';
import { clusterOf, ownerOf, startNode } from '../../support/servers/cluster.js';
import { managerOf, needsNats, openNats, streamsOf, type TestNats } from '../../support/servers/nats.js';

if (needsNats('partitions in a cluster')) {
  let nats: TestNats;
  const nodes = new Map<string, TestServer>();
  const names = ['a', 'b', 'c'];
  const keys = Array.from({ length: 12 }, (_, i) => `k${i}`);
  const sent = new Map<string, number>(keys.map((key) => [key, 0]));
  const node = (name: string): TestServer => nodes.get(name)!;

  async function post(path: string, body: object): Promise<{ status: number; text: string }> {
    return node('a').request('POST', path, body);
  }

  /** Publishes the next number of each key. */
  async function send(): Promise<void> {
    const stream = streamsOf(nats.client);
    await Promise.all(
      keys.map(async (key) => {
        const n = sent.get(key)! + 1;
        await stream.publish(`in.${key}`, JSON.stringify({ key, n }));
        sent.set(key, n);
      }),
    );
  }

  /** Results of a rule by key, as they came. */
  async function results(rule: string): Promise<Map<string, { n: number; total: number }[]>> {
    const manager = await managerOf(nats.client);
    const { state } = await manager.streams.info('RESULTS', { subjects_filter: `result.${rule}` });
    const count = state.subjects?.[`result.${rule}`] ?? 0;
    const found = new Map<string, { n: number; total: number }[]>(keys.map((key) => [key, []]));
    const consumer = await streamsOf(nats.client).consumers.get('RESULTS', { filter_subjects: `result.${rule}` });
    for (let i = 0; i < count; i++) {
      const { key, n, total } = (await consumer.next())!.json<{ key: string; n: number; total: number }>();
      found.get(key)!.push({ n, total });
    }
    return found;
  }

  async function owners(rule: string, seenBy: string): Promise<(string | undefined)[]> {
    return Promise.all([0, 1, 2, 3].map((i) => ownerOf(node(seenBy), `${rule}:${i}`)));
  }

  /** The status of the rule, when all its partitions run: a node may lose its leases at any time. */
  const running = (seenBy: string): Promise<Readonly<Record<string, unknown>>> =>
    eventually('all partitions run', async () => {
      const { json } = await node(seenBy).request('GET', '/rules/parts/status');
      return json.status === 'Running' ? json : undefined;
    });

  /** Nodes that run the partitions, as the status of the rule says. */
  const placesIn = (status: Readonly<Record<string, unknown>>) =>
    [0, 1, 2, 3].map((i) => status[`partition_${i}_node`]);

  const rule = (id: string, options: object) => ({
    id,
    sql: 'SELECT key, n, acc_sum(n) OVER (PARTITION BY key) AS total FROM orders',
    actions: [{ nats: { server: nats.url, subject: `result.${id}`, jetStream: true, sendSingle: true } }],
    options: { checkpointInterval: '100ms', forceExitTimeout: '100ms', ...options },
  });

  test.before(async () => {
    nats = await openNats();
    const manager = await managerOf(nats.client);
    const dest = 'orders.{{partition(4,1)}}.{{wildcard(1)}}';
    await manager.streams.add({ name: 'ORDERS', subjects: ['in.*'], subject_transform: { src: 'in.*', dest } });
    await manager.streams.add({ name: 'RESULTS', subjects: ['result.>'] });
    await Promise.all(names.map(async (name) => nodes.set(name, await startNode(nats, name))));
    await node('a').request('PUT', '/metadata/sources/nats/confKeys/orders', { server: nats.url, stream: 'ORDERS' });
    const options = 'DATASOURCE="orders.{0-3}.*", TYPE="nats", FORMAT="JSON", CONF_KEY="orders"';
    const { status, text } = await post('/streams', {
      sql: `CREATE STREAM orders (key STRING, n BIGINT) WITH (${options})`,
    });
    assert.is(status, 201, text);
  });

  test.after(async () => {
    await Promise.all([...nodes.values()].map((one) => one.stop('SIGKILL')));
    await nats.close();
  });

  test('a rule can be divided when its rows depend on one partition, and has a part for each', async () => {
    const few = await post('/rules', rule('few', { parallelism: 3 }));
    assert.match(few.text, /stream orders has 4 partitions/);
    const all = { ...rule('all', { parallelism: 4 }), sql: 'SELECT n, acc_sum(n) AS total FROM orders' };
    assert.match((await post('/rules', all)).text, /looks back at rows of all keys/);
    const hits = { ...rule('hits', { parallelism: 4 }), sql: 'SELECT n, last_hit_count() AS hits FROM orders' };
    assert.match((await post('/rules', hits)).text, /last_hit_count tells of the whole rule/);
    const file = { ...rule('file', { parallelism: 4, qos: 1 }), actions: [{ file: { path: 'rows.txt' } }] };
    assert.match((await post('/rules', file)).text, /partitions can't write one file together/);
    const options = 'DATASOURCE="a.{0-1}.{0-3}", TYPE="nats", FORMAT="JSON", CONF_KEY="orders"';
    await post('/streams', { sql: `CREATE STREAM twice () WITH (${options})` });
    const twice = { ...rule('twice', { parallelism: 2 }), sql: 'SELECT n FROM twice' };
    assert.match((await post('/rules', twice)).text, /one range at most may stand in a subject/);
  });

  test('partitions of a killed node go on elsewhere: no row is lost or repeated', async () => {
    for (const [id, options] of [
      ['parts', { qos: 2, parallelism: 4 }],
      ['whole', { qos: 2 }],
    ] as const) {
      const { status, text } = await post('/rules', rule(id, options));
      assert.is(status, 201, text);
    }
    await running('b');
    // What one node says of them another may not know yet.
    const before = await eventually('a node for each partition', async () => {
      const now = await owners('parts', 'a');
      return now.every((name) => name !== undefined) ? now : undefined;
    });
    assert.ok(new Set(before).size > 1, before.join());
    for (let i = 0; i < 20; i++) await send();
    const killed = before.find((name) => name !== 'a')!;
    await node(killed).stop('SIGKILL');
    for (let i = 0; i < 20; i++) await send();
    await eventually('the partitions run elsewhere', async () => {
      const now = await owners('parts', 'a');
      return now.every((name) => name !== undefined && name !== killed) || undefined;
    });
    for (let i = 0; i < 20; i++) await send();
    const total = keys.length * 60;
    for (const id of ['parts', 'whole']) {
      await eventually(`all rows of ${id}`, async () => {
        const info = await (await managerOf(nats.client)).streams.info('RESULTS', { subjects_filter: '>' });
        return (info.state.subjects?.[`result.${id}`] ?? 0) >= total || undefined;
      });
      for (const [key, rows] of await results(id)) {
        const expected = Array.from({ length: 60 }, (_, i) => ({ n: i + 1, total: ((i + 1) * (i + 2)) / 2 }));
        assert.equal(rows, expected, `${id} ${key}`);
      }
    }
  });

  test('a partition that moved is counted at the node that has it, and nowhere else', async () => {
    const drained = (await owners('parts', 'a')).find((name) => name !== undefined)!;
    assert.is((await node('a').request('POST', `/cluster/nodes/${drained}/drain`)).status, 200);
    await eventually('its partitions elsewhere', async () => {
      // Places and state of one answer: a lease moves first, and its partition runs on at the former node for a while.
      const { json } = await node('a').request('GET', '/rules/parts/status');
      const places = placesIn(json);
      return (json.status === 'Running' && places.every((name) => name !== undefined && name !== drained)) || undefined;
    });
    await send();
    const counted = () => node('a').request('GET', '/rules/parts/status');
    const sumOf = (json: Record<string, number>) =>
      [0, 1, 2, 3].reduce((sum, i) => sum + (json[`partition_${i}_records_in_total`] ?? 0), 0);
    await eventually('the same at all nodes', async () => {
      const { json } = await counted();
      const texts = await Promise.all(
        [...nodes.values()].map((one) => one.request('GET', '/metrics').catch(() => ({ text: '' }))),
      );
      const samples = texts.flatMap(({ text }) => [
        ...text.matchAll(/^kuiper_source_records_in_total\{[^}]*rule="parts"[^}]*\} (\d+)/gm),
      ]);
      const all = samples.reduce((sum, [, value]) => sum + Number(value), 0);
      return (all >= keys.length && all === sumOf(json) && all === json.sourceRecordsInTotal) || undefined;
    }).catch(async () => assert.unreachable(`not ${JSON.stringify((await counted()).json)}`));
  });

  test('the status is that of all partitions, and a rule that is deleted leaves none', async () => {
    await running('a');
    const whole = await node('a').request('PUT', '/rules/parts', rule('parts', { qos: 2 }));
    assert.match(whole.text, /can't be divided otherwise by an update.*delete it, and create it again/);
    const options = 'DATASOURCE="orders.{0-7}.*", TYPE="nats", FORMAT="JSON", CONF_KEY="orders"';
    const sql = (datasource: string) => `CREATE STREAM orders (key STRING, n BIGINT) WITH (${datasource})`;
    await node('a').request('PUT', '/streams/orders', { sql: sql(options) });
    const started = await node('a').request('POST', '/rules/parts/start');
    assert.match(started.text, /stream orders has 8 partitions, so it has to be 8/);
    await node('a').request('PUT', '/streams/orders', { sql: sql(options.replace('{0-7}', '{0-3}')) });
    assert.is((await node('a').request('POST', '/rules/parts/start')).status, 200);
    assert.equal(placesIn(await running('a')), await owners('parts', 'a'));
    const list = (await node('a').request('GET', '/rules')).json as { id: string }[];
    assert.equal(list.map(({ id }) => id).sort(), ['parts', 'whole']);
    assert.is((await node('a').request('DELETE', '/rules/parts')).status, 200);
    await eventually('no lease of it', async () => {
      const { leases } = await clusterOf(node('a'));
      return leases?.every(({ rule: id }) => !id.startsWith('parts')) || undefined;
    });
  });
}

test.run();
