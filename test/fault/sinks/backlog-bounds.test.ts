/** How much of what a sink can't take waits on disk by itself, and what happens beyond. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { besides, far, near, outside, plant, send, share, topic } from '../../support/brokers/besides.js';
import { first, idsIn, range } from '../../support/brokers/plant.js';
import { eventually, startServer } from '../../support/harness.js';

const backlog = besides('bounds of backlogs');

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
      // What is dropped once the sink takes the first ones is no longer the oldest of all.
      await eventually('all that waits on disk', async () => {
        const status = await plant.status(far);
        return status.sink_mqtt_0_0_cache_disk_length + status.sink_mqtt_0_0_cache_drop_total === 3000;
      });
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
  // Of 4 MB. What the connection had when it broke stays as well, in whole pages: how much that is depends on the
  // machine.
  assert.ok(diskBytes() < 2_000_000, `${diskBytes()} bytes on disk`);
  await outside.start();
  await plant.figure(far, 'bufferLength', (value) => value === 0);
  const { sinkRecordsOutTotal: out, sinkRecordsFailedTotal: failed } = await plant.status(far);
  assert.is(out + failed, 4000);
});

backlog('with as much on disk as may be, block holds the stream and says so', async () => {
  await share(1, { bufferLength: 64, bufferFullPolicy: 'block', maxBacklogBytes: 300_000 });
  const sending = plant.send(topic, 0, 3000);
  await eventually('the hold', async () =>
    /^holds source t\d+: .*its retry queue is full, [\d,]+ messages on disk/.test((await plant.status(far)).message),
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
  const full = /its retry queue is full, 0 messages on disk, less than 1000000000000000 bytes are free there/.source;
  const held = new RegExp(`^holds source t\\d+: .*${full}`);
  await eventually('the hold', async () => held.test((await plant.status(far)).message));
  await outside.start();
  await sending;
  assert.equal(first(await outside.ids(1000)), range(0, 1000));
});

test.run();
