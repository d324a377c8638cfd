/** The checks that benchmarks make of results: what is right passes, what is missing, wrong or doubled is named. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { FIRST_ID } from '../../../bench/messages/frames.js';
import { groupChecker } from '../../../bench/workloads/check-groups.js';
import { rowChecker } from '../../../bench/workloads/check-rows.js';
import { workloadByName } from '../../../bench/workloads/index.js';
import type { Checker } from '../../../bench/workloads/workload.js';

/** Message 0 of each two passes. */
const cycle = [{ before: '{"d":"x","id":', after: ',"t":1}' }, null];
const row = (i: number, text = ',"t":1}') => `{"d":"x","id":${FIRST_ID + i}${text}`;

function findingsOf(checker: Checker, ...lines: string[]): string[] {
  checker.lines(Buffer.from(`${lines.join('\n')}\n`));
  return checker.finish();
}

test('rows are right in arrays of one, arrays of many and alone, in any order', () => {
  const checker = rowChecker(cycle, 8);
  assert.is(checker.accounted, 0);
  assert.equal(findingsOf(checker, `[${row(6)}]`, row(0), `[${row(2)},${row(4)}]`), []);
  assert.is(checker.accounted, 8);
});

test('rows that are missing, doubled, wrong or of nothing sent are named', () => {
  const cases: [string[], RegExp][] = [
    [[row(0), row(2)], /^1 of 3 results are missing, the first is id \d+4$/],
    [[row(0), row(2), row(4), row(2)], /^id \d+2 came twice$/],
    [[row(0), row(2), row(4, ',"t":2}')], /^wrong row: .*"t":2}, expected /],
    [[row(0), row(2), row(4), row(1)], /^unexpected row: .*1,"t":1}$/],
    [[row(0), row(2), row(4), row(8)], /^unexpected row: /],
    [[row(0), row(2), row(4), '{"t":1}'], /^unexpected row: {"t":1}$/],
    [[row(0), row(2), row(4), 'error'], /^unexpected row: error$/],
  ];
  for (const [lines, reason] of cases) assert.match(findingsOf(rowChecker(cycle, 6), ...lines)[0] ?? 'nothing', reason);
});

test('of many findings the first five are kept', () => {
  assert.is(findingsOf(rowChecker(cycle, 6), ...Array.from({ length: 20 }, () => 'error')).length, 5);
});

const reading = (device: string, temp: number, speed: number) => ({ device, temp, speed, hum: 0, ts: 0 });
const readings = [reading('a', 10, 5), reading('b', 20, 7), reading('a', 30, 6)];
const group = (device: string, n: number, avg_temp: number, max_speed: number) => ({ device, n, avg_temp, max_speed });

test('groups are right when the figures of all windows add up to what was sent', () => {
  const checker = groupChecker(readings, 5);
  const first = [group('a', 1, 10, 5), group('b', 1, 20, 7)];
  assert.equal(findingsOf(checker, JSON.stringify(first), JSON.stringify(group('a', 2, 20, 6)), ''), [
    'b: count 1, sent 2',
  ]);
  assert.is(checker.accounted, 4);
  assert.equal(findingsOf(groupChecker(readings, 3), JSON.stringify([group('a', 2, 20, 6), group('b', 1, 20, 7)])), []);
});

test('wrong sums, maxima, devices and lines are named', () => {
  const cases: [string, RegExp][] = [
    [JSON.stringify([group('a', 2, 21, 6), group('b', 1, 20, 7)]), /^a: sum of temp 42, sent 40$/],
    [JSON.stringify([group('a', 2, 20, 5), group('b', 1, 20, 7)]), /^a: max of speed 5, sent 6$/],
    [JSON.stringify([group('a', 2, 20, 6), group('b', 1, 20, 7), group('c', 0, 0, 0)]), /^unknown device c$/],
    [JSON.stringify([group('a', 2, 20, 6), { device: 'b' }]), /^wrong row: {"device":"b"}$/],
    ['{', /^not JSON: {$/],
  ];
  for (const [line, reason] of cases) assert.match(findingsOf(groupChecker(readings, 3), line)[0] ?? 'nothing', reason);
});

test('the rows of raw text are checked by the number in their text', () => {
  const { checker, messages } = workloadByName('w3');
  const [first] = messages('plain')[0] ?? [];
  const text = first?.payload.replace(/#+/, String(FIRST_ID)) ?? '';
  const right = JSON.stringify([{ state: Buffer.from(text).toString('base64'), topic: first?.topic }]);
  assert.equal(findingsOf(checker('plain', 1), right), []);
  assert.match(findingsOf(checker('plain', 1), right.replace('plant', 'other'))[0] ?? 'nothing', /^wrong row/);
});

test.run();
