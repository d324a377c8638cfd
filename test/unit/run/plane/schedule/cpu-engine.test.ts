/** Processor time of rules, measured in a running engine. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openEngine, type TestEngine } from '../../../../support/engine/engine-harness.js';

let opened: TestEngine;
/** Engines of single tests that time every piece of work. */
const monitoring: TestEngine[] = [];

function openMonitored(): TestEngine {
  const monitored = openEngine({ measuresAll: true });
  monitoring.push(monitored);
  return monitored;
}

test.before(() => {
  opened = openEngine();
  opened.stream('CREATE STREAM shared () WITH (TYPE="simulator", CONF_KEY="sim", SHARED="true")', { interval: 1 });
});
test.after(async () => {
  for (const engine of [opened, ...monitoring]) await engine.close();
});

test('rules that share a stream and a filter do not have more time together than the process', async () => {
  const ids = Array.from({ length: 20 }, (_, i) => `r${i}`);
  const before = process.cpuUsage();
  for (const id of ids) opened.run(id, 'SELECT humidity FROM shared WHERE temperature > 0', [['nop', {}]]);
  for (const id of ids) await opened.figure(id, 'sinkRecordsOutTotal', (value) => value > 300);
  const times = await opened.engine.cpuTimes();
  const { user, system } = process.cpuUsage(before);
  const sum = times.reduce((total, { cpuUs }) => total + cpuUs, 0);
  assert.is(times.length, ids.length);
  for (const { id, cpuUs } of times) assert.ok(cpuUs > 0, id);
  assert.ok(sum <= user + system, `${sum} µs of ${user + system} µs`);
  for (const id of ids) await opened.engine.remove(id);
});

test('windows that a timer closes have its time, at the window and at what writes their rows', async () => {
  // With monitoring every piece of work is timed: a sample may come out longer than what all of it took.
  const monitored = openMonitored();
  monitored.stream('CREATE STREAM one () WITH (TYPE="simulator", CONF_KEY="sim")', { interval: 1 });
  const sql = 'SELECT temperature, count(*) AS n FROM one GROUP BY temperature, TUMBLINGWINDOW(ms, 20)';
  monitored.run('win', sql, [['memory', { topic: 'windows' }]]);
  await monitored.figure('win', 'sinkRecordsOutTotal', (value) => value >= 5);
  const { metrics } = await monitored.engine.status('win');
  const windows = Object.keys(metrics).filter((name) => /^op_\d+_window_0_process_latency_us$/.test(name));
  assert.is(windows.length, 1);
  for (const name of [...windows, 'op_memory_0_0_transform_0_process_latency_us']) {
    assert.ok(Number(metrics[name]) > 0, `${name} is ${metrics[name]}`);
  }
  const [time] = await monitored.engine.cpuTimes();
  assert.ok((time?.cpuUs ?? 0) >= Number(metrics[windows[0] ?? '']), 'the rule has at least the time of its window');
});

test('a join that timers run has their time', async () => {
  const monitored = openMonitored();
  for (const name of ['a', 'b']) {
    monitored.stream(`CREATE STREAM ${name} () WITH (TYPE="simulator", CONF_KEY="sim")`, { interval: 1 });
  }
  const sql = 'SELECT a.temperature, b.humidity FROM a CROSS JOIN b GROUP BY TUMBLINGWINDOW(ms, 50)';
  monitored.run('pairs', sql, [['memory', { topic: 'pairs' }]]);
  await monitored.figure('pairs', 'sinkRecordsOutTotal', (value) => value >= 5);
  const { metrics } = await monitored.engine.status('pairs');
  // What a sink takes from the projection is the projection's time once more.
  const inOperators = Object.keys(metrics)
    .filter((name) => /^op_\d+_.*_process_latency_us$/.test(name))
    .reduce((sum, name) => sum + Number(metrics[name]), 0);
  assert.ok(inOperators > 0);
  const [time] = await monitored.engine.cpuTimes();
  assert.ok((time?.cpuUs ?? 0) >= inOperators, `${time?.cpuUs} µs of the rule, ${inOperators} µs of its operators`);
});

test('with monitoring on, every piece of work is in a histogram of its operator', async () => {
  const monitored = openMonitored();
  monitored.stream('CREATE STREAM one () WITH (TYPE="simulator", CONF_KEY="sim")', { interval: 1 });
  monitored.run('h', 'SELECT temperature FROM one WHERE temperature > 0', [['memory', { topic: 'measured' }]]);
  await monitored.figure('h', 'sinkRecordsOutTotal', (value) => value >= 50);
  const [rule] = await monitored.engine.latencies();
  const { metrics } = await monitored.engine.status('h');
  assert.is(rule?.id, 'h');
  const times = new Map(rule?.operators);
  for (const name of ['source_one', 'op_2_filter', 'sink_memory_0']) {
    const { sumUs, counts } = times.get(name) ?? { sumUs: 0, counts: [] };
    const count = counts.reduce((sum, one) => sum + one, 0);
    // Rows come one by one, so that each is a piece of work; some more may have come since.
    assert.ok(count > 10 && count <= Number(metrics.sourceRecordsInTotal), `${count} times of ${name}`);
    assert.ok(sumUs > 0, name);
  }
  assert.equal(
    rule?.io.map(({ type, io, operator }) => [type, io, operator]),
    [
      ['simulator', 'source', 'source_one'],
      ['memory', 'sink', 'sink_memory_0'],
    ],
  );
  assert.ok((rule?.io[1]?.done ?? 0) >= 50);
});

test('without monitoring no histograms are kept', async () => {
  opened.run('plain', 'SELECT temperature FROM shared', [['memory', { topic: 'plain' }]]);
  await opened.figure('plain', 'sinkRecordsOutTotal', (value) => value > 20);
  const rule = (await opened.engine.latencies()).find(({ id }) => id === 'plain');
  assert.equal(rule?.operators, []);
});

test.run();
