/**
 * Many rules on a shared stream, one with a sink that takes nothing: the others have every row, and so has it in the end.
 * `HAUMEA_NEIGHBOURS=long` runs it with 100 rules, and with 1,500 messages a second for 80 s over a broker with its usual limits, the sink away for 60 s;
 * it prints rates and memory.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { announceSkip, eventually, temporaryFolder } from '../harness.js';
import { hasMosquitto } from './mosquitto.js';
import { first, idsIn, Outside, Plant, range } from './plant.js';

if (!hasMosquitto) announceSkip('many neighbours of a stuck sink', 'mosquitto is not installed');
const crowd = hasMosquitto ? test : test.skip;

const isLong = process.env.HAUMEA_NEIGHBOURS === 'long';
const rules = isLong ? 99 : 5;
const count = isLong ? 50_000 : 1_000;

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

/** Memory of the server, MB. */
function memory(): number {
  const status = readFileSync(`/proc/${plant.server.child.pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
}

/** Opens it with rules that write to files, the paths of these, and one that sends to the broker outside. */
async function share(topic: string, qos: number, options: object, isBounded = false): Promise<string[]> {
  plant = await Plant.open(isBounded);
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

/** Sends rows as fast as the broker takes them; returns messages a second, the files of the neighbours included. */
async function rate(topic: string, from: number, to: number, paths: readonly string[]): Promise<number> {
  const began = performance.now();
  for (let id = from; id < to; id += 1000) await plant.send(topic, id, Math.min(to, id + 1000));
  await plant.figure('near0', 'sinkRecordsOutTotal', (value) => value >= to);
  const seconds = (performance.now() - began) / 1000;
  for (const path of paths) {
    await eventually(`all rows in ${path}`, () => idsIn(path).length >= to, 60_000);
    assert.equal(idsIn(path), range(0, to));
  }
  return Math.round((to - from) / seconds);
}

for (const qos of [0, 1]) {
  crowd(`one stuck sink among ${rules + 1} rules on a stream of QoS ${qos}: nobody misses a row`, async () => {
    await outside.start();
    const paths = await share('s', qos, { bufferLength: 64 });
    await plant.figure('far', 'sink_mqtt_0_0_connection_status', (value) => value === 1);
    const before = await rate('s', 0, count, paths);
    outside.broker?.pause();
    const stuck = await rate('s', count, 2 * count, paths);
    assert.is((await plant.status('near0')).message, '', 'nobody holds it');
    if (isLong) console.log(`QoS ${qos}, ${rules + 1} rules: ${before} messages/s, with a stuck sink ${stuck}`);
    outside.broker?.resume();
    assert.equal(first(await outside.ids(2 * count)), range(0, 2 * count));
  });
}

for (const qos of [0, 1]) {
  const messages = isLong ? 120_000 : 600;
  crowd(
    `${messages} messages over a broker with its usual limits, a sink away: none is lost with qos ${qos}`,
    async () => {
      // A machine that is busy with other tests may be late by more than a broker queues.
      const [path] = await share('s', 1, { qos }, isLong);
      const perTurn = 15;
      const began = performance.now();
      const rows: number[] = [];
      let sent = 0;
      let isBack = false;
      while (sent < messages) {
        await plant.send('s', sent, Math.min(messages, sent + perTurn));
        sent += perTurn;
        if (!isBack && sent >= messages * 0.75) {
          isBack = true;
          await outside.start();
        }
        if (sent % 15_000 === 0) rows.push(memory());
        await sleep(Math.max(0, began + (sent / 1500) * 1000 - performance.now()));
      }
      const rateOf = Math.round(sent / ((performance.now() - began) / 1000));
      await eventually('all rows of a neighbour', () => idsIn(path!).length >= messages, 60_000);
      assert.equal(first(idsIn(path!)), range(0, messages));
      assert.equal(first(await outside.ids(messages)), range(0, messages));
      if (isLong) console.log(`qos ${qos}: ${rateOf} messages/s sent, memory ${rows.join(', ')} MB`);
    },
  );
}

test.run();
