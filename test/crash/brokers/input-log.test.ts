/**
 * Brokers send few messages without acknowledgement. With qos 1 they are acknowledged when they are in a log on disk,
 * and taken from there after kill -9: nothing waits for a checkpoint, and no checkpoint is taken for it.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MqttClient } from 'mqtt';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectClient } from '../../support/brokers/broker.js';
import { hasMosquitto, type Mosquitto, openMosquitto } from '../../support/brokers/mosquitto.js';
import { announceSkip, eventually, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';

const rounds = Number(process.env.HAUMEA_CHECKPOINT_ROUNDS ?? 2);
if (!hasMosquitto) announceSkip('logs of input', 'mosquitto is not installed');
const logged = hasMosquitto ? test : test.skip;

let broker: Mosquitto;
let client: MqttClient;
let server: TestServer;
let data: string;

test.before.each(async () => {
  if (!hasMosquitto) return;
  broker = await openMosquitto();
  client = await connectClient(broker.url);
  data = temporaryFolder();
  server = await startServer({ data });
});
test.after.each(async () => {
  if (!hasMosquitto) return;
  await server.stop('SIGKILL');
  await client.endAsync(true);
  await broker.close();
});

async function made(path: string, body: object): Promise<void> {
  const { status, text } = await server.request('POST', path, body);
  assert.is(status, 201, text);
}

/** A stream with a session in the broker, shared or not. */
async function stream(isShared: boolean): Promise<void> {
  const conf = { server: broker.url, qos: 1, clientid: `log-test-${broker.port}`, enableClientSession: true };
  await server.request('PUT', '/metadata/sources/mqtt/confKeys/in', conf);
  const shared = isShared ? ', SHARED="true"' : '';
  await made('/streams', { sql: `CREATE STREAM s () WITH (TYPE="mqtt", DATASOURCE="t", CONF_KEY="in"${shared})` });
}

const outOf = (id: string) => join(data, `${id}.out`);

/** What is sent before it has subscribed goes to nobody. */
const subscribed = (id: string) => figure(id, 'source_s_0_connection_status', (value) => value === 1);

/** A rule that collects ids in windows of 30 rows. */
const collecting = async (id: string, options: object) => {
  await made('/rules', {
    id,
    sql: 'SELECT collect(id) AS ids FROM s GROUP BY COUNTWINDOW(30)',
    actions: [{ file: { path: outOf(id), sendSingle: true } }],
    options: { qos: 1, checkpointInterval: '1h', ...options },
  });
  await subscribed(id);
};

async function send(from: number, to: number): Promise<void> {
  const all: Promise<unknown>[] = [];
  for (let id = from; id < to; id++) all.push(client.publishAsync('t', `{"id":${id}}`, { qos: 1 }));
  await Promise.all(all);
}

const figure = (id: string, name: string, fits: (value: number) => boolean) =>
  eventually(
    `${name} of ${id}`,
    async () => {
      const { json } = await server.request('GET', `/rules/${id}/status`);
      assert.not.match(json.status, /by error/i, json.message);
      return fits(Number(json[name])) ? json : undefined;
    },
    60_000,
  );

function windows(id: string): number[][] {
  if (!existsSync(outOf(id))) return [];
  // A line may have been cut off by the kill.
  return readFileSync(outOf(id), 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return [(JSON.parse(line) as { ids: number[] }).ids];
      } catch {
        return [];
      }
    });
}

function logFiles(): string[] {
  const folder = join(data, 'input-logs');
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.pages'));
}

for (const isShared of [false, true]) {
  logged(
    `windows over a ${isShared ? 'shared' : 'stream of the rule alone'}: kill -9 loses no message, without a ` +
      'checkpoint for it',
    async () => {
      await stream(isShared);
      const ids = isShared ? ['a', 'b'] : ['a'];
      for (const id of ids) await collecting(id, {});
      const each = 500;
      let sent = 0;
      for (let round = 0; round < rounds; round++) {
        await send(sent, sent + each);
        sent += each;
        const { checkpointsTotal } = await figure('a', 'source_s_0_records_in_total', (value) => value >= each);
        assert.is(checkpointsTotal, 0);
        assert.ok(logFiles().length > 0, 'messages are in the log');
        await server.stop('SIGKILL');
        server = await startServer({ data });
      }
      // What fills the last window.
      await send(sent, sent + 60);
      for (const id of ids) {
        const missing = () => {
          const seen = new Set(windows(id).flat());
          return Array.from({ length: sent }, (_, i) => i).filter((one) => !seen.has(one));
        };
        await eventually('all messages', () => missing().length === 0, 60_000).catch(() => {});
        assert.equal(missing(), [], `rule ${id}`);
      }
      await server.stop();
      assert.equal(logFiles(), [], 'an orderly stop leaves nothing in the log');
    },
  );
}

logged('a rule without checkpoints on the same stream misses nothing either', async () => {
  await stream(true);
  await collecting('a', {});
  await made('/rules', {
    id: 'plain',
    sql: 'SELECT id FROM s',
    actions: [{ file: { path: outOf('plain'), sendSingle: true } }],
  });
  await subscribed('plain');
  await send(0, 300);
  await figure('plain', 'sinkRecordsOutTotal', (value) => value === 300);
  await server.stop('SIGKILL');
  server = await startServer({ data });
  // What comes twice must not leave the last ones in a window that is not full.
  await send(300, 390);
  const wanted = Array.from({ length: 330 }, (_, id) => id);
  const isThere = (seen: ReadonlySet<number>) => wanted.every((id) => seen.has(id));
  await eventually('all windows', () => isThere(new Set(windows('a').flat())), 60_000);
  const lines = () => readFileSync(outOf('plain'), 'utf8').split('\n').slice(0, -1);
  const ids = () => new Set(lines().map((text) => (JSON.parse(text) as { id: number }).id));
  await eventually('all rows', () => isThere(ids()), 60_000);
});

test.run();
