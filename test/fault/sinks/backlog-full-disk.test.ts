/**
 * A backlog on a disk that is full, while nothing is kept free: the neighbours go on, and what is dropped is counted.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { hasMosquitto } from '../../support/brokers/mosquitto.js';
import { first, idsIn, Outside, Plant, range } from '../../support/brokers/plant.js';
import { announceSkip, eventually, temporaryFolder } from '../../support/harness.js';
import { smallDisk } from '../../support/small-disk.js';

const data = join(temporaryFolder(), 'data');
const disk = hasMosquitto ? smallDisk(data, '8m') : undefined;
const canRun = disk !== undefined;
if (!canRun) announceSkip('a backlog on a full disk', 'it needs mosquitto, and root for a file system of bounded size');
const full = canRun ? test : test.skip;

test.after(() => {
  disk?.unmount();
});

/** Rules of a shared stream: one that writes its ids to a file elsewhere, and one whose sink is not there. */
async function share(plant: Plant, outside: Outside, near: string): Promise<void> {
  await plant.moveTo(data);
  await plant.stream('s', 1);
  await plant.rule('near', 's', { file: { path: near, sendSingle: true } });
  const mqtt = { server: outside.url, topic: 'out', qos: 1, sendSingle: true };
  const sql = `SELECT id, "${'x'.repeat(1000)}" AS text FROM s`;
  await plant.post('/rules', { id: 'far', sql, actions: [{ mqtt }], options: { bufferLength: 64 } });
  await plant.figure('far', 'source_s_0_connection_status', (value) => value === 1);
}

full(
  'the oldest messages of the rule go, its neighbour misses none, and with room again it has the newest',
  async () => {
    const near = join(temporaryFolder(), 'rows');
    const ballast = join(data, 'ballast');
    const outside = await Outside.make();
    const plant = await Plant.open();
    try {
      await share(plant, outside, near);
      await plant.send('s', 0, 1000);
      writeFileSync(ballast, Buffer.alloc(1024 * 1024));
      // More than the disk takes.
      await plant.send('s', 1000, 9000);
      await eventually('all rows of the neighbour', () => idsIn(near).length >= 9000, 60_000);
      assert.equal(first(idsIn(near)), range(0, 9000));
      assert.is((await plant.status('far')).message, '', 'it holds nobody');
      rmSync(ballast);
      await plant.send('s', 9000, 9500);
      await outside.start();
      await plant.figure('far', 'bufferLength', (value) => value === 0);
      const { sinkRecordsOutTotal: out, sinkRecordsFailedTotal: failed, ...status } = await plant.status('far');
      assert.is(out + failed, 9500);
      assert.is(failed, status.sink_mqtt_0_0_cache_drop_total);
      assert.ok(out >= 500 && failed > 0, `${out} out, ${failed} failed`);
      const ids = first(await outside.ids(out));
      assert.equal(
        ids,
        [...ids].sort((a, b) => a - b),
      );
      assert.equal(ids.slice(-500), range(9000, 9500));
    } finally {
      await plant.close();
      await outside.stop();
    }
  },
);

test.run();
