/** Rules on a topic of Kafka that are divided by its partitions, over three nodes of which one is killed. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, type TestServer } from '../../support/harness.js';
import { ownerOf, startNode } from '../../support/servers/cluster.js';
import { readCommitted } from '../../support/servers/kafka/committed.js';
import { committedOf, makeTopic, produce } from '../../support/servers/kafka/messages.js';
import { type KafkaBroker, needsKafka, sharedKafka } from '../../support/servers/kafka.js';
import { needsNats, openNats, type TestNats } from '../../support/servers/nats.js';

if (needsNats('Kafka in a cluster') && needsKafka('Kafka in a cluster')) {
  let nats: TestNats;
  let kafka: KafkaBroker;
  const nodes = new Map<string, TestServer>();
  const names = ['a', 'b', 'c'];
  const keys = Array.from({ length: 12 }, (_, i) => `k${i}`);
  const partitions = 6;
  const parallelism = 3;
  let sent = 0;
  const node = (name: string): TestServer => nodes.get(name)!;

  async function post(path: string, body: object): Promise<{ status: number; text: string }> {
    return node('a').request('POST', path, body);
  }

  /** Sends the next numbers of each key. */
  async function send(count: number): Promise<void> {
    const numbers = Array.from({ length: count }, () => ++sent);
    const messages = numbers.flatMap((n) =>
      keys.map((key) => ({ topic: 'orders', key, value: JSON.stringify({ key, n }) })),
    );
    await produce(kafka.brokers, messages);
  }

  const rule = (id: string, stream: string, options: object) => ({
    id,
    sql: `SELECT key, n, acc_sum(n) OVER (PARTITION BY key) AS total FROM ${stream}`,
    actions: [{ kafka: { brokers: kafka.brokers, topic: `${id}-out`, sendSingle: true, transactionalIdPrefix: id } }],
    options: { parallelism, checkpointInterval: '100ms', forceExitTimeout: '100ms', ...options },
  });

  async function owners(id: string): Promise<(string | undefined)[]> {
    return Promise.all([0, 1, 2].map((part) => ownerOf(node('a'), `${id}:${part}`)));
  }

  /** Rows of a rule, by key, as they came; waits until each number has one. */
  async function results(id: string): Promise<Map<string, { n: number; total: number }[]>> {
    const read = (values: readonly { value: string }[]) => {
      const found = new Map<string, { n: number; total: number }[]>(keys.map((key) => [key, []]));
      for (const { value } of values) {
        const { key, n, total } = JSON.parse(value) as { key: string; n: number; total: number };
        found.get(key)!.push({ n, total });
      }
      return found;
    };
    const isAll = (values: readonly { value: string }[]) =>
      [...read(values).values()].every((rows) => new Set(rows.map(({ n }) => n)).size === sent);
    return read(await readCommitted(kafka.brokers, `${id}-out`, isAll));
  }

  test.before(async () => {
    [nats, kafka] = await Promise.all([openNats(), sharedKafka()]);
    await makeTopic(kafka.brokers, 'orders', partitions);
    for (const id of ['once', 'least']) await makeTopic(kafka.brokers, `${id}-out`);
    await Promise.all(names.map(async (name) => nodes.set(name, await startNode(nats, name))));
    for (const id of ['once', 'least']) {
      const conf = { brokers: kafka.brokers, groupID: id };
      await node('a').request('PUT', `/metadata/sources/kafka/confKeys/${id}`, conf);
      const options = `DATASOURCE="orders", TYPE="kafka", FORMAT="JSON", CONF_KEY="${id}"`;
      const { status, text } = await post('/streams', {
        sql: `CREATE STREAM ${id} (key STRING, n BIGINT) WITH (${options})`,
      });
      assert.is(status, 201, text);
    }
  });

  test.after(async () => {
    await Promise.all([...nodes.values()].map((one) => one.stop('SIGKILL')));
    await Promise.all([nats.close(), kafka.close()]);
  });

  test('parts of a killed node go on elsewhere: no row is lost, with qos 2 none repeated', async () => {
    for (const [id, qos] of [
      ['once', 2],
      ['least', 1],
    ] as const) {
      const { status, text } = await post('/rules', rule(id, id, { qos }));
      assert.is(status, 201, text);
    }
    const explained = (await node('b').request('GET', '/rules/once/explain')).text;
    assert.match(explained, 'kafka counts the partitions: part n of 3 reads those of number n, n + 3 and so on');
    assert.match(explained, '"guarantee":"exactly once"');
    const areRunning = (id: string, seenBy: string) =>
      eventually(`${id} at ${seenBy}`, async () => {
        const { json } = await node(seenBy).request('GET', `/rules/${id}/status`);
        return json.status === 'Running' || undefined;
      });
    for (const id of ['once', 'least']) await areRunning(id, 'b');
    const before = await owners('once');
    assert.ok(new Set(before).size > 1, before.join());
    for (let i = 0; i < 4; i++) await send(5);
    const killed = before.find((name) => name !== 'a')!;
    await node(killed).stop('SIGKILL');
    for (let i = 0; i < 4; i++) await send(5);
    await eventually('the parts run elsewhere', async () => {
      const now = [...(await owners('once')), ...(await owners('least'))];
      return now.every((name) => name !== undefined && name !== killed) || undefined;
    });
    for (let i = 0; i < 4; i++) await send(5);
    const expected = Array.from({ length: 60 }, (_, i) => ({ n: i + 1, total: ((i + 1) * (i + 2)) / 2 }));
    for (const [key, rows] of await results('least')) {
      const first = expected.map(({ n }) => rows.find((row) => row.n === n));
      assert.equal(first, expected, `least ${key}`);
    }
    for (const [key, rows] of await results('once')) assert.equal(rows, expected, `once ${key}`);
  });

  test('the group has what the checkpoints have, so that programs for Kafka show the lag', async () => {
    const all = Array.from({ length: partitions }, (_, i) => i);
    await eventually('all offsets', async () => {
      const offsets = await committedOf(kafka.brokers, 'once', 'orders', all);
      return offsets.reduce((sum, offset) => sum + offset, 0) === sent * keys.length || undefined;
    });
  });

  test('what can not be divided is refused, and so is another number of parts', async () => {
    const whole = { ...rule('all', 'once', { qos: 2 }), sql: 'SELECT n, acc_sum(n) AS total FROM once' };
    assert.match((await post('/rules', whole)).text, /looks back at rows of all keys/);
    const more = await node('a').request('PUT', '/rules/once', rule('once', 'once', { qos: 2, parallelism: 4 }));
    assert.match(more.text, /can't be divided otherwise by an update.*delete it, and create it again/);
    const options = 'DATASOURCE="orders {0/2}", TYPE="kafka", FORMAT="JSON", CONF_KEY="once"';
    await post('/streams', { sql: `CREATE STREAM half (n BIGINT) WITH (${options})` });
    const twice = { ...rule('twice', 'half', {}), sql: 'SELECT n FROM half' };
    assert.match(
      (await post('/rules', twice)).text,
      /stream half is a share of the partitions of orders \{0\/2\} already/,
    );
  });
}

test.run();
