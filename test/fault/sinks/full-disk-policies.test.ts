/**
 * Rules on shared streams whose sinks are away while the disk is full from the first message on: where a rule says that
 * its oldest messages may go, or that it ends, its neighbours have every row; where it says neither it holds its
 * stream, and tells why.
 */
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
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
if (!canRun) announceSkip('policies on a full disk', 'it needs mosquitto, and root for a file system of bounded size');
const full = canRun ? test : test.skip;

interface Case {
  /** Of the stream, and of the rule whose sink is away. */
  readonly streamQos: 0 | 1;
  readonly qos: 0 | 1 | 2;
  readonly policy: string;
  readonly props: Record<string, unknown>;
  readonly expected: 'drops' | 'ends' | RegExp;
}

const cache = { enableCache: true };
const dropping = { ...cache, cacheFullPolicy: 'dropOldest' };
const noCheckpoint = /^holds source \w+: no checkpoint could be written: .*ENOSPC/;
const unwritten =
  /^holds source \w+: sink mqtt not connected for \d+ s, its (retry queue|cache) can't be written: .*ENOSPC/;
const cases: Case[] = [
  { streamQos: 0, qos: 0, policy: 'auto', props: {}, expected: 'drops' },
  { streamQos: 1, qos: 0, policy: 'auto', props: {}, expected: 'drops' },
  { streamQos: 0, qos: 0, policy: 'dropOldest', props: {}, expected: 'drops' },
  { streamQos: 0, qos: 1, policy: 'dropOldest', props: {}, expected: 'drops' },
  { streamQos: 0, qos: 2, policy: 'dropOldest', props: cache, expected: 'drops' },
  { streamQos: 1, qos: 0, policy: 'dropOldest', props: cache, expected: 'drops' },
  { streamQos: 1, qos: 0, policy: 'block', props: dropping, expected: 'drops' },
  { streamQos: 0, qos: 0, policy: 'stop', props: cache, expected: 'ends' },
  { streamQos: 1, qos: 0, policy: 'stop', props: {}, expected: 'ends' },
  // Its sink drops, but its checkpoints can't be written either.
  { streamQos: 1, qos: 1, policy: 'stop', props: dropping, expected: 'ends' },
  { streamQos: 1, qos: 1, policy: 'dropOldest', props: {}, expected: noCheckpoint },
  { streamQos: 1, qos: 0, policy: 'block', props: {}, expected: unwritten },
  { streamQos: 1, qos: 0, policy: 'auto', props: cache, expected: unwritten },
];

function fill(path: string): void {
  const file = openSync(path, 'w');
  try {
    for (;;) writeSync(file, Buffer.alloc(4096));
  } catch (error) {
    assert.is((error as NodeJS.ErrnoException).code, 'ENOSPC');
  } finally {
    closeSync(file);
  }
}

const count = 300;
const near = temporaryFolder();
let plant: Plant;
let outside: Outside;

test.before(async () => {
  if (!canRun) return;
  outside = await Outside.make('#');
  plant = await Plant.open();
  await plant.moveTo(data);
});
test.after(async () => {
  if (disk === undefined) return;
  await plant.close();
  await outside.stop();
  disk.unmount();
});

const streamOf = (one: Case) => `t${cases.indexOf(one)}`;
const farOf = (one: Case) => `far${streamOf(one)}`;
const rowsOf = (one: Case) => idsIn(join(near, streamOf(one)));
const titleOf = ({ streamQos, qos, policy, props }: Case) =>
  `stream of QoS ${streamQos}, qos ${qos}, ${policy}, ${JSON.stringify(props)}`;

async function make(one: Case): Promise<void> {
  const { streamQos, qos, policy, props } = one;
  const name = streamOf(one);
  await plant.stream(name, streamQos);
  await plant.rule(`near${name}`, name, { file: { path: join(near, name), sendSingle: true } });
  const mqtt = { server: outside.url, topic: name, qos: 1, sendSingle: true, ...props };
  const sql = `SELECT id, "${'x'.repeat(1000)}" AS text FROM ${name}`;
  const options = { bufferLength: 64, qos, bufferFullPolicy: policy, checkpointInterval: 1000 };
  await plant.post('/rules', { id: farOf(one), sql, actions: [{ mqtt }], options });
  await plant.figure(farOf(one), `source_${name}_0_connection_status`, (value) => value === 1);
}

