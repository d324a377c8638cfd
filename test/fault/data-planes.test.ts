/** Rules in two data planes: each thread has its own, and what they share stays together. */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openDivided, type TestEngine } from '../support/engine/engine-harness.js';
import { eventually, temporaryFolder } from '../support/harness.js';

let opened: TestEngine;
test.before.each(() => {
  opened = openDivided(2);
  for (const name of ['a', 'b']) {
    const sql = `CREATE STREAM ${name} () WITH (TYPE="simulator", CONF_KEY="${name}", SHARED="true")`;
    opened.stream(sql, { data: [{ v: 1 }], interval: 5, loop: true });
  }
});
test.after.each(() => opened.close());

const rows = (id: string, least: number) => opened.figure(id, 'sinkRecordsOutTotal', (value) => value >= least);
const planeOf = (id: string) => opened.engine.placement(id)?.plane;

test('rules on different streams run in different threads, those on a shared stream in one', async () => {
  opened.run('a1', 'SELECT v FROM a', [['nop', {}]]);
  opened.run('b1', 'SELECT v FROM b', [['nop', {}]]);
  opened.run('a2', 'SELECT v + 1 AS w FROM a', [['nop', {}]]);
  for (const id of ['a1', 'b1', 'a2']) await rows(id, 3);
  assert.equal(['a1', 'b1', 'a2'].map(planeOf), [0, 1, 0]);
  assert.is((await opened.engine.threadMemory()).length, 2);
  assert.equal(
    (await opened.engine.summaries()).map(({ status }) => status),
    ['running', 'running', 'running'],
  );
});

test('a thread that dies costs only its rules', async () => {
  opened.run('a1', 'SELECT v FROM a', [['nop', {}]]);
  opened.run('b1', 'SELECT v FROM b', [['nop', {}]]);
  await rows('a1', 3);
  await rows('b1', 3);
  const [first, second] = opened.engine.planes.all;
  const before = first!.threadId;
  const { lastStartTimestamp } = await opened.engine.status('b1');
  await first!.kill();
  await eventually('another thread', () => first!.threadId !== undefined && first!.threadId !== before);
  await rows('a1', 3);
  await rows('b1', 3);
  assert.is((await opened.engine.status('b1')).lastStartTimestamp, lastStartTimestamp);
  assert.not.equal(second!.threadId, first!.threadId);
});

test('a rule on the streams of two threads brings the rules of one to the other, with their state', async () => {
  const path = join(temporaryFolder(), 'counts');
  opened.run('a1', 'SELECT acc_count(v) AS n FROM a', [['file', { path, fileType: 'lines', sendSingle: true }]]);
  opened.run('b1', 'SELECT v FROM b', [['nop', {}]]);
  opened.run('b2', 'SELECT v + 1 AS w FROM b', [['nop', {}]]);
  for (const id of ['a1', 'b1', 'b2']) await rows(id, 20);
  assert.equal(['a1', 'b1', 'b2'].map(planeOf), [0, 1, 1]);
  const { lastStartTimestamp } = await opened.engine.status('b1');
  opened.run('both', 'SELECT count(*) AS n FROM a INNER JOIN b ON a.v = b.v GROUP BY COUNTWINDOW(2)', [['nop', {}]]);
  await eventually(
    'the move',
    async () => String((await opened.engine.status('a1')).metrics.stateAtStart) !== 'undefined',
  );
  await rows('a1', 20);
  await rows('both', 1);
  assert.equal(['a1', 'b1', 'b2', 'both'].map(planeOf), [1, 1, 1, 1]);
  assert.is((await opened.engine.status('b1')).lastStartTimestamp, lastStartTimestamp, 'those of the other go on');
  await opened.engine.stop('a1');
  const counts = readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).n);
  assert.equal(
    counts,
    counts.map((_n, i) => i + 1),
    'the count goes on where it was',
  );
});

test('a rule that is stopped on its way to another thread stays stopped', async () => {
  for (const id of ['a1', 'b1', 'b2']) opened.run(id, `SELECT v FROM ${id[0]}`, [['nop', {}]]);
  for (const id of ['a1', 'b1', 'b2']) await rows(id, 3);
  opened.run('both', 'SELECT a.v FROM a INNER JOIN b ON a.v = b.v GROUP BY COUNTWINDOW(2)', [['nop', {}]]);
  assert.is(opened.engine.state('a1'), 'stopping');
  await opened.engine.stop('a1');
  assert.is(opened.engine.state('a1'), 'stopped');
  await rows('both', 1);
  assert.is(opened.engine.state('a1'), 'stopped');
  opened.engine.start('a1');
  await rows('a1', 3);
});

