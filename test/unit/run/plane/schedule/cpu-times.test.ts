import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RuleRun } from '../../../../../host/run/plane/rule/rule-run.js';
import { CpuTimes } from '../../../../../host/run/plane/schedule/cpu-times.js';

/** µs measured by node or stream. */
const busy = new Map<number, number>();
/** µs of timers below a merge. */
const ticked = new Map<number, number>();
const counters = (handle: number) => ({ busyUs: busy.get(handle) ?? 0, tickUs: ticked.get(handle) ?? 0 });

type Source = RuleRun['sources'][number];

/** A source with the time of all work for it and that of timers below it, µs. */
const source = (workUs: number, tickUs = 0) =>
  ({ workUs, counters: { tickUs }, users: new Set<RuleRun>() }) as unknown as Source;

/**
 * A rule with the nodes given, each with what it had measured when the rule came; those with time of timers are merges.
 */
function rule(run: number, nodes: Record<number, number>, sources: Source[] = []): RuleRun {
  const made = {
    run,
    isEnding: false,
    nodes: Object.entries(nodes).map(([handle, base]) => ({
      kind: ticked.has(Number(handle)) ? 'merge' : 'filter',
      handle: Number(handle),
      base: base === 0 ? null : { busyUs: base },
    })),
    sources,
    host: { kernel: { counters } },
  } as unknown as RuleRun;
  for (const { users } of sources) users.add(made);
  return made;
}

test('a rule has the time of its own nodes and source', () => {
  const times = new CpuTimes();
  busy.set(1, 100).set(2, 50);
  const own = source(180);
  const rules = [rule(1, { 1: 0, 2: 0 }, [own])];
  assert.equal(times.take(rules, 0), [[1, 180]]);
  assert.equal(times.take(rules, 0), [[1, 180]]);
  busy.set(1, 160);
  own.workUs = 270;
  assert.equal(times.take(rules, 0), [[1, 270]]);
});

test('shared time is divided among those who were there', () => {
  const times = new CpuTimes();
  busy.clear();
  busy.set(5, 300);
  const first = rule(1, { 5: 0 });
  const second = rule(2, { 5: 100 });
  // 100 for the first alone, 200 for both.
  assert.equal(times.take([first, second], 0), [
    [1, 200],
    [2, 100],
  ]);
  busy.set(5, 400);
  assert.equal(times.take([first, second], 0), [
    [1, 250],
    [2, 150],
  ]);
  busy.set(5, 500);
  // The third joined half way; the first is gone.
  assert.equal(times.take([second, rule(3, { 5: 450 })], 0), [
    [2, 225],
    [3, 25],
  ]);
});

test('a place in memory that is used again counts from zero', () => {
  const times = new CpuTimes();
  busy.clear();
  busy.set(7, 1000);
  times.take([rule(1, { 7: 0 })], 0);
  busy.set(7, 40);
  assert.equal(times.take([rule(2, { 7: 0 })], 0), [[2, 40]]);
});

test('what a source costs beside the nodes is divided among its readers', () => {
  const times = new CpuTimes();
  busy.clear();
  busy.set(1, 100).set(2, 300);
  const shared = source(1000);
  assert.equal(times.take([rule(1, { 1: 0 }, [shared]), rule(2, { 2: 0 }, [shared])], 0), [
    [1, 400],
    [2, 600],
  ]);
});

test('the time of timers counts, with what they cost outside of nodes', () => {
  const times = new CpuTimes();
  busy.clear();
  // The first has a window: of its 300 µs timers took 240; handing out what they wrote took 60 more.
  busy.set(1, 300).set(2, 50);
  const rules = [rule(1, { 1: 0 }, [source(80, 240)]), rule(2, { 2: 0 }, [source(100)])];
  assert.equal(times.take(rules, 300), [
    [1, 380],
    [2, 100],
  ]);
});

test('the time of timers below a merge counts for its rule alone', () => {
  const times = new CpuTimes();
  busy.clear();
  ticked.set(3, 240);
  // A join of two sources, one of which another rule reads too: of the 300 µs in its nodes timers took 240.
  busy.set(1, 20).set(2, 30).set(3, 0).set(4, 250).set(9, 10);
  const shared = source(60);
  const joined = rule(1, { 1: 0, 2: 0, 3: 0, 4: 0 }, [source(100), shared]);
  const other = rule(2, { 9: 0 }, [shared]);
  const sum = (taken: [run: number, us: number][]) => taken.reduce((total, [, us]) => total + us, 0);
  const first = times.take([joined, other], 270);
  assert.is(Math.round(sum(first)), 100 + 60 + 270);
  assert.ok((first[0]?.[1] ?? 0) > 350, `the join has ${first[0]?.[1]} µs`);
  // The next window takes 50 µs more, then the rule ends.
  busy.set(4, 300);
  ticked.set(3, 290);
  times.end(joined, new Set([joined, other]), 320);
  assert.is(Math.round(sum(times.take([other], 320))), 100 + 60 + 320);
  ticked.clear();
});

test('sampled times that are too long do not make more than was spent', () => {
  const times = new CpuTimes();
  busy.clear();
  busy.set(1, 600).set(2, 200);
  const shared = source(400);
  const rules = [rule(1, { 1: 0 }, [shared]), rule(2, { 2: 0 }, [shared])];
  assert.equal(times.take(rules, 0), [
    [1, 300],
    [2, 100],
  ]);
});

test('tells the time of a rule that ended a moment ago', () => {
  const times = new CpuTimes();
  busy.clear();
  busy.set(1, 100);
  const own = source(150);
  const one = rule(1, { 1: 0 }, [own]);
  assert.equal(times.take([one], 0), [[1, 150]]);
  busy.set(1, 160);
  own.workUs = 250;
  times.end(one, new Set([one]), 0);
  assert.equal(times.take([], 0), [[1, 250]]);
  // Never looked at before, and with another on the same source.
  busy.set(2, 40).set(3, 60);
  const shared = source(200);
  const rules = [rule(2, { 2: 0 }, [shared]), rule(3, { 3: 0 }, [shared])];
  for (const ending of rules) times.end(ending, new Set(rules), 0);
  assert.equal(times.take([], 0), [
    [1, 250],
    [2, 90],
    [3, 110],
  ]);
});

test.run();
