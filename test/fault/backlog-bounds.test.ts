/** How much of what a sink can't take waits on disk by itself, and what happens beyond. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { announceSkip, eventually, startServer, temporaryFolder } from '../harness.js';
import { hasMosquitto } from './mosquitto.js';
import { first, idsIn, Outside, Plant, range } from './plant.js';

if (!hasMosquitto) announceSkip('bounds of backlogs', 'mosquitto is not installed');
const backlog = hasMosquitto ? test : test.skip;

let plant: Plant;
let outside: Outside;
/** Names differ from test to test. */
let number = 0;
let topic = '';
let nearby = '';
let far = '';
/** What the neighbour has written. */
let near = '';

test.before(async () => {
  if (hasMosquitto) plant = await Plant.open();
});
test.after(async () => {
  if (hasMosquitto) await plant.close();
});
test.before.each(async () => {
  if (hasMosquitto) outside = await Outside.make();
});
test.after.each(async () => {
  if (!hasMosquitto) return;
  outside.broker?.resume();
  for (const id of [far, nearby]) await plant.server.request('DELETE', `/rules/${id}`);
  await outside.stop();
});

const text = 'x'.repeat(1000);

/** A shared stream with a rule that writes to a file, and one that sends long rows to a sink that is not there. */
async function share(qos: number, options: Record<string, unknown> = {}): Promise<void> {
  topic = `t${++number}`;
  nearby = `near${topic}`;
  far = `far${topic}`;
  near = join(temporaryFolder(), 'rows');
  await plant.stream(topic, qos);
  await plant.rule(nearby, topic, { file: { path: near, sendSingle: true } });
  const mqtt = { server: outside.url, topic: 'out', qos: 1, sendSingle: true };
  const sql = `SELECT id, "${text}" AS text FROM ${topic}`;
  await plant.post('/rules', { id: far, sql, actions: [{ mqtt }], options });
  await plant.figure(far, `source_${topic}_0_connection_status`, (value) => value === 1);
}

/** Sends rows, and waits until the neighbour has them all. */
async function send(from: number, to: number): Promise<void> {
  await plant.send(topic, from, to);
  await eventually('all rows of the neighbour', () => idsIn(near).length === to, 60_000);
  assert.equal(idsIn(near), range(0, to));
}

function diskBytes(): number {
  const folder = join(plant.server.data, 'sink-cache', far);
  if (!existsSync(folder)) return 0;
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.reduce((total, name) => total + statSync(join(folder, name)).size, 0);
}

for (const policy of ['auto', 'dropOldest']) {
  backlog(
    `with as much on disk as may be, ${policy} drops the oldest messages of the rule and counts them`,
    async () => {
      await share(1, { bufferLength: 64, bufferFullPolicy: policy, maxBacklogBytes: 500_000 });
      await send(0, 3000);
      assert.is((await plant.status(far)).message, '', 'it holds nobody');
      assert.ok(diskBytes() < 600_000, `${diskBytes()} bytes on disk`);
      await outside.start();
      await plant.figure(far, 'bufferLength', (value) => value === 0);
      const { sinkRecordsOutTotal: out, sinkRecordsFailedTotal: failed, ...status } = await plant.status(far);
      assert.is(out + failed, 3000);
      assert.is(failed, status.sink_mqtt_0_0_cache_drop_total);
      // What is dropped at once goes in pages, and a piece of input may be larger than what may wait.
      assert.ok(out > 50 && out < 2500, `${out} out`);
      assert.equal(first(await outside.ids(out)), range(3000 - out, 3000), 'the newest, in order');
    },
  );
}

backlog('a connection that breaks under load does not let a bounded backlog grow on disk', async () => {
  await outside.start();
  await share(1, { bufferLength: 64, maxBacklogBytes: 500_000 });
  const sending = send(0, 4000);
  await plant.figure(far, 'sinkRecordsOutTotal', (value) => value > 50);
  await outside.stop();
  await sending;
  assert.ok(diskBytes() < 600_000, `${diskBytes()} bytes on disk`);
  await outside.start();
  await plant.figure(far, 'bufferLength', (value) => value === 0);
  const { sinkRecordsOutTotal: out, sinkRecordsFailedTotal: failed } = await plant.status(far);
  assert.is(out + failed, 4000);
});

backlog('with as much on disk as may be, block holds the stream and says so', async () => {
  await share(1, { bufferLength: 64, bufferFullPolicy: 'block', maxBacklogBytes: 300_000 });
  const sending = plant.send(topic, 0, 3000);
  await eventually('the hold', async () =>
    /^holds source t\d+: .*its backlog is full, [\d,]+ messages on disk/.test((await plant.status(far)).message),
  );
  assert.ok(idsIn(near).length < 3000);
  await outside.start();
  await sending;
  assert.equal(first(await outside.ids(3000)), range(0, 3000));
  await eventually('all rows of the neighbour', () => idsIn(near).length === 3000);
});

backlog('a backlog leaves free on the disk what the configuration says', async () => {
  const { data } = plant.server;
  await plant.server.stop();
  plant.server = await startServer({ data, env: { KUIPER__BASIC__MINFREEDISK: '1000000000000000' } });
  await share(1, { bufferLength: 64, bufferFullPolicy: 'block' });
  const sending = plant.send(topic, 0, 1000);
  await eventually('the hold', async () =>
    /^holds source t\d+: .*its backlog is full, 0 messages on disk, less than 1000000000000000 bytes are free there/.test(
      (await plant.status(far)).message,
    ),
  );
  await outside.start();
  await sending;
  assert.equal(first(await outside.ids(1000)), range(0, 1000));
});

test.run();
