/** A rule whose sink is away holds its neighbours on a shared stream; all of them say so, and its end frees them. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MqttClient } from 'mqtt';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { silent } from '../../../host/base/log/log.js';
import { connectClient } from '../../support/brokers/broker.js';
import { hasMosquitto, type Mosquitto, openMosquitto } from '../../support/brokers/mosquitto.js';
import { openEngine, ruleOf, type TestEngine } from '../../support/engine/engine-harness.js';
import { announceSkip, eventually, freePort, temporaryFolder } from '../../support/harness.js';

let opened: TestEngine;
let broker: Mosquitto;
let client: MqttClient;
const lines: string[] = [];
const note = (line: string) => void lines.push(line);
const log = { ...silent, warn: note, info: note };

if (!hasMosquitto) announceSkip('rules that hold their neighbours', 'mosquitto is not installed');
const held = hasMosquitto ? test : test.skip;

test.before.each(async () => {
  if (!hasMosquitto) return;
  lines.length = 0;
  opened = openEngine({ log });
  broker = await openMosquitto();
  client = await connectClient(broker.url);
});
test.after.each(async () => {
  if (!hasMosquitto) return;
  await client.endAsync(true);
  await opened.close();
  await broker.close();
});

function idsIn(path: string): number[] {
  if (!existsSync(path)) return [];
  const whole = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return whole.map((line) => (JSON.parse(line) as { id: number }).id);
}

/** Publishes rows with the ids from `first` up to `end`, exclusive. */
async function send(first: number, end: number, topic = 't'): Promise<void> {
  const all: Promise<unknown>[] = [];
  for (let id = first; id < end; id++) all.push(client.publishAsync(topic, `{"id":${id}}`, { qos: 1 }));
  await Promise.all(all);
}

function idsTo(end: number): number[] {
  return Array.from({ length: end }, (_, id) => id);
}

async function deadSink(): Promise<Sink> {
  return ['mqtt', { server: `tcp://127.0.0.1:${await freePort()}`, topic: 'out', qos: 1, sendSingle: true }];
}

type Sink = [string, Record<string, unknown>];

/** The stream of all rules here. */
function share(name = 's', topic = 't', qos = 1): void {
  const options = `TYPE="mqtt", DATASOURCE="${topic}", SHARED="TRUE", CONF_KEY="${name}"`;
  opened.stream(`CREATE STREAM ${name} () WITH (${options})`, { server: broker.url, qos });
}

/** Starts a rule that writes ids to a file, and returns the path. */
async function writeIds(id: string): Promise<string> {
  const path = join(temporaryFolder(), id);
  opened.run(id, 'SELECT id FROM s', [['file', { path, sendSingle: true }]]);
  await opened.figure(id, 'source_s_0_connection_status', (value) => value === 1);
  return path;
}

function messageOf(id: string, pattern: RegExp): Promise<string> {
  return eventually(`the message ${pattern} of ${id}`, async () => {
    const { message, status } = await opened.engine.status(id);
    assert.is(status, 'running');
    return pattern.test(message) ? message : undefined;
  });
}

const ends: Record<string, (id: string) => Promise<unknown>> = {
  stop: (id) => opened.engine.stop(id),
  remove: (id) => opened.engine.remove(id),
  restart: (id) => opened.engine.restart(id),
  'an update to another sink': async (id) => {
    opened.engine.define(ruleOf(id, 'SELECT id FROM s', [['nop', {}]]));
    await opened.engine.restart(id);
  },
};

for (const [name, end] of Object.entries(ends)) {
  held(`after ${name} of a rule whose sink is away its neighbour goes on and has every row`, async () => {
    share();
    const path = await writeIds('b');
    await send(0, 10);
    await eventually('the first rows', () => idsIn(path).length === 10);
    opened.run('a', 'SELECT id FROM s', [await deadSink()]);
    await opened.reach('a', 'running');
    await send(10, 500);
    await messageOf('a', /^holds source s: sink mqtt not connected for \d+ s, \d+ bytes waiting$/);
    await messageOf('b', /^held by rule a: sink mqtt not connected for \d+ s, \d+ bytes waiting$/);
    assert.ok(idsIn(path).length < 500, 'the broker waits for acknowledgements');
    await end('a');
    // A rule with the same sink holds its neighbours again.
    if (name === 'restart') await opened.engine.stop('a');
    await eventually('the other rows', () => idsIn(path).length >= 500);
    assert.equal(idsIn(path), idsTo(500));
    assert.is((await opened.engine.status('b')).message, '');
    const second = await writeIds('c');
    await send(500, 600);
    await eventually('rows of the new rule', () => idsIn(second).length >= 100);
    await eventually('rows of its neighbour', () => idsIn(path).length >= 600);
    assert.equal(idsIn(path), idsTo(600));
  });
}

held(
  'a rule that is updated to a good sink reads on with what the broker still holds, and the log says what was lost',
  async () => {
    share();
    const path = await writeIds('b');
    opened.run('a', 'SELECT id FROM s', [await deadSink()]);
    await opened.reach('a', 'running');
    await send(0, 500);
    await messageOf('a', /^holds source s: /);
    assert.ok(idsIn(path).length < 500, 'the broker waits for acknowledgements');
    const after = join(temporaryFolder(), 'a');
    opened.engine.define(ruleOf('a', 'SELECT id FROM s', [['file', { path: after, sendSingle: true }]]));
    await opened.engine.restart('a');
    await eventually('the other rows', () => idsIn(after).at(-1) === 499 && idsIn(path).length >= 500);
    // What was read before the update went to the sink that is gone.
    const taken = 500 - idsIn(after).length;
    assert.equal(idsIn(after), idsTo(500).slice(taken));
    assert.equal(idsIn(path), idsTo(500));
    const lost = new RegExp(
      `^sink mqtt is closed before ${taken} messages? \\(\\d+ bytes\\) could be sent: they are lost$`,
    );
    assert.is(lines.filter((line) => lost.test(line)).length, 1, lines.join('\n'));
  },
);

