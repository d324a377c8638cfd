import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openEngine, ruleOf, type TestEngine } from '../../support/engine/engine-harness.js';
import { temporaryFolder } from '../../support/harness.js';

let opened: TestEngine;
test.before(() => {
  opened = openEngine();
  opened.stream('CREATE STREAM sim () WITH (TYPE="simulator", CONF_KEY="sim")', { interval: 1 });
  opened.stream('CREATE STREAM shared () WITH (TYPE="simulator", CONF_KEY="sim", SHARED="true")');
});
test.after(() => opened.close());

test('runs a rule over a file to its end; the figures stay', async () => {
  const folder = temporaryFolder();
  const rows = Array.from({ length: 3000 }, (_, i) => JSON.stringify({ id: i, temp: i % 40 }));
  writeFileSync(join(folder, 'in.txt'), `${rows.join('\n')}\n`);
  opened.stream('CREATE STREAM f () WITH (TYPE="file", DATASOURCE="in.txt", CONF_KEY="f")', {
    path: folder,
    fileType: 'lines',
  });
  const path = join(folder, 'out.txt');
  opened.run('file', 'SELECT id FROM f WHERE temp > 20', [['file', { path, sendSingle: true }]]);
  const status = await opened.reach('file', 'stopped');
  assert.is(status.message, 'done');
  const expected = rows.map((row) => JSON.parse(row)).filter((row) => row.temp > 20);
  assert.is(readFileSync(path, 'utf8'), expected.map((row) => `{"id":${row.id}}\n`).join(''));
  const { metrics } = status;
  assert.is(metrics.sourceRecordsInTotal, 3000);
  assert.is(metrics.sourceRecordsFilteredTotal, 3000 - expected.length);
  assert.is(metrics.sinkRecordsOutTotal, expected.length);
  assert.is(metrics.source_f_0_records_in_total, 3000);
  assert.is(metrics.op_2_filter_0_records_out_total, expected.length);
  assert.is(metrics.sink_file_0_0_records_out_total, expected.length);
  assert.match(String(metrics.lastInvocation), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/);
});

test('start, stop and restart may be repeated and say what happened', async () => {
  opened.run('life', 'SELECT temperature FROM sim', [['nop', {}]]);
  opened.engine.start('life');
  assert.is((await opened.reach('life', 'running')).message, '');
  assert.equal(opened.engine.usersOf('sim'), ['life']);
  await Promise.all([opened.engine.stop('life'), opened.engine.stop('life')]);
  const stopped = await opened.engine.status('life');
  assert.is(stopped.status, 'stopped');
  assert.is(stopped.message, 'canceled manually');
  assert.ok(stopped.lastStopTimestamp >= stopped.lastStartTimestamp);
  assert.equal(opened.engine.usersOf('sim'), []);
  await opened.engine.restart('life');
  await opened.reach('life', 'running');
  // A stop that comes during a restart is the last word.
  await Promise.all([opened.engine.restart('life'), opened.engine.stop('life')]);
  assert.is(opened.engine.state('life'), 'stopped');
  await Promise.all([opened.engine.stop('life'), opened.engine.restart('life')]);
  await opened.reach('life', 'running');
  await opened.engine.remove('life');
  assert.is(opened.engine.state('life'), undefined);
});

test('rules on a shared stream see the same rows', async () => {
  opened.run('s1', 'SELECT temperature FROM shared', [['nop', {}]]);
  opened.run('s2', 'SELECT humidity FROM shared WHERE temperature > 0', [['nop', {}]]);
  await opened.figure('s1', 'sinkRecordsOutTotal', (value) => value > 20);
  await opened.figure('s2', 'sinkRecordsOutTotal', (value) => value > 20);
  await opened.engine.remove('s1');
  await opened.engine.remove('s2');
});

