/**
 * A rule with checkpoints that takes more than its share on a shared stream waits apart from the others, which go on.
 * After kill -9, at any moment of that, it goes on from its own place: each row once, whatever had come to it.
 * `HAUMEA_THROTTLE_SEED` and `HAUMEA_THROTTLE_KILLS` set which moments, and how many.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MqttClient } from 'mqtt';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { random } from '../../../bench/workloads/workload.js';
import { connectClient } from '../../support/brokers/broker.js';
import { hasMosquitto, type Mosquitto, openMosquitto } from '../../support/brokers/mosquitto.js';
import { range } from '../../support/brokers/plant.js';
import { announceSkip, eventually, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';

const seed = Number(process.env.HAUMEA_THROTTLE_SEED ?? 7);
const kills = Number(process.env.HAUMEA_THROTTLE_KILLS ?? 2);
const next = random(seed);
/** An integer from `from` on, below `to`. */
const between = (from: number, to: number) => from + Math.floor(next() * (to - from));

/** A character that is not matched by JavaScript's engine costs about a microsecond for each of the patterns. */
const slow = 'length(regexp_replace(regexp_replace(regexp_replace(text, "(?U)x", "y"), "(?U)y", "z"), "(?U)z", "x"))';
/** Some ms of that. */
const text = 'x'.repeat(500);

let server: TestServer;
let data: string;
let broker: Mosquitto | undefined;
let client: MqttClient | undefined;
let sent = 0;

test.before.each(async () => {
  data = temporaryFolder();
  server = await startServer({ data });
  sent = 0;
});
test.after.each(async () => {
  await server.stop('SIGKILL');
  await client?.endAsync(true);
  await broker?.close();
  client = undefined;
  broker = undefined;
});

async function streamOf(type: 'mqtt' | 'file', dataSource: string, conf: object): Promise<void> {
  await server.request('PUT', `/metadata/sources/${type}/confKeys/in`, conf);
  const options = `TYPE="${type}", DATASOURCE="${dataSource}", CONF_KEY="in", SHARED="true"`;
  await made('/streams', { sql: `CREATE STREAM s () WITH (${options})` });
}

/** A stream with a session in the broker. */
async function brokerStream(): Promise<void> {
  broker = await openMosquitto();
  client = await connectClient(broker.url);
  const conf = { server: broker.url, qos: 1, clientid: `throttled-${broker.port}`, enableClientSession: true };
  await streamOf('mqtt', 't', conf);
}

const rows = () => join(data, 'rows');

/** A file that grows. */
async function fileStream(): Promise<void> {
  writeFileSync(rows(), '');
  await streamOf('file', 'rows', { path: data, fileType: 'lines', follow: true, interval: 10 });
}

if (!hasMosquitto) announceSkip('places of throttled rules', 'mosquitto is not installed');
const withBroker = hasMosquitto ? test : test.skip;

async function made(path: string, body: object): Promise<void> {
  const { status, text } = await server.request('POST', path, body);
  assert.is(status, 201, text);
}

const outOf = (id: string) => join(data, `${id}.out`);

const definition = (id: string, sql: string, options: object) => ({
  id,
  sql,
  actions: [{ file: { path: outOf(id), sendSingle: true } }],
  options,
});

async function rule(id: string, sql: string, options: object): Promise<void> {
  await made('/rules', definition(id, sql, options));
  await eventually(`the subscription of ${id}`, async () => (await status(id)).source_s_0_connection_status === 1);
}

// biome-ignore lint/suspicious/noExplicitAny: figures of all kinds
async function status(id: string): Promise<any> {
  const { json } = await server.request('GET', `/rules/${id}/status`);
  assert.not.match(json.status ?? '', /by error/i, json.message);
  return json;
}

async function send(count: number): Promise<void> {
  const messages = range(sent, sent + count).map((id) => JSON.stringify({ id, text }));
  sent += count;
  if (client === undefined) appendFileSync(rows(), messages.map((one) => `${one}\n`).join(''));
  else await Promise.all(messages.map((one) => client!.publishAsync('t', one, { qos: 1 })));
}

/** Whole lines of what a rule has written. */
function lines(id: string): { [name: string]: number }[] {
  if (!existsSync(outOf(id))) return [];
  const parts = readFileSync(outOf(id), 'utf8').split('\n').slice(0, -1);
  return parts.map((line) => JSON.parse(line) as { [name: string]: number });
}

const idsOf = (id: string) => lines(id).map((row) => row.id!);

async function kill(): Promise<void> {
  await server.stop('SIGKILL');
  server = await startServer({ data });
}

/** Sends rows until the rule waits apart from the others. */
async function throttled(id: string): Promise<void> {
  await eventually(
    `${id} to be throttled`,
    async () => {
      const { message = '', source_s_0_buffer_length: waiting } = await status(id);
      if (/throttled.* wait/.test(message)) return true;
      if (waiting < 100 && sent - (idsOf(id).at(-1) ?? 0) < 150) await send(50);
      return false;
    },
    60_000,
  );
}

const haveAll = (ids: readonly string[]) =>
  eventually(`all rows of ${ids}`, () => ids.every((id) => new Set(idsOf(id)).size === sent), 120_000);

