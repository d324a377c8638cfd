/** Processor time of rules, measured in a running engine. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openEngine, type TestEngine } from './engine-harness.js';

let opened: TestEngine;
test.before(() => {
  opened = openEngine();
  opened.stream('CREATE STREAM shared () WITH (TYPE="simulator", CONF_KEY="sim", SHARED="true")', { interval: 1 });
});
test.after(() => opened.close());

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
  const sql = 'SELECT temperature, count(*) AS n FROM shared GROUP BY temperature, TUMBLINGWINDOW(ms, 20)';
  opened.run('win', sql, [['memory', { topic: 'windows' }]]);
  await opened.figure('win', 'sinkRecordsOutTotal', (value) => value >= 5);
  const { metrics } = await opened.engine.status('win');
  const windows = Object.keys(metrics).filter((name) => /^op_\d+_window_0_process_latency_us$/.test(name));
  assert.is(windows.length, 1);
  for (const name of [...windows, 'op_memory_0_0_transform_0_process_latency_us']) {
    assert.ok(Number(metrics[name]) > 0, `${name} is ${metrics[name]}`);
  }
  const [time] = await opened.engine.cpuTimes();
  assert.ok((time?.cpuUs ?? 0) >= Number(metrics[windows[0] ?? '']), 'the rule has at least the time of its window');
});

test.run();
