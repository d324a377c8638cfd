import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { CpuTimes } from '../../../host/run/cpu-times.js';
import type { RuleRun } from '../../../host/run/rule-run.js';

/** µs measured by node or stream. */
const busy = new Map<number, number>();
const read = (handle: number) => busy.get(handle) ?? 0;

/** A rule with the nodes and streams given, each with what it had measured when the rule came. */
function rule(run: number, nodes: Record<number, number>, streams: Record<number, number> = {}): RuleRun {
  const counters = (handle: number) => ({ busyUs: read(handle) });
  return {
    run,
    isEnding: false,
    nodes: Object.entries(nodes).map(([handle, base]) => ({
      handle: Number(handle),
      base: base === 0 ? null : { busyUs: base },
    })),
    sources: Object.keys(streams).map((stream) => ({
      stream: Number(stream),
      get counters() {
        return counters(Number(stream));
      },
    })),
    sourceBases: Object.values(streams).map((busyUs) => ({ busyUs })),
    host: { kernel: { counters } },
  } as unknown as RuleRun;
}

test('a rule has the time of its own nodes and streams', () => {
  const times = new CpuTimes();
  busy.set(1, 100).set(2, 50).set(9, 30);
  const rules = [rule(1, { 1: 0, 2: 0 }, { 9: 0 })];
  assert.equal(times.take(rules), [[1, 180]]);
  assert.equal(times.take(rules), [[1, 180]]);
  busy.set(1, 160);
  assert.equal(times.take(rules), [[1, 240]]);
});

test('shared time is divided among those who were there', () => {
  const times = new CpuTimes();
  busy.clear();
  busy.set(5, 300);
  const first = rule(1, { 5: 0 });
  const second = rule(2, { 5: 100 });
  // 100 for the first alone, 200 for both.
  assert.equal(times.take([first, second]), [
    [1, 200],
    [2, 100],
  ]);
  busy.set(5, 400);
  assert.equal(times.take([first, second]), [
    [1, 250],
    [2, 150],
  ]);
  busy.set(5, 500);
  // The third joined half way; the first is gone.
  assert.equal(times.take([second, rule(3, { 5: 450 })]), [
    [2, 225],
    [3, 25],
  ]);
});

test('a place in memory that is used again counts from zero', () => {
  const times = new CpuTimes();
  busy.clear();
  busy.set(7, 1000);
  times.take([rule(1, { 7: 0 })]);
  busy.set(7, 40);
  assert.equal(times.take([rule(2, { 7: 0 })]), [[2, 40]]);
});

test.run();
