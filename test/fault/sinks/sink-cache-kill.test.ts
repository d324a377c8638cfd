/** Sinks with a cache over kill -9 of the server and full disks: all messages get there, in order. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { hasMosquitto } from '../../support/brokers/mosquitto.js';
import { first, Outside, Plant, range, sinkTo } from '../../support/brokers/plant.js';
import { announceSkip, eventually, startServer, temporaryFolder } from '../../support/harness.js';
import { smallDisk } from '../../support/small-disk.js';

if (!hasMosquitto) announceSkip('sinks with a cache', 'mosquitto is not installed');
const cached = hasMosquitto ? test : test.skip;

let plant: Plant;
/** Names of streams and rules differ from test to test. */
let number = 0;

test.before(async () => {
  if (hasMosquitto) plant = await Plant.open();
});
test.after(async () => {
  if (hasMosquitto) await plant.close();
});

cached('kill -9 while the sink is away loses nothing and changes no order', async () => {
  const topic = `t${++number}`;
  const outside = await Outside.make();
  await plant.stream(topic, 1, { clientid: topic, enableClientSession: true });
  await plant.rule(topic, topic, sinkTo(outside));
  let sent = 0;
  for (let round = 0; round < 3; round++) {
    const sending = plant.send(topic, sent, sent + 1500);
    sent += 1500;
    await plant.figure(topic, 'sink_mqtt_0_0_records_in_total', (value) => value > 300);
    await plant.kill();
    await sending;
    // While the sink gets what it missed the server is killed once more.
    if (round === 1) await outside.start();
  }
  assert.equal(first(await outside.ids(sent)), range(0, sent));
  await plant.server.request('DELETE', `/rules/${topic}`);
  await outside.stop();
});

cached('while its disk is full a cache holds the source; with room again nothing is missing', async () => {
  const data = join(temporaryFolder(), 'data');
  const disk = smallDisk(data, '2m');
  if (disk === undefined) {
    announceSkip('a cache on a full disk', 'a file system of bounded size needs root');
    return;
  }
  const outer = plant.server;
  try {
    const outside = await Outside.make();
    // Logs lie elsewhere: they fill no disk here.
    plant.server = await startServer({ data, args: ['--log', temporaryFolder()] });
    const topic = `t${++number}`;
    await plant.stream(topic, 1);
    await plant.post('/rules', {
      id: topic,
      sql: `SELECT id, "${'x'.repeat(1000)}" AS text FROM ${topic}`,
      actions: [sinkTo(outside)],
    });
    await plant.figure(topic, `source_${topic}_0_connection_status`, (value) => value === 1);
    writeFileSync(join(data, 'ballast'), Buffer.alloc(1024 * 1024));
    const sending = plant.send(topic, 0, 3000);
    const { message } = await eventually('the hold', async () => {
      const { json } = await plant.server.request('GET', `/rules/${topic}/status`);
      assert.not.match(json.status, /stopped by error/i, json.message);
      return /ENOSPC/.test(json.message) ? json : undefined;
    });
    assert.match(message, /^holds source \w+: sink mqtt not connected for \d+ s, its cache can't be written: .*ENOSPC/);
    disk.resize('32m');
    await sending;
    await plant.figure(topic, 'sink_mqtt_0_0_cache_disk_length', (value) => value === 3000);
    await outside.start();
    assert.equal(await outside.ids(3000), range(0, 3000));
    await outside.stop();
  } finally {
    await plant.server.stop('SIGKILL');
    plant.server = outer;
    disk.unmount();
  }
});

test.run();