async function killed(): Promise<void> {
  await rule('slow', `SELECT id, ${slow} AS n FROM s`, { qos: 2, checkpointInterval: '200ms' });
  await rule('sums', `SELECT min(id) AS low, max(id) AS high, count(*) AS n FROM s GROUP BY COUNTWINDOW(10)`, {
    qos: 2,
    checkpointInterval: '300ms',
  });
  await rule('exact', 'SELECT id FROM s', { qos: 2, checkpointInterval: '500ms' });
  await rule('least', 'SELECT id FROM s', { qos: 1, checkpointInterval: '1s' });
  await rule('plain', 'SELECT id FROM s', {});
  assert.not.match((await server.request('GET', '/rules/slow/explain')).text, /holdsOthers/);
  for (let round = 0; round < kills; round++) {
    await throttled('slow');
    await send(100);
    await haveAll(['exact', 'least', 'plain']);
    const had = idsOf('slow').length;
    assert.ok(had < sent, `they did not wait for the ${sent - had} rows that it has yet to read`);
    const until = between(had, sent + 1);
    await eventually(`${until} rows`, () => idsOf('slow').length >= until, 60_000);
    await kill();
  }
  await send(60);
  await haveAll(['slow', 'exact', 'least', 'plain']);
  for (const id of ['slow', 'exact']) assert.equal(idsOf(id), range(0, sent));
  const sums = range(0, Math.floor(sent / 10)).map((i) => ({ low: i * 10, high: i * 10 + 9, n: 10 }));
  assert.equal(lines('sums'), sums);
  assert.equal((await server.request('GET', '/losses')).json, []);
}

withBroker(`neighbours go on, and over kill -9 each row comes once (seed ${seed})`, async () => {
  await brokerStream();
  await killed();
});

test(`the same of a file that grows (seed ${seed})`, async () => {
  await fileStream();
  await killed();
});

withBroker(
  `the same when the rule is updated, or the server ends in order, while it is throttled (seed ${seed})`,
  async () => {
    await brokerStream();
    const windows = (more: string) =>
      `SELECT min(id) AS low, max(id) AS high, count(*) AS n${more} FROM s WHERE ${slow} > 0 GROUP BY COUNTWINDOW(10)`;
    const options = { qos: 2, checkpointInterval: '200ms' };
    await rule('slow', windows(''), options);
    await rule('exact', 'SELECT id FROM s', { qos: 2, checkpointInterval: '300ms' });
    await rule('plain', 'SELECT id FROM s', {});
    const highest = () => lines('slow').at(-1)?.high ?? -1;
    const update = async (more: string) => {
      const { status, text } = await server.request('PUT', '/rules/slow', definition('slow', windows(more), options));
      assert.is(status, 200, text);
      // Others read on meanwhile.
      await send(30);
    };
    const ways = [
      () => update(', sum(id) AS total'),
      async () => {
        await server.stop('SIGTERM');
        server = await startServer({ data });
      },
      async () => {
        await update('');
        await eventually('some more', () => highest() > 0 && between(0, 10) === 0, 60_000);
        await kill();
      },
      kill,
    ];
    for (const way of ways) {
      await eventually(
        'the rule to be throttled',
        async () => {
          const { message = '', source_s_0_buffer_length: waiting } = await status('slow');
          if (/throttled.* wait/.test(message)) return true;
          if (waiting < 100 && sent - highest() < 150) await send(50);
          return false;
        },
        60_000,
      );
      await send(100);
      await haveAll(['exact', 'plain']);
      assert.ok(highest() < sent - 10, 'they did not wait for it');
      await way();
    }
    await send(60 - (sent % 10));
    await eventually('all windows', () => highest() === sent - 1, 60_000);
    await haveAll(['exact', 'plain']);
    assert.equal(idsOf('exact'), range(0, sent));
    assert.equal(
      lines('slow').map(({ low, high, n }) => ({ low, high, n })),
      range(0, sent / 10).map((i) => ({ low: i * 10, high: i * 10 + 9, n: 10 })),
    );
    assert.equal((await server.request('GET', '/losses')).json, []);
  },
);

withBroker(
  'what waits for a throttled rule that is stopped or deleted holds nobody, and what it misses is told',
  async () => {
    await brokerStream();
    await rule('slow', `SELECT id, ${slow} AS n FROM s`, { qos: 2, checkpointInterval: '200ms' });
    await rule('exact', 'SELECT id FROM s', { qos: 2, checkpointInterval: '100ms' });
    await throttled('slow');
    await send(150);
    assert.is((await server.request('POST', '/rules/slow/stop')).status, 200);
    await haveAll(['exact']);
    await send(50);
    await haveAll(['exact']);
    // With the second from now on the log has forgotten what the others have.
    for (let i = 0; i < 2; i++) {
      const { checkpointsTotal } = await status('exact');
      await send(1);
      await eventually('a checkpoint', async () => (await status('exact')).checkpointsTotal > checkpointsTotal);
    }
    assert.is((await server.request('POST', '/rules/slow/start')).status, 200);
    await eventually('the start', async () => (await status('slow')).source_s_0_connection_status === 1);
    await send(20);
    await eventually('its last row', () => idsOf('slow').at(-1) === sent - 1, 60_000);
    const ids = idsOf('slow');
    assert.is(new Set(ids).size, ids.length, 'none comes twice');
    const missing = sent - ids.length;
    assert.ok(missing > 0);
    assert.is((await status('slow')).source_s_0_input_dropped_total, missing);
    const losses = (await server.request('GET', '/losses')).json as { name: string; messages: number }[];
    assert.equal(
      losses.map(({ name, messages }) => ({ name, messages })),
      [{ name: 'slow', messages: missing }],
    );
    await throttled('slow');
    assert.is((await server.request('DELETE', '/rules/slow')).status, 200);
    await send(50);
    await haveAll(['exact']);
    assert.equal(idsOf('exact'), range(0, sent));
  },
);

test.run();
