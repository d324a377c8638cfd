/**
 * Sinks without a cache that are away, stuck or slow: what they can't take waits on disk by itself, the other rules of
 * the stream miss nothing, and neither does the sink when it is back.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { besides, far, nearby, outside, plant, send, share, topic } from '../../support/brokers/besides.js';
import { first, range } from '../../support/brokers/plant.js';
import { eventually, startServer } from '../../support/harness.js';

const backlog = besides('backlogs of rules');

const troubleOf = (like: RegExp) =>
  eventually(`the trouble ${like}`, async () => {
    const { json } = await plant.server.request('GET', '/rules?trouble=true');
    const { trouble } = (json as { id: string; trouble: string[] }[]).find(({ id }) => id === far)!;
    return trouble.find((line) => like.test(line));
  });

for (const qos of [0, 1]) {
  backlog(
    `a sink that is away costs the other rules of a stream of QoS ${qos} nothing, and has all when it is back`,
    async () => {
      await share(qos);
      await send(0, 3000);
      const waiting = /^sink mqtt: [\d,]+ messages wait on disk since 20\S+Z \(\d+ [kM]B in .*sink-cache.fart\d+\S+\)$/;
      assert.match(await troubleOf(waiting), waiting);
      assert.is((await plant.status(far)).message, '', 'it holds nobody');
      await outside.start();
      assert.equal(first(await outside.ids(3000)), range(0, 3000));
      await plant.figure(far, 'bufferLength', (value) => value === 0);
      const status = await plant.status(far);
      assert.is(status.sinkRecordsOutTotal, 3000);
      assert.is(status.sinkRecordsFailedTotal, 0);
      await eventually('an empty disk', async () => (await plant.status(far)).sink_mqtt_0_0_cache_disk_bytes === 0);
      // And once more, from a connection that breaks.
      await outside.stop();
      await send(3000, 5000);
      await outside.start();
      assert.equal(
        first(await outside.ids(2000)).filter((id) => id >= 3000),
        range(3000, 5000),
      );
    },
  );

  backlog(`a sink that is connected and stuck costs the other rules of a stream of QoS ${qos} nothing`, async () => {
    await outside.start();
    await share(qos, { bufferLength: 64 });
    await plant.figure(far, 'sink_mqtt_0_0_connection_status', (value) => value === 1);
    await send(0, 100);
    await plant.figure(far, 'sinkRecordsOutTotal', (value) => value === 100);
    outside.broker?.pause();
    await send(100, 6000);
    assert.is((await plant.status(nearby)).message, '', 'nobody holds it');
    outside.broker?.resume();
    assert.equal(first(await outside.ids(6000)), range(0, 6000));
  });
}

backlog('what waits on disk is sent after a stop of the rule, one of the server and a new start', async () => {
  await share(0);
  await send(0, 2000);
  await plant.figure(far, 'sink_mqtt_0_0_cache_disk_length', (value) => value > 0);
  await plant.server.request('POST', `/rules/${far}/stop`);
  await plant.server.request('POST', `/rules/${far}/start`);
  await plant.figure(far, `source_${topic}_0_connection_status`, (value) => value === 1);
  await send(2000, 4000);
  const { data } = plant.server;
  await plant.server.stop();
  plant.server = await startServer({ data });
  await outside.start();
  assert.equal(await outside.ids(4000), range(0, 4000));
});

backlog('after kill -9 what a broker has its acknowledgements for is sent', async () => {
  await share(1);
  await send(0, 2000);
  await plant.figure(far, 'sink_mqtt_0_0_cache_disk_length', (value) => value === 2000);
  await plant.kill();
  await outside.start();
  assert.equal(first(await outside.ids(2000)), range(0, 2000));
});

test.run();