test('rules that feed each other move at one instant: their reader has each row once', async () => {
  const path = join(temporaryFolder(), 'rows');
  const input = join(temporaryFolder(), 'input');
  writeFileSync(input, Array.from({ length: 2000 }, (_, n) => `{"n":${n}}\n`).join(''));
  const key = { path: dirname(input), fileType: 'lines', sendInterval: 1 };
  opened.stream('CREATE STREAM f () WITH (TYPE="file", DATASOURCE="input", CONF_KEY="f", SHARED="true")', key);
  opened.stream('CREATE STREAM t () WITH (TYPE="memory", DATASOURCE="t")');
  const exact = { qos: 2, checkpointIntervalMs: 50 };
  opened.run('reader', 'SELECT n FROM t', [['file', { path, fileType: 'lines', sendSingle: true }]], exact);
  opened.run('writer', 'SELECT n FROM f', [['memory', { topic: 't' }]], exact);
  for (const id of ['b1', 'b2', 'b3']) opened.run(id, 'SELECT v FROM b', [['nop', {}]]);
  for (const id of ['reader', 'b1', 'b2', 'b3']) await rows(id, 20);
  assert.equal(['reader', 'writer', 'b1'].map(planeOf), [0, 0, 1]);
  opened.run('both', 'SELECT f.n FROM f INNER JOIN b ON f.n = b.v GROUP BY COUNTWINDOW(10)', [['nop', {}]]);
  assert.equal(['reader', 'writer', 'b1'].map(planeOf), [1, 1, 1]);
  assert.is(opened.engine.state('reader'), 'stopping');
  const numbers = () =>
    readFileSync(path, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).n);
  await eventually('all rows', () => readFileSync(path, 'utf8').includes('{"n":1999}'));
  await opened.engine.stop('reader');
  assert.equal(
    numbers(),
    Array.from({ length: 2000 }, (_, n) => n),
  );
});

test('rules take millions of bytes of rows along, those with and without checkpoints', async () => {
  const folder = temporaryFolder();
  const [count, size] = [4000, 3000];
  const text = 'x'.repeat(3000);
  writeFileSync(join(folder, 'input'), Array.from({ length: count }, (_, n) => `{"n":${n},"t":"${text}"}\n`).join(''));
  const key = { path: folder, fileType: 'lines', sendInterval: 1 };
  opened.stream('CREATE STREAM f () WITH (TYPE="file", DATASOURCE="input", CONF_KEY="f", SHARED="true")', key);
  const fileOf = (id: string) => join(folder, `${id}.out`);
  const options = { exact: { qos: 2, checkpointIntervalMs: 50 }, free: {} };
  for (const [id, own] of Object.entries(options)) {
    const sink = { path: fileOf(id), fileType: 'lines', sendSingle: true };
    opened.run(id, `SELECT n, t FROM f GROUP BY COUNTWINDOW(${size})`, [['file', sink]], own);
  }
  for (const id of ['b1', 'b2', 'b3']) opened.run(id, 'SELECT v FROM b', [['nop', {}]]);
  const isMuch = (bytes: number) => bytes > 5e6;
  for (const id of Object.keys(options)) await opened.figure(id, 'stateBytes', isMuch);
  assert.equal(['exact', 'free', 'b1'].map(planeOf), [0, 0, 1]);
  opened.run('both', 'SELECT f.n FROM f INNER JOIN b ON f.n = b.v GROUP BY COUNTWINDOW(10)', [['nop', {}]]);
  assert.equal(['exact', 'free', 'b1'].map(planeOf), [1, 1, 1]);
  for (const id of Object.keys(options)) {
    await eventually(`the window of ${id}`, () => readFileSync(fileOf(id), 'utf8').includes(`{"n":${size - 1},`));
    await opened.engine.stop(id);
    const rows = readFileSync(fileOf(id), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { n: number; t: string });
    assert.ok(rows.every(({ t }) => t === text));
    assert.equal(
      rows.map(({ n }) => n),
      Array.from({ length: size }, (_, n) => n),
      id,
    );
  }
});

