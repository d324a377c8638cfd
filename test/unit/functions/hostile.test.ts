/** Paths, patterns and time formats that come with rows: bad ones are named, work on hostile ones is bounded. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { nanosOf } from '../../../host/functions/calendar/duration.js';
import { momentFrom } from '../../../host/functions/calendar/moment.js';
import { formatFault, printTime, readTime } from '../../../host/functions/calendar/time-format.js';
import { findPath } from '../../../host/functions/json-path.js';
import { occursIn } from '../../../host/functions/regexp/regexp.js';
import { beginWalks } from '../../../host/functions/walk-work.js';

const list = { items: [{ n: 1 }, { n: 5 }, { n: 9, name: 'xx' }] };

test('a JSON path with a filter finds what fits', () => {
  assert.equal(findPath(list, '$.items[?(@.n > 4)].n'), [5, 9]);
  assert.equal(findPath(list, '$..name'), ['xx']);
  assert.equal(findPath(list, '$.items[?(@.name =~ "^x+$")].n'), [9]);
});

test('a bad JSON path or datum is named', () => {
  assert.throws(() => findPath(list, '$.items[?('), /bad path \$\.items\[\?\(/);
  assert.throws(() => findPath(list, 5), /the path must be a string, not 5/);
  assert.throws(() => findPath('{', '$.a'), /'\{' is not valid JSON/);
  assert.throws(() => findPath(list, '$.none'), /unknown key none/);
});

test('deep and multiplying JSON paths are refused', () => {
  const deep = JSON.parse(`${'{"a":{"b":1,"c":'.repeat(60)}1${'}}'.repeat(60)}`);
  assert.throws(
    () => findPath(deep, '$..*..*..*..*..*'),
    /visits the same values again and again, more than \d+ times/,
  );
  assert.throws(() => findPath(deep, `${'('.repeat(5000)}1`), /more than 64 levels/);
  assert.throws(() => findPath(deep, `${'!'.repeat(5000)}$`), /more than 64 levels/);
});

test('a JSON path may visit what it finds again, but not without end', () => {
  const deep = `${'['.repeat(8000)}${']'.repeat(8000)}`;
  for (const path of ['$..[*]..a', '$..[?(@ == $)]', '$..[?($..a)]', '$..*..*']) {
    assert.throws(() => findPath(deep, path), /visits the same values again and again/, path);
  }
  const flat = JSON.stringify(Array.from({ length: 5000 }, (_, i) => ({ a: i, b: [i] })));
  assert.is((findPath(flat, '$..a') as unknown[]).length, 5000);
  assert.is((findPath(flat, '$..[?(@.a >= 2500 && @.b[0] > 0)].a') as unknown[]).length, 2500);
});

test('rows of a call share what paths may visit again; those that do not lose nothing', () => {
  beginWalks();
  const deep = `${'['.repeat(8000)}${']'.repeat(8000)}`;
  const small = '{"o":[{"a":1},{"a":2}]}';
  const reasons = new Set<string>();
  for (let i = 0; i < 60; i++) {
    try {
      findPath(deep, '$..[*]..a');
    } catch (error) {
      reasons.add(/since other rows of the batch did so before/.test(String(error)) ? 'shared' : 'own');
    }
    assert.equal(findPath(small, '$..a'), [1, 2]);
  }
  assert.equal([...reasons], ['own', 'shared']);
  beginWalks();
});

test('a regular expression takes time linear in the text, whatever it is', () => {
  assert.not.ok(occursIn('^(a+)+$', `${'a'.repeat(10_000)}!`));
  assert.ok(occursIn('^(?:ab?)+$', 'aba'));
  assert.throws(() => occursIn('(', 'a'), /bad regular expression \(/);
});

test('times are read and written by a format', () => {
  const moment = readTime('03/02/2024 14-05-06', 'dd/MM/yyyy HH-mm-ss');
  assert.ok(moment !== undefined);
  assert.is(printTime(moment, 'yyyy-MM-dd hh:mm:ss a XXX'), '2024-02-03 02:05:06 PM +00:00');
  assert.is(readTime('30/02/2024', 'dd/MM/yyyy'), undefined);
  assert.is(readTime('2024', 'dd/MM/yyyy'), undefined);
  assert.match(formatFault('yyy') ?? '', /time format yyy/);
  assert.is(printTime(momentFrom('2024-06-15T01:02:03+05:30'), 'HH:mm XXX'), '01:02 +05:30');
});

test('a time that does not fit is known not to, however many ways there are to read it', () => {
  const fields = 'hm'.repeat(32);
  assert.is(readTime(`${'1'.repeat(100)}x`, fields), undefined);
  assert.ok(readTime('1'.repeat(100), fields) !== undefined);
  assert.throws(() => readTime('1', `${fields}s`), /time format .* has more than 64 fields/);
  assert.throws(() => momentFrom(`2024-05-06 07${' '.repeat(100_000)}x`), /cannot be read as a time/);
  assert.throws(() => nanosOf(`${'1'.repeat(100_000)}x`), /is no duration/);
});

test('bad times and durations are named', () => {
  assert.throws(() => momentFrom('nope'), /'nope' cannot be read as a time/);
  assert.throws(() => momentFrom(true), /true is no time/);
  assert.throws(() => momentFrom(2n ** 60n), /beyond the range of times/);
  assert.throws(() => nanosOf('x'), /'x' is no duration/);
  assert.is(nanosOf('-1h30m'), -5_400_000_000_000n);
});

test.run();
