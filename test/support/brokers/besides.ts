/** A rule whose sink is away or stuck beside a neighbour on the same stream. */
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { announceSkip, eventually, temporaryFolder } from '../harness.js';
import { hasMosquitto } from './mosquitto.js';
import { idsIn, Outside, Plant, range } from './plant.js';

/** Names are those of the test at work. */
export let plant: Plant;
export let outside: Outside;
let number = 0;
export let topic = '';
export let nearby = '';
export let far = '';
/** What the neighbour has written. */
export let near = '';

/**
 * Makes what the tests of a file need before each of them; gives what declares one. Without a broker they are left out.
 */
export function besides(what: string): typeof test | typeof test.skip {
  if (!hasMosquitto) {
    announceSkip(what, 'mosquitto is not installed');
    return test.skip;
  }
  test.before(async () => {
    plant = await Plant.open();
  });
  test.after(async () => {
    await plant.close();
  });
  test.before.each(async () => {
    outside = await Outside.make();
  });
  test.after.each(async () => {
    outside.broker?.resume();
    for (const id of [far, nearby]) await plant.server.request('DELETE', `/rules/${id}`);
    await outside.stop();
  });
  return test;
}

const text = 'x'.repeat(1000);

/** A shared stream with a rule that writes to a file, and one that sends long rows to a sink that is not there. */
export async function share(qos: number, options: Record<string, unknown> = {}): Promise<void> {
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
export async function send(from: number, to: number): Promise<void> {
  await plant.send(topic, from, to);
  await eventually('all rows of the neighbour', () => idsIn(near).length === to, 60_000);
  assert.equal(idsIn(near), range(0, to));
}
