/** Sinks with a cache: while the other side is away messages wait on disk, the source and its other rules go on. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { hasMosquitto } from '../../support/brokers/mosquitto.js';
import { first, idsIn, Outside, Plant, range, sinkTo } from '../../support/brokers/plant.js';
import { announceSkip, eventually, freePort, temporaryFolder } from '../../support/harness.js';

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

for (const qos of [0, 1]) {
  cached(
    `a sink that is away from the start holds nobody on a stream of QoS ${qos}; it gets every row in order later`,
    async () => {
      const topic = `t${++number}`;
      const outside = await Outside.make();
      const path = join(temporaryFolder(), 'rows');
      await plant.stream(topic, qos);
      await plant.rule(`near${topic}`, topic, { file: { path, sendSingle: true } });
      await plant.rule(`far${topic}`, topic, sinkTo(outside));
      await plant.send(topic, 0, 3000);
      await eventually('all rows of the neighbour', () => idsIn(path).length === 3000);
      assert.equal(idsIn(path), range(0, 3000));
      await plant.figure(`far${topic}`, 'sink_mqtt_0_0_cache_disk_length', (value) => value === 3000);
      const { json } = await plant.server.request('GET', `/rules/far${topic}/status`);
      assert.is(json.message, '', 'it holds nobody');
      assert.is(json.sink_mqtt_0_0_buffer_length, 3000);
      await outside.start();
      assert.equal(await outside.ids(3000), range(0, 3000));
      await plant.figure(`far${topic}`, 'sink_mqtt_0_0_cache_length', (value) => value === 0);
      // Later it goes away once more, and its disk was given back.
      assert.equal(await cacheFiles(), []);
      await outside.stop();
      await plant.send(topic, 3000, 5000);
      await plant.figure(`far${topic}`, 'sink_mqtt_0_0_records_in_total', (value) => value === 5000);
      await outside.start();
      const more = first(await outside.ids(2000)).filter((id) => id >= 3000);
      assert.equal(more, range(3000, 5000));
      for (const id of ['near', 'far']) await plant.server.request('DELETE', `/rules/${id}${topic}`);
      await outside.stop();
    },
  );
}

function cacheFiles(): Promise<string[]> {
  const folder = join(plant.server.data, 'sink-cache');
  const list = () =>
    existsSync(folder)
      ? readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.pages'))
      : [];
  return eventually('no pages', () => (list().length === 0 ? [] : undefined)).catch(list);
}

cached(
  'a stop keeps what waits, an update to another topic sends it there, the end of the rule removes it',
  async () => {
    const topic = `t${++number}`;
    const outside = await Outside.make('second');
    await plant.stream(topic, 0);
    await plant.rule(topic, topic, sinkTo(outside));
    await plant.send(topic, 0, 500);
    await plant.figure(topic, 'sink_mqtt_0_0_records_in_total', (value) => value === 500);
    const stopped = await plant.server.request('POST', `/rules/${topic}/stop`);
    assert.is(stopped.status, 200);
    assert.not.match(stopped.text, /lost/);
    assert.is((await plant.server.request('GET', `/rules/${topic}/status`)).json.sink_mqtt_0_0_cache_disk_length, 500);
    // Figures of rules that do not run are those of their last moment.
    const { text } = await plant.server.request('GET', '/metrics');
    const bytes = new RegExp(`kuiper_sync_cache_gauge\\{rule="${topic}",type="disk_bytes",op="mqtt_0"\\} (\\d+)`).exec(
      text,
    );
    assert.ok(Number(bytes?.[1]) > 500, text);
    const change = { id: topic, sql: `SELECT id FROM ${topic}`, actions: [sinkTo(outside, { topic: 'second' })] };
    assert.is((await plant.server.request('PUT', `/rules/${topic}`, change)).status, 200);
    await plant.server.request('POST', `/rules/${topic}/start`);
    await outside.start();
    assert.equal(await outside.ids(500), range(0, 500));
    await outside.stop();
    await plant.send(topic, 500, 600);
    await plant.figure(topic, 'sink_mqtt_0_0_cache_disk_length', (value) => value === 100);
    assert.is((await plant.server.request('DELETE', `/rules/${topic}`)).status, 200);
    assert.not((await cacheFiles()).some((name) => name.startsWith(`${topic}/`)));
  },
);

cached('with cleanCacheAtStop what waits is gone with the stop, and told', async () => {
  const topic = `t${++number}`;
  await plant.stream(topic, 0);
  const action = {
    mqtt: { server: `tcp://127.0.0.1:${await freePort()}`, topic: 'o', enableCache: true, cleanCacheAtStop: true },
  };
  await plant.rule(topic, topic, action);
  await plant.send(topic, 0, 50);
  await plant.figure(topic, 'sink_mqtt_0_0_cache_disk_length', (value) => value === 50);
  await plant.server.request('POST', `/rules/${topic}/stop`);
  assert.is((await plant.server.request('GET', `/rules/${topic}/status`)).json.sinkRecordsFailedTotal, 50);
  assert.not((await cacheFiles()).some((name) => name.startsWith(`${topic}/`)));
  await plant.server.request('DELETE', `/rules/${topic}`);
});

cached('a full cache holds the source and says so, or drops its oldest messages and counts them', async () => {
  const topic = `t${++number}`;
  const outside = await Outside.make();
  await plant.stream(topic, 1);
  const small = { maxDiskCache: 200, bufferPageSize: 50, memoryCacheThreshold: 50 };
  await plant.rule(`block${topic}`, topic, sinkTo(outside, small));
  const sending = plant.send(topic, 0, 1000);
  const { message } = await eventually('the hold', async () => {
    const { json } = await plant.server.request('GET', `/rules/block${topic}/status`);
    return /^holds source/.test(json.message) ? json : undefined;
  });
  assert.match(message, /sink mqtt not connected for \d+ s, its cache is full, 200 messages on disk, /);
  await sending;
  await outside.start();
  assert.equal(await outside.ids(1000), range(0, 1000));
  await outside.stop();
  await plant.server.request('DELETE', `/rules/block${topic}`);
  await plant.rule(`drop${topic}`, topic, sinkTo(outside, { ...small, cacheFullPolicy: 'dropOldest' }));
  await plant.send(topic, 1000, 2000);
  // Nothing more is on its way to the disk.
  const json = await eventually('all on disk', async () => {
    const now = await plant.status(`drop${topic}`);
    const isStill = now.sink_mqtt_0_0_cache_length === now.sink_mqtt_0_0_cache_disk_length;
    return now.sink_mqtt_0_0_records_in_total === 1000 && isStill ? now : undefined;
  });
  const dropped = json.sink_mqtt_0_0_cache_drop_total;
  assert.ok(dropped >= 800 && dropped < 1000, `${dropped} dropped`);
  assert.is(json.sinkRecordsFailedTotal, dropped);
  assert.match(json.sink_mqtt_0_0_last_exception, /oldest messages were dropped|ECONNREFUSED/);
  await outside.start();
  assert.equal(await outside.ids(1000 - dropped), range(1000 + dropped, 2000));
  await plant.server.request('DELETE', `/rules/drop${topic}`);
  await outside.stop();
});

cached('messages that waited can go to a topic of their own, with a field that says so', async () => {
  const topic = `t${++number}`;
  const outside = await Outside.make('#');
  await plant.stream(topic, 0);
  const again = { resendAlterQueue: true, resendIndicatorField: 'late', resendDestination: 'resent' };
  await plant.rule(topic, topic, sinkTo(outside, again));
  // One that can't be reached; what comes before the first attempt is no repetition.
  await plant.figure(topic, 'sink_mqtt_0_0_exceptions_total', (value) => value > 0);
  await plant.send(topic, 0, 20);
  await plant.figure(topic, 'sink_mqtt_0_0_cache_disk_length', (value) => value === 20);
  await outside.start();
  await plant.figure(topic, 'sink_mqtt_0_0_cache_length', (value) => value === 0);
  await plant.send(topic, 20, 22);
  const messages = await outside.messages(22);
  assert.equal(
    messages.filter((one) => one.topic === 'out').map(({ text }) => text),
    ['{"id":20}', '{"id":21}'],
  );
  const resent = messages.filter((one) => one.topic === 'resent').map(({ text }) => text);
  assert.equal(
    resent,
    range(0, 20).map((id) => `{"id":${id},"late":true}`),
  );
  await plant.server.request('DELETE', `/rules/${topic}`);
  await outside.stop();
});

cached('the figures of a cache are in the metrics', async () => {
  const topic = `t${++number}`;
  await plant.stream(topic, 0);
  await plant.rule(topic, topic, {
    mqtt: { server: `tcp://127.0.0.1:${await freePort()}`, topic: 'o', enableCache: true, sendSingle: true },
  });
  await plant.send(topic, 0, 7);
  await plant.figure(topic, 'sink_mqtt_0_0_cache_disk_length', (value) => value === 7);
  const { text } = await plant.server.request('GET', '/metrics');
  const value = (name: string, type: string) =>
    new RegExp(`^kuiper_sync_cache_${name}{rule="${topic}",type="${type}",op="mqtt_0"} (\\d+)$`, 'm').exec(text)?.[1];
  assert.is(value('gauge', 'length'), '7');
  assert.is(value('gauge', 'disk'), '7');
  assert.is(value('counter', 'add'), '7');
  assert.is(value('counter', 'drop'), '0');
  assert.match(text, /^# TYPE kuiper_sync_cache_counter counter$/m);
  await plant.server.request('DELETE', `/rules/${topic}`);
});

test.run();
