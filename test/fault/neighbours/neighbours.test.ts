/**
 * Many rules on a shared stream, one with a sink that takes nothing: the others have every row, and so has it in the
 * end. `haumea bench neighbours` does the same with 100 rules, for minutes and at rates.
 */
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { hasMosquitto } from '../../support/brokers/mosquitto.js';
import { first, idsIn, Outside, Plant, range } from '../../support/brokers/plant.js';
import { announceSkip, eventually, temporaryFolder } from '../../support/harness.js';

if (!hasMosquitto) announceSkip('many neighbours of a stuck sink', 'mosquitto is not installed');
const crowd = hasMosquitto ? test : test.skip;

const rules = 5;
const count = 1_000;

let plant: Plant;
let outside: Outside;

test.before.each(async () => {
  if (hasMosquitto) outside = await Outside.make();
});
test.after.each(async () => {
  if (!hasMosquitto) return;
  outside.broker?.resume();
  await outside.stop();
  await plant.close();
});

/** Opens it with rules that write to files, the paths of these, and one that sends to the broker outside. */
async function share(topic: string, qos: number, options: object): Promise<string[]> {
  plant = await Plant.open();
  await plant.stream(topic, qos, { clientid: `neighbours-${plant.inside.port}`, enableClientSession: true });
  const paths: string[] = [];
  for (let i = 0; i < rules; i++) {
    const path = join(temporaryFolder(), 'rows');
    paths.push(path);
    const action = { file: { path, sendSingle: true } };
    await plant.post('/rules', { id: `near${i}`, sql: `SELECT id FROM ${topic}`, actions: [action], options });
  }
  const mqtt = { server: outside.url, topic: 'out', qos: 1, sendSingle: true };
  await plant.post('/rules', { id: 'far', sql: `SELECT id FROM ${topic}`, actions: [{ mqtt }], options });
  await plant.figure('far', `source_${topic}_0_connection_status`, (value) => value === 1);
  return paths;
}

/** Sends rows as fast as the broker takes them, and waits until the neighbours have them. */
async function send(topic: string, from: number, to: number, paths: readonly string[]): Promise<void> {
  for (let id = from; id < to; id += 1000) await plant.send(topic, id, Math.min(to, id + 1000));
  for (const path of paths) {
    await eventually(`all rows in ${path}`, () => idsIn(path).length >= to, 60_000);
    assert.equal(idsIn(path), range(0, to));
  }
}

for (const qos of [0, 1]) {
  crowd(`one stuck sink among ${rules + 1} rules on a stream of QoS ${qos}: nobody misses a row`, async () => {
    await outside.start();
    const paths = await share('s', qos, { bufferLength: 64 });
    await plant.figure('far', 'sink_mqtt_0_0_connection_status', (value) => value === 1);
    await send('s', 0, count, paths);
    outside.broker?.pause();
    await send('s', count, 2 * count, paths);
    assert.is((await plant.status('near0')).message, '', 'nobody holds it');
    outside.broker?.resume();
    assert.equal(first(await outside.ids(2 * count)), range(0, 2 * count));
  });
}

const messages = 600;

for (const qos of [0, 1]) {
  // The broker queues what it can't deliver without a bound: a machine that is busy with other tests may be late by
  // more.
  crowd(`a sink that is away while ${messages} messages come over a broker misses none with qos ${qos}`, async () => {
    const [path] = await share('s', 1, { qos });
    const perTurn = 15;
    for (let sent = 0; sent < messages; sent += perTurn) {
      await plant.send('s', sent, Math.min(messages, sent + perTurn));
      if (sent === messages * 0.75) await outside.start();
    }
    await eventually('all rows of a neighbour', () => idsIn(path!).length >= messages, 60_000);
    assert.equal(first(idsIn(path!)), range(0, messages));
    assert.equal(first(await outside.ids(messages)), range(0, messages));
  });
}

test.run();
