/** `haumea bench chaos`: what a seed makes, and what is counted. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readChaosArgs } from '../../../bench/chaos/args.js';
import { brokenBy, compare } from '../../../bench/chaos/compare.js';
import { messagesOf } from '../../../bench/chaos/messages.js';
import { scheduleOf } from '../../../bench/chaos/schedule.js';

test('a mistake in the arguments is named', () => {
  const refused = (line: string, reason: RegExp) => assert.throws(() => readChaosArgs(line.split(' ')), reason);
  refused('--topology file-tape', /--topology: "file-tape" is not one of file-file, /);
  refused('--faults engine,net', /--faults: "net" is not one of engine, broker, sink, slow, full, crash/);
  refused('--qos 3', /--qos: "3" is not a whole number from 0 to 2/);
  refused('--duration soon', /--duration: "soon" is no length of time/);
  refused('--broker rarely', /--broker: "rarely" is not one of change, end, never/);
  refused('--kill 3', /kill/);
  const { topologies, options } = readChaosArgs('--topology all --duration 2m'.split(' '));
  assert.ok(topologies.length > 10);
  assert.equal([options.durationMs, options.faults], [120_000, ['engine']]);
});

test('the same seed makes the same faults and messages, another one makes others', () => {
  const options = { durationMs: 60_000, kills: 9, faults: ['engine', 'broker', 'full', 'crash'] as const };
  const faults = scheduleOf({ ...options, seed: 5 });
  assert.equal(scheduleOf({ ...options, seed: 5 }), faults);
  assert.not.equal(scheduleOf({ ...options, seed: 6 }), faults);
  const count = (how: string) => faults.filter((fault) => fault.how === how).length;
  assert.equal([count('kill'), count('full'), faults.filter(({ kind }) => kind === 'broker').length], [12, 3, 3]);
  const crashes = scheduleOf({ ...options, seed: 5, kills: 60 }).filter(({ kind }) => kind === 'crash');
  assert.equal(new Set(crashes.map(({ isOuter }) => isOuter)), new Set([true, false]), 'either broker');
  const times = faults.map(({ atMs }) => atMs);
  assert.equal(
    times,
    [...times].sort((a, b) => a - b),
  );
  assert.ok(times[0]! >= 0 && times.at(-1)! <= 60_000);
  assert.equal(messagesOf('s', 500, 5, true), messagesOf('s', 500, 5, true));
  assert.not.equal(messagesOf('s', 500, 6, true), messagesOf('s', 500, 5, true));
});

test('rows that are missing, come twice, come late or belong nowhere are counted', () => {
  const expected = ['a', 'b', 'b', 'c', 'd'];
  const counts = (received: string[]) => {
    const { lost, repeated, reordered, wrong } = compare(expected, received);
    return { lost, repeated, reordered, wrong };
  };
  assert.equal(counts(expected), { lost: 0, repeated: 0, reordered: 0, wrong: 0 });
  assert.equal(counts(['a', 'b', 'b', 'b', 'a', 'c', 'd']), { lost: 0, repeated: 2, reordered: 0, wrong: 0 });
  assert.equal(counts(['b', 'a', 'x', 'd']), { lost: 2, repeated: 0, reordered: 1, wrong: 1 });
  assert.match(compare(expected, ['x']).examples.join(), /wrong: x/);
});

test('a promise is broken by what it excludes', () => {
  const found = { lost: 1, repeated: 2, reordered: 3, wrong: 4 };
  const broken = (promised: Parameters<typeof brokenBy>[1]) => brokenBy(found, promised, true).length;
  assert.equal((['nothing', 'at most once', 'at least once', 'exactly once'] as const).map(broken), [0, 3, 3, 4]);
  assert.equal(brokenBy({ ...found, lost: 0, wrong: 0 }, 'at least once', false), []);
});

test.run();
