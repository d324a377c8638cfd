/** Rules in two data planes that are joined by topics in memory. */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Division } from '../../host/run/planes/placement/division.js';
import { openEngine, type TestEngine } from '../support/engine/engine-harness.js';
import { eventually, temporaryFolder } from '../support/harness.js';

const lines = 20_000;

let opened: TestEngine;
test.before.each(() => {
  opened = openEngine({ division: new Division(2), folders: { data: temporaryFolder() } });
  opened.stream('CREATE STREAM t () WITH (TYPE="memory", DATASOURCE="t/+")');
});
test.after.each(() => opened.close());

const rows = (id: string, least: number) => opened.figure(id, 'sinkRecordsOutTotal', (value) => value >= least);
const planeOf = (id: string) => opened.engine.placement(id)?.plane;
const isOpen = (id: string) => eventually(`${id} reads`, () => opened.engine.opening(id) !== undefined);

test('a reader in another thread has each row once, in order', async () => {
  const input = join(temporaryFolder(), 'input');
  const path = join(temporaryFolder(), 'rows');
  writeFileSync(input, Array.from({ length: lines }, (_, n) => `{"n":${n},"s":"text ${n}"}\n`).join(''));
  const key = { path: dirname(input), fileType: 'lines' };
  opened.stream('CREATE STREAM f () WITH (TYPE="file", DATASOURCE="input", CONF_KEY="f")', key);
  opened.run('reader', 'SELECT n, s, meta(topic) AS topic FROM t', [
    ['file', { path, fileType: 'lines', sendSingle: true }],
  ]);
  await isOpen('reader');
  opened.run('writer', 'SELECT n, s FROM f', [['memory', { topic: 't/a' }]]);
  assert.equal(['reader', 'writer'].map(planeOf), [0, 1]);
  await opened.reach('writer', 'stopped');
  await rows('reader', lines);
  await opened.engine.stop('reader');
  assert.equal(
    readFileSync(path, 'utf8').trim().split('\n'),
    Array.from({ length: lines }, (_, n) => `{"n":${n},"s":"text ${n}","topic":"t/a"}`),
  );
});

test('the death of the thread that reads leaves the writer at work, and the reader comes back', async () => {
  const props = { data: [{ v: 1 }], interval: 5, loop: true };
  opened.stream('CREATE STREAM a () WITH (TYPE="simulator", CONF_KEY="a")', props);
  opened.run('reader', 'SELECT v FROM t', [['nop', {}]]);
  await isOpen('reader');
  opened.run('writer', 'SELECT v FROM a', [['memory', { topic: 't/a' }]]);
  await rows('reader', 10);
  const { lastStartTimestamp } = await opened.engine.status('writer');
  const [first] = opened.engine.planes.all;
  const before = first!.threadId;
  await first!.kill();
  await eventually('another thread', () => first!.threadId !== undefined && first!.threadId !== before);
  await rows('reader', 10);
  const after = await opened.engine.status('writer');
  assert.is(after.lastStartTimestamp, lastStartTimestamp);
  assert.equal(['reader', 'writer'].map(planeOf), [0, 1]);
});

test('the death of the thread that writes leaves the reader at work', async () => {
  const props = { data: [{ v: 1 }], interval: 5, loop: true };
  opened.stream('CREATE STREAM a () WITH (TYPE="simulator", CONF_KEY="a")', props);
  opened.run('reader', 'SELECT v FROM t', [['nop', {}]]);
  await isOpen('reader');
  opened.run('writer', 'SELECT v FROM a', [['memory', { topic: 't/{{.v}}', sendSingle: true }]]);
  const had = await rows('reader', 10);
  await opened.engine.planes.all[1]!.kill();
  await eventually('the writer is back', () => opened.engine.state('writer') === 'running');
  await rows('reader', had + 100);
});

test('a thread that hangs holds up those who write to it until it is replaced, and nobody else', async () => {
  const hung = openEngine({ division: new Division(2), folders: { data: temporaryFolder() }, hangMs: 800 });
  try {
    const rowsOf = async (id: string) => Number((await hung.engine.status(id)).metrics.sinkRecordsOutTotal ?? 0);
    const more = async (id: string) => {
      const before = await rowsOf(id);
      await eventually(`rows of ${id}`, async () => (await rowsOf(id)) > before);
    };
    for (const [name, interval] of [
      ['calm', 5],
      ['trap', 0],
    ] as const) {
      const props = { data: [{ a: 1 }], interval, loop: true };
      hung.stream(`CREATE STREAM ${name} () WITH (TYPE="simulator", CONF_KEY="${name}")`, props);
    }
    hung.stream('CREATE STREAM t () WITH (TYPE="memory", DATASOURCE="t")');
    hung.run('writer', 'SELECT a FROM calm', [['memory', { topic: 't' }]]);
    hung.run('reader', 'SELECT a FROM t', [['nop', {}]]);
    hung.run('calm', 'SELECT a FROM calm', [['nop', {}]]);
    await more('reader');
    const planeOfHung = (id: string) => hung.engine.placement(id)?.plane;
    const started = (await hung.engine.status('calm')).lastStartTimestamp;
    // A billion pairs of rows are joined at once.
    const endless = `SELECT d.n FROM
      (SELECT count(*) AS n FROM trap INNER JOIN trap AS b ON trap.a + b.a < 0 GROUP BY TUMBLINGWINDOW(ms, 300)) AS d
      INNER JOIN trap AS c ON d.n = c.a GROUP BY TUMBLINGWINDOW(ms, 300)`;
    hung.run('spin', endless, [['nop', {}]]);
    assert.equal(['writer', 'reader', 'calm', 'spin'].map(planeOfHung), [0, 1, 0, 1]);
    await eventually('the end of the thread', () => hung.engine.state('spin') === 'stopped by error');
    for (const id of ['calm', 'writer', 'reader']) await more(id);
    assert.is((await hung.engine.status('calm')).lastStartTimestamp, started);
    const { metrics } = await hung.engine.status('writer');
    assert.ok(Number(metrics.sinkRecordsFailedTotal) > 0);
    assert.match(String(metrics.sink_memory_0_0_last_exception), /data plane 1 ended before its rules had taken it/);
  } finally {
    await hung.close();
  }
});

test.run();
