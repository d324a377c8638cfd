/**
 * Rules that share a stream go on from checkpoints of different times after kill -9: each takes what lies behind its
 * own place, whatever the others have, so that none gets a row twice because of another one.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MqttClient } from 'mqtt';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ReadMark } from '../../../host/run/plane/queue/read-mark.js';
import { connectClient } from '../../support/brokers/broker.js';
import { hasMosquitto, type Mosquitto, openMosquitto } from '../../support/brokers/mosquitto.js';
import { announceSkip, eventually, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';

let server: TestServer;
let data: string;
let broker: Mosquitto | undefined;
let client: MqttClient | undefined;

test.before.each(async () => {
  data = temporaryFolder();
  server = await startServer({ data });
});
test.after.each(async () => {
  await server.stop('SIGKILL');
  await client?.endAsync(true);
  await broker?.close();
  client = undefined;
  broker = undefined;
});

async function made(path: string, body: object): Promise<void> {
  const { status, text } = await server.request('POST', path, body);
  assert.is(status, 201, text);
}

/** A stream with a session in the broker that all rules share. */
async function brokerStream(): Promise<void> {
  broker = await openMosquitto();
  client = await connectClient(broker.url);
  const conf = { server: broker.url, qos: 1, clientid: `places-${broker.port}`, enableClientSession: true };
  await server.request('PUT', '/metadata/sources/mqtt/confKeys/in', conf);
  await made('/streams', {
    sql: 'CREATE STREAM s () WITH (TYPE="mqtt", DATASOURCE="t", CONF_KEY="in", SHARED="true", TIMESTAMP="ts")',
  });
}

const outOf = (id: string) => join(data, `${id}.out`);

async function rule(id: string, sql: string, options: object): Promise<void> {
  await made('/rules', { id, sql, actions: [{ file: { path: outOf(id), sendSingle: true } }], options });
}

async function send(from: number, to: number): Promise<void> {
  const first = 1_700_000_000_000;
  const all: Promise<unknown>[] = [];
  for (let id = from; id < to; id++)
    all.push(client!.publishAsync('t', JSON.stringify({ id, ts: first + id * 10 }), { qos: 1 }));
  await Promise.all(all);
}

const logFolder = () => join(data, 'input-logs/streams/s');

/**
 * The input log has on disk so many messages, and that they are out: a rule that keeps nothing does not get them again.
 * The broker would send again what the log does not have.
 */
const loggedOut = (count: number) =>
  eventually(`the mark of ${count} messages that are out, and the last of them in the log`, async () => {
    if ((await new ReadMark(join(logFolder(), 'out')).read()) < count) return undefined;
    const pages = readdirSync(logFolder(), { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
    return pages.some(({ parentPath, name }) => readFileSync(join(parentPath, name)).includes(`"id":${count - 1},`));
  });

async function restart(): Promise<void> {
  await server.stop('SIGKILL');
  server = await startServer({ data });
}

function lines(id: string): { [name: string]: number }[] {
  if (!existsSync(outOf(id))) return [];
  return readFileSync(outOf(id), 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        // The last one may not be whole.
        return [JSON.parse(line) as { [name: string]: number }];
      } catch {
        return [];
      }
    });
}

const figure = (id: string, name: string, fits: (value: number) => boolean) =>
  eventually(`${name} of ${id}`, async () => {
    const { json } = await server.request('GET', `/rules/${id}/status`);
    assert.not.match(json.status, /by error/i, json.message);
    return fits(Number(json[name])) ? json : undefined;
  });

const subscribed = (id: string) => figure(id, 'source_s_0_connection_status', (value) => value === 1);

const idsOf = (id: string) => lines(id).map((row) => row.id!);
const upTo = (count: number) => Array.from({ length: count }, (_, id) => id);

if (!hasMosquitto) announceSkip('places of rules in a shared session', 'mosquitto is not installed');
const withBroker = hasMosquitto ? test : test.skip;