test('rules hand rows on through memory topics', async () => {
  opened.stream('CREATE STREAM mem () WITH (TYPE="memory", DATASOURCE="plant/+/temp")');
  const path = join(temporaryFolder(), 'out.txt');
  opened.run('reader', 'SELECT t, meta(topic) AS topic FROM mem', [['file', { path, sendSingle: true }]]);
  await opened.reach('reader', 'running');
  opened.run('writer', 'SELECT temperature AS t FROM sim', [['memory', { topic: 'plant/a/temp', sendSingle: true }]]);
  await opened.figure('reader', 'sinkRecordsOutTotal', (value) => value > 5);
  assert.is(readFileSync(path, 'utf8').split('\n')[0], '{"t":22.5,"topic":"plant/a/temp"}');
  await opened.engine.remove('writer');
  await opened.engine.remove('reader');
});

test('a rule ends after its duration', async () => {
  opened.run('short', 'SELECT temperature FROM sim', [['nop', {}]], { durationMs: 100 });
  const status = await opened.reach('short', 'stopped');
  assert.is(status.message, 'duration terminated');
});

test(
  'one question tells state and latest failure of all rules, running and stopped, as their status ' + 'does',
  async () => {
    const nobody = { server: 'tcp://127.0.0.1:1', topic: 't' };
    opened.run('good', 'SELECT temperature FROM sim', [['nop', {}]]);
    opened.run('bad', 'SELECT temperature FROM sim', [['mqtt', nobody]], { forceExitTimeoutMs: 50 });
    await opened.reach('good', 'running');
    await opened.figure('bad', 'sink_mqtt_0_0_exceptions_total', (count) => count > 0);
    const summaryOf = async (id: string) => (await opened.engine.summaries()).find((summary) => summary.id === id);
    assert.equal(await summaryOf('good'), {
      id: 'good',
      status: 'running',
      lastException: '',
      exceptionsTotal: 0,
      troubles: [],
    });
    const running = await summaryOf('bad');
    assert.is(running?.status, 'running');
    assert.match(running?.lastException ?? '', /ECONNREFUSED/);
    assert.ok(running !== undefined && running.exceptionsTotal > 0);
    assert.match(
      running.troubles.join(),
      /sink mqtt is not connected to tcp:\/\/127\.0\.0\.1:1: .*ECONNREFUSED.*, still trying/,
    );
    await opened.engine.stop('bad');
    const { metrics } = await opened.engine.status('bad');
    assert.equal(await summaryOf('bad'), {
      id: 'bad',
      status: 'stopped',
      lastException: metrics.sink_mqtt_0_0_last_exception,
      exceptionsTotal: metrics.sink_mqtt_0_0_exceptions_total,
      troubles: [],
    });
    await opened.engine.remove('good');
    await opened.engine.remove('bad');
  },
);

test('forceExitTimeout bounds how long a stop waits for a sink that cannot send', async () => {
  const slow = openEngine({ flushTimeoutMs: 60_000 });
  slow.stream('CREATE STREAM sim () WITH (TYPE="simulator", CONF_KEY="sim")', { interval: 1 });
  const nobody = { server: 'tcp://127.0.0.1:1', topic: 't' };
  slow.run('stuck', 'SELECT temperature FROM sim', [['mqtt', nobody]], { forceExitTimeoutMs: 50 });
  await slow.figure('stuck', 'sinkRecordsEnqueuedTotal', (value) => value > 0);
  const began = performance.now();
  await slow.engine.stop('stuck');
  assert.ok(performance.now() - began < 20_000);
  assert.ok(Number((await slow.engine.status('stuck')).metrics.sinkRecordsFailedTotal) > 0);
  await slow.close();
});

test('refuses what it does not know, and keeps nothing of it', () => {
  const refuse = (id: string, sql: string, type: string, props: Record<string, unknown>, reason: RegExp) => {
    assert.throws(() => opened.engine.define(ruleOf(id, sql, [[type, props]])), reason);
    assert.is(opened.engine.state(id), undefined);
  };
  refuse('bad', 'SELECT * FROM nowhere', 'nop', {}, /nowhere/);
  refuse('bad', 'SELECT temperature FROM sim', 'pigeon', {}, /pigeon/);
  refuse('bad', 'SELECT temperature FROM sim', 'kafka', { brokers: 'b:1' }, /topic is required/);
  refuse('bad', 'SELECT temperature FROM sim', 'mqtt', { topic: 'a/#' }, /topic must not have wildcards/);
});

test.run();