test('rules take millions of bytes of groups along, those with and without checkpoints', async () => {
  const folder = temporaryFolder();
  const [count, size, groups] = [6000, 5000, 2000];
  const text = 'x'.repeat(3000);
  const lines = Array.from({ length: count }, (_, n) => `{"n":${n},"k":"key ${n % groups}","t":"${text}"}\n`);
  writeFileSync(join(folder, 'input'), lines.join(''));
  const key = { path: folder, fileType: 'lines', sendInterval: 1 };
  opened.stream('CREATE STREAM f () WITH (TYPE="file", DATASOURCE="input", CONF_KEY="f", SHARED="true")', key);
  const fileOf = (id: string) => join(folder, `${id}.out`);
  const options = { exact: { qos: 2, checkpointIntervalMs: 50 }, free: {} };
  for (const [id, own] of Object.entries(options)) {
    const sink = { path: fileOf(id), fileType: 'lines', sendSingle: true };
    const sql = `SELECT count(*) AS c, max(n) AS n, max(t) AS t FROM f GROUP BY k, COUNTWINDOW(${size})`;
    opened.run(id, sql, [['file', sink]], own);
  }
  for (const id of ['b1', 'b2', 'b3']) opened.run(id, 'SELECT v FROM b', [['nop', {}]]);
  for (const id of Object.keys(options)) await opened.figure(id, 'stateBytes', (bytes) => bytes > 6e6);
  assert.equal(['exact', 'free', 'b1'].map(planeOf), [0, 0, 1]);
  opened.run('both', 'SELECT f.n FROM f INNER JOIN b ON f.n = b.v GROUP BY COUNTWINDOW(10)', [['nop', {}]]);
  assert.equal(['exact', 'free', 'b1'].map(planeOf), [1, 1, 1]);
  for (const id of Object.keys(options)) {
    await eventually(`the window of ${id}`, () => readFileSync(fileOf(id), 'utf8').split('\n').length > groups);
    await opened.engine.stop(id);
    const rows = readFileSync(fileOf(id), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { c: number; n: number; t: string });
    assert.ok(rows.every(({ t }) => t === text));
    const expected = Array.from({ length: groups }, (_, k) => {
      const c = Math.ceil((size - k) / groups);
      return { c, n: k + (c - 1) * groups };
    });
    assert.equal(
      rows.map(({ c, n }) => ({ c, n })),
      expected,
      id,
    );
  }
});

test('rules move away from a thread that has much to do, and have each row once', async () => {
  const even = openDivided(2, 200);
  try {
    const folder = temporaryFolder();
    const count = 12_000;
    writeFileSync(join(folder, 'input'), Array.from({ length: count }, (_, n) => `{"n":${n}}\n`).join(''));
    for (const name of ['x', 'y']) {
      const sql = `CREATE STREAM ${name} () WITH (TYPE="file", DATASOURCE="input", CONF_KEY="x", SHARED="true")`;
      even.stream(sql, { path: folder, fileType: 'lines' });
    }
    // Both are in one thread, since a third reads both streams.
    const third = 'SELECT x.n FROM x INNER JOIN y ON x.n = y.n GROUP BY COUNTWINDOW(10)';
    const busy = `length(${'sha512('.repeat(40)}CAST(n, "string")${')'.repeat(40)})`;
    even.engine.startsAll(true);
    even.run('third', third, [['nop', {}]]);
    for (const name of ['x', 'y']) {
      const sink: [string, Record<string, unknown>] = [
        'file',
        { path: join(folder, `${name}.out`), fileType: 'lines', sendSingle: true },
      ];
      const options = { qos: 2, checkpointIntervalMs: 50 };
      even.run(name, `SELECT n, ${busy} AS l FROM ${name}`, [sink], options);
    }
    even.engine.startsAll(false);
    await even.engine.remove('third');
    const planes = () => ['x', 'y'].map((id) => even.engine.placement(id)?.plane);
    await eventually('the move', () => planes()[0] !== planes()[1]);
    for (const id of ['x', 'y']) {
      await even.reach(id, 'stopped');
      const lines = readFileSync(join(folder, `${id}.out`), 'utf8')
        .trim()
        .split('\n');
      assert.equal(
        lines.map((line) => JSON.parse(line).n),
        Array.from({ length: count }, (_, n) => n),
      );
    }
  } finally {
    await even.close();
  }
});

test.run();