full('rules are made, and what comes for them finds a full disk', async () => {
  for (const one of cases) await make(one);
  fill(join(data, 'ballast'));
  // Those of streams that are held come later.
  for (const one of cases) void plant.send(streamOf(one), 0, count).catch(() => {});
});

for (const one of cases) {
  const { expected } = one;
  const ends = expected instanceof RegExp ? 'it holds its stream' : `it ${expected}, its neighbour has all`;
  full(`${titleOf(one)}: ${ends}`, async () => {
    if (expected instanceof RegExp) {
      await eventually('the hold', async () => expected.test((await plant.status(farOf(one))).message), 60_000);
      return;
    }
    await eventually('all rows of the neighbour', () => first(rowsOf(one)).length === count, 60_000);
    if (expected === 'ends') {
      const { message } = await eventually('the end', async () => {
        const now = await plant.status(farOf(one));
        return /by error/i.test(now.status) ? now : undefined;
      });
      assert.match(message, /ENOSPC.*: it holds source \w+, and bufferFullPolicy is stop$/);
      return;
    }
    await plant.figure(farOf(one), 'sink_mqtt_0_0_records_in_total', (value) => value === count);
    // About 64 KiB stay.
    const isMost = (failed: number) => failed > count / 2 && failed < count - 40;
    const failed = await plant.figure(farOf(one), 'sinkRecordsFailedTotal', isMost);
    const { message, ...status } = await plant.status(farOf(one));
    assert.is(message, '', 'it holds nobody');
    assert.is(status.sink_mqtt_0_0_cache_drop_total, status.sinkRecordsFailedTotal);
    assert.match(
      status.sink_mqtt_0_0_last_exception,
      /can't be written: .*the oldest messages in memory were dropped$|ECONNREFUSED/,
    );
    await eventually('the drops in the metrics', async () => {
      const { text } = await plant.server.request('GET', '/metrics');
      const isDrops = (line: string) => line.includes(`"${farOf(one)}"`) && line.includes('"drop"');
      return Number(text.split('\n').find(isDrops)?.split(' ').at(-1)) >= failed;
    });
  });
}

full('with room again each sink gets what was kept, in order, and those that were held go on', async () => {
  rmSync(join(data, 'ballast'));
  await outside.start();
  const kept = new Map<string, number[]>();
  const going = cases.filter(({ expected }) => expected !== 'ends');
  for (const one of going) {
    await plant.figure(farOf(one), 'sink_mqtt_0_0_records_in_total', (value) => value === count);
    await plant.figure(farOf(one), 'bufferLength', (value) => value === 0);
    const { sinkRecordsFailedTotal: failed, sinkRecordsOutTotal: out } = await plant.status(farOf(one));
    assert.is(failed + out, count, titleOf(one));
    if (one.policy !== 'dropOldest' && one.expected instanceof RegExp) assert.is(failed, 0, titleOf(one));
    kept.set(streamOf(one), range(count - out, count));
  }
  const total = [...kept.values()].reduce((sum, { length }) => sum + length, 0);
  const got = new Map<string, number[]>();
  for (const { topic, text } of await outside.messages(total)) {
    got.set(topic, [...(got.get(topic) ?? []), (JSON.parse(text) as { id: number }).id]);
  }
  for (const one of going) {
    const ids = first(got.get(streamOf(one)) ?? []);
    const expected = kept.get(streamOf(one)) ?? [];
    if (one.expected !== noCheckpoint) assert.equal(ids, expected, titleOf(one));
    // It had its first messages before the others came, which may find its disk at rest after the last failure.
    else assert.is(ids.length, expected.length, titleOf(one));
  }
});

test.run();
