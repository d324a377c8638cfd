/**
 * What a rule does that may keep nothing on disk when its sink takes no more: it holds its stream (see
 * holding.test.ts), drops its oldest messages, or ends.
 */
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { hasMosquitto } from '../../support/brokers/mosquitto.js';
import { idsIn, Outside, Plant, range } from '../../support/brokers/plant.js';
import { announceSkip, eventually, temporaryFolder } from '../../support/harness.js';

if (!hasMosquitto) announceSkip('rules whose sinks take no more', 'mosquitto is not installed');
const full = hasMosquitto ? test : test.skip;

let plant: Plant;

test.before(async () => {
  if (hasMosquitto) plant = await Plant.open();
});
test.after(async () => {
  if (hasMosquitto) await plant.close();
});

const count = 5000;
const text = 'x'.repeat(100);
const sql = (topic: string) => `SELECT id, "${text}" AS text FROM ${topic}`;

for (const qos of [0, 1]) {
  full(
    `with dropOldest and nothing on disk a sink that is away holds nobody on a stream of QoS ${qos}; what it ` +
      'does not get is counted',
    async () => {
      const topic = `drop${qos}`;
      const outside = await Outside.make();
      const path = join(temporaryFolder(), 'rows');
      await plant.stream(topic, qos);
      await plant.rule(`near${topic}`, topic, { file: { path, sendSingle: true } });
      const far = `far${topic}`;
      const action = { mqtt: { server: outside.url, topic: 'out', qos: 1, sendSingle: true } };
      const options = { bufferFullPolicy: 'dropOldest', bufferLength: 64, maxBacklogBytes: 0 };
      await plant.post('/rules', { id: far, sql: sql(topic), actions: [action], options });
      await plant.figure(far, `source_${topic}_0_connection_status`, (value) => value === 1);
      await plant.send(topic, 0, count);
      await eventually('all rows of the neighbour', () => idsIn(path).length === count);
      assert.equal(idsIn(path), range(0, count));
      await plant.figure(far, 'sink_mqtt_0_0_records_in_total', (value) => value === count);
      const {
        message,
        sinkRecordsFailedTotal: lost,
        sink_mqtt_0_0_last_exception: reason,
      } = await eventually('a drop', async () => {
        const json = await plant.status(far);
        return json.sinkRecordsFailedTotal > 0 ? json : undefined;
      });
      assert.is(message, '', 'it holds nobody');
      assert.ok(lost > 0);
      assert.match(reason, /oldest messages were dropped|ECONNREFUSED/);
      await outside.start();
      const ids = await outside.ids(100);
      await plant.figure(far, 'bufferLength', (value) => value === 0);
      const status = await plant.status(far);
      assert.is(status.sinkRecordsOutTotal + status.sinkRecordsFailedTotal, count);
      assert.is(status.sinkRecordsFailedTotal, status.sink_mqtt_0_0_cache_drop_total);
      // About 64 KiB of messages of 119 bytes.
      assert.ok(
        status.sinkRecordsOutTotal > 100 && status.sinkRecordsOutTotal < 2000,
        `${status.sinkRecordsOutTotal} out`,
      );
      assert.equal(
        ids.slice(0, 50),
        range(count - status.sinkRecordsOutTotal, count).slice(0, 50),
        'the newest, in order',
      );
      for (const id of [far, `near${topic}`]) await plant.server.request('DELETE', `/rules/${id}`);
      await outside.stop();
    },
  );
}

full('with stop the rule ends with the reason, and its neighbours have every row', async () => {
  const outside = await Outside.make();
  const path = join(temporaryFolder(), 'rows');
  await plant.stream('ending', 1);
  await plant.rule('near', 'ending', { file: { path, sendSingle: true } });
  const action = { mqtt: { server: outside.url, topic: 'out', qos: 1 } };
  await plant.rule('far', 'ending', action, { bufferFullPolicy: 'stop', maxBacklogBytes: 0 });
  await plant.send('ending', 0, 1000);
  await eventually('all rows of the neighbour', () => idsIn(path).length === 1000, 60_000);
  assert.equal(idsIn(path), range(0, 1000));
  const { message } = await eventually('the end', async () => {
    const now = await plant.status('far');
    return /by error/i.test(now.status) ? now : undefined;
  });
  assert.match(
    message,
    /sink mqtt not connected for \d+ s, .* waiting: it holds source ending, and bufferFullPolicy is stop/,
  );
  for (const id of ['near', 'far']) await plant.server.request('DELETE', `/rules/${id}`);
});

full('another policy is refused by name', async () => {
  await plant.stream('other', 0);
  const options = { bufferFullPolicy: 'dropNewest' };
  const rule = { id: 'other', sql: 'SELECT id FROM other', actions: [{ nop: {} }], options };
  const { status, text } = await plant.server.request('POST', '/rules', rule);
  assert.is(status, 400);
  assert.match(text, /bufferFullPolicy must be one of auto, block, dropOldest, stop/);
});

test.run();