held('the log says once when a stream is held and when it flows again', async () => {
  share();
  const path = await writeIds('b');
  opened.run('a', 'SELECT id FROM s', [await deadSink()]);
  await opened.reach('a', 'running');
  await send(0, 100);
  const begin = /^stream s is held by rule a: sink mqtt not connected for \d+ s, \d+ bytes waiting; with it b$/;
  await eventually('the line', () => lines.some((line) => begin.test(line)));
  await messageOf('b', /held by rule a/);
  await opened.engine.remove('a');
  const free = /^stream s is no longer held by rule a, after \d+ s$/;
  await eventually('the end', () => lines.some((line) => free.test(line)));
  await eventually('the rows', () => idsIn(path).length >= 100);
  assert.is(lines.filter((line) => line.includes('held by')).length, 2);
});

held('a sink that comes back gets every row, and so do the neighbours', async () => {
  share();
  const path = await writeIds('b');
  const port = await freePort();
  opened.run('a', 'SELECT id FROM s', [
    ['mqtt', { server: `tcp://127.0.0.1:${port}`, topic: 'out', qos: 1, sendSingle: true }],
  ]);
  await opened.reach('a', 'running');
  await send(0, 200);
  await messageOf('a', /^holds source s/);
  const outside = await openMosquitto(port);
  const ids: number[] = [];
  const reader = await connectClient(outside.url);
  reader.on('message', (_topic, payload) => void ids.push((JSON.parse(payload.toString()) as { id: number }).id));
  await reader.subscribeAsync('out', { qos: 1 });
  await eventually('all rows of the neighbour', () => idsIn(path).length >= 200);
  assert.equal(idsIn(path), idsTo(200));
  await opened.figure('a', 'sinkRecordsOutTotal', (value) => value === 200);
  assert.ok(
    ids.every((id, i) => i === 0 || id === ids[i - 1]! + 1),
    'in order',
  );
  await eventually('no message', async () => (await opened.engine.status('a')).message === '');
  await reader.endAsync(true);
  await outside.close();
});

held('of several sinks one that is away holds the stream; a rule that fails at its start holds nothing', async () => {
  share();
  const path = await writeIds('b');
  const own = join(temporaryFolder(), 'own');
  opened.run('a', 'SELECT id FROM s', [['file', { path: own, sendSingle: true }], await deadSink(), await deadSink()]);
  await opened.reach('a', 'running');
  await send(0, 300);
  await messageOf('b', /^held by rule a: sink mqtt not connected/);
  await opened.figure('b', 'source_s_0_held_ms', (value) => value >= 1000);
  opened.run('d', 'SELECT id FROM s', [await deadSink(), ['file', { path: '/dev/null/no-folder' }]]);
  await opened.reach('d', 'stopped by error');
  await opened.engine.remove('a');
  await eventually('the rows', () => idsIn(path).length >= 300);
  assert.equal(idsIn(path), idsTo(300));
});

held('a rule that reads a memory topic holds the rule that writes it, and its end frees all', async () => {
  share();
  const path = await writeIds('b');
  opened.stream('CREATE STREAM m () WITH (TYPE="memory", DATASOURCE="m")');
  const text = 'x'.repeat(1000);
  opened.run('c', `SELECT id, "${text}" AS text FROM m`, [await deadSink()], { bufferLength: 64 });
  await opened.reach('c', 'running');
  opened.run('a', 'SELECT id FROM s', [['memory', { topic: 'm' }]]);
  await opened.reach('a', 'running');
  await send(0, 1000);
  await messageOf('b', /^held by rule a: sink memory does not keep up/);
  await messageOf('c', /^holds source m: sink mqtt not connected for \d+ s, \d+ kB waiting/);
  await opened.engine.remove('c');
  await eventually('the rows', () => idsIn(path).length >= 1000);
  assert.equal(idsIn(path), idsTo(1000));
});

held('a join whose sink is away holds both of its streams until it ends', async () => {
  share('s', 't', 0);
  share('u', 'u', 0);
  const path = await writeIds('b');
  const text = 'x'.repeat(2000);
  const sql = `SELECT s.id AS id, "${text}" AS text FROM s LEFT JOIN u ON s.id = u.id GROUP BY TUMBLINGWINDOW(ms, 10)`;
  opened.run('a', sql, [await deadSink()], { bufferLength: 64 });
  await opened.figure('a', 'source_u_0_connection_status', (value) => value === 1);
  await send(0, 100);
  await messageOf('a', /^holds sources s, u: sink mqtt not connected for \d+ s, \d+ kB waiting$/);
  await send(100, 200);
  await messageOf('b', /^held by rule a: sink mqtt/);
  await opened.engine.stop('a');
  await eventually('the rows', () => idsIn(path).length >= 200);
  assert.equal(idsIn(path), idsTo(200));
});

test.run();