withBroker('a rule with rare checkpoints makes nobody get rows twice, and windows count each row once', async () => {
  await brokerStream();
  await rule('q2', 'SELECT id FROM s', { qos: 2, checkpointInterval: '1s' });
  await rule('sum', 'SELECT count(*) AS n, min(id) AS low, max(id) AS high FROM s GROUP BY COUNTWINDOW(1000)', {
    qos: 2,
    checkpointInterval: '1s',
  });
  await rule('hour', 'SELECT id FROM s', { qos: 1 });
  await rule('plain', 'SELECT id FROM s', {});
  for (const id of ['q2', 'sum', 'hour', 'plain']) await subscribed(id);
  const count = 10_000;
  await send(0, count);
  await eventually('all rows', () => ['q2', 'hour', 'plain'].every((id) => lines(id).length >= count));
  await loggedOut(count);
  await restart();
  for (const id of ['q2', 'sum', 'hour', 'plain']) await subscribed(id);
  await send(count, count + 1000);
  const all = count + 1000;
  await eventually('the last rows', () => ['q2', 'hour', 'plain'].every((id) => idsOf(id).includes(all - 1)));
  await eventually('the last window', () => lines('sum').some(({ high }) => high === all - 1));
  assert.equal(idsOf('q2'), upTo(all));
  const windows = Array.from({ length: all / 1000 }, (_, i) => ({ n: 1000, low: i * 1000, high: i * 1000 + 999 }));
  assert.equal(lines('sum'), windows);
  // Without a checkpoint since its begin it takes all of the log again, by itself.
  assert.equal([...new Set(idsOf('hour'))], upTo(all));
  // What was out before the kill does not come again to a rule that keeps nothing.
  assert.equal(idsOf('plain'), upTo(all));
});

withBroker(
  'a rule that was away gets what the log still has, before what comes, and the others get nothing again',
  async () => {
    await brokerStream();
    await rule('hour', 'SELECT id FROM s', { qos: 2 });
    await rule('away', 'SELECT id FROM s', { qos: 2 });
    await rule('sums', 'SELECT min(id) AS low, max(id) AS high FROM s GROUP BY COUNTWINDOW(10)', { qos: 1 });
    for (const id of ['hour', 'away', 'sums']) await subscribed(id);
    await send(0, 205);
    await eventually('rows', () => ['hour', 'away'].every((id) => lines(id).length === 205));
    for (const id of ['away', 'sums']) await server.request('POST', `/rules/${id}/stop`);
    await send(205, 1005);
    await eventually('rows of the others', () => lines('hour').length === 1005);
    for (const id of ['away', 'sums']) await server.request('POST', `/rules/${id}/start`);
    await send(1005, 1500);
    await eventually('all rows', () => ['hour', 'away'].every((id) => lines(id).length >= 1500));
    await eventually('all windows', () => lines('sums').length >= 150);
    assert.equal(idsOf('away'), upTo(1500));
    assert.equal(idsOf('hour'), upTo(1500));
    const tens = Array.from({ length: 150 }, (_, i) => ({ low: i * 10, high: i * 10 + 9 }));
    assert.equal(lines('sums'), tens);
    assert.equal((await server.request('GET', '/losses')).json, []);
    const { json } = await server.request('GET', '/rules/away/status');
    assert.is(json.source_s_0_records_in_total, 1295, 'it took what it had not had');
  },
);

withBroker(
  'what nobody keeps any more for a rule that was away is told in its status and on the list of losses',
  async () => {
    await brokerStream();
    await rule('often', 'SELECT id FROM s', { qos: 2, checkpointInterval: '100ms' });
    await rule('away', 'SELECT id FROM s', { qos: 2, checkpointInterval: '1h' });
    for (const id of ['often', 'away']) await subscribed(id);
    await send(0, 100);
    await eventually('rows', () => lines('away').length === 100);
    await server.request('POST', '/rules/away/stop');
    await send(100, 250);
    await eventually('rows of the other', () => lines('often').length === 250);
    // The first may have been cut before all that; the second was not.
    for (const id of [250, 251]) {
      const { checkpointsTotal } = (await server.request('GET', '/rules/often/status')).json;
      await send(id, id + 1);
      await figure('often', 'checkpointsTotal', (count) => count > checkpointsTotal);
    }
    await server.request('POST', '/rules/away/start');
    await subscribed('away');
    await send(252, 300);
    await eventually('new rows', () => idsOf('away').at(-1) === 299);
    const had = new Set(idsOf('away'));
    const missing = upTo(300).filter((id) => !had.has(id));
    assert.equal(lines('away').length, had.size, 'none comes twice');
    assert.ok(missing.length > 0);
    const { json } = await server.request('GET', '/rules/away/status');
    assert.is(json.source_s_0_input_dropped_total, missing.length);
    const losses = (await server.request('GET', '/losses')).json as { name: string; messages: number; text: string }[];
    assert.equal(
      losses.map(({ name, messages }) => ({ name, messages })),
      [{ name: 'away', messages: missing.length }],
    );
    assert.match(losses[0]!.text, /messages of rule away are lost: others took what came on stream s while/);
  },
);

test.run();
