/** The searches that JavaScript's engine does find what the port of RE2 finds, in few steps. */
import fc from 'fast-check';
import { RE2JS } from 're2js';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withOwnNames } from '../../../host/functions/regexp/names.js';
import { nativePattern } from '../../../host/functions/regexp/native.js';
import { pattern, patternFault } from '../../../host/functions/regexp/regexp.js';

const one = fc.constantFrom(
  ...[
    'a',
    'b',
    'A',
    'k',
    's',
    '.',
    '\\.',
    '\\d',
    '\\w',
    '\\S',
    '\\s',
    '\\W',
    '[ab]',
    '[^a]',
    '[a-c-]',
    '[]a]',
    '[^\\d\\n]',
  ],
  ...[
    '\\x41',
    '\\n',
    ']',
    '}',
    '-',
    '_',
    ' ',
    'é',
    '😀',
    '[é-😀]',
    '[^😀]',
    '[^a😀]',
    '[\\w.]',
    '\\t',
    '/',
    '[^]b]',
    '\\-',
  ],
);
const times = fc.constantFrom('', '', '', '*', '+', '?', '*?', '+?', '??', '{2}', '{1,2}', '{1,}?', '{0,2}');
const place = fc.constantFrom('^', '$', '\\b', '\\B', '\\A', '\\z');
const piece = fc.oneof({ weight: 8, arbitrary: fc.tuple(one, times).map((two) => two.join('')) }, place);
const branch = fc.array(piece, { maxLength: 4 }).map((pieces) => pieces.join(''));
const group = fc
  .tuple(
    fc.constantFrom('(', '(?:', '(?P<n>'),
    fc.array(branch, { minLength: 1, maxLength: 3 }),
    fc.constantFrom('', '', '?', '??'),
  )
  .map(([open, branches, end]) => `${open}${branches.join('|')})${end}`);
const source = fc
  .tuple(
    fc.constantFrom('', '', '', '(?i)', '(?s)', '(?m)', '(?is)'),
    fc.array(fc.oneof({ weight: 3, arbitrary: branch }, group), { minLength: 1, maxLength: 3 }),
    fc.constantFrom('', '', '|a', '|'),
  )
  .map(([flags, parts, end]) => flags + parts.join('') + end);
const text = fc.string({
  unit: fc.constantFrom(
    'a',
    'b',
    'A',
    'K',
    'k',
    's',
    'ſ',
    '\u212a',
    '1',
    '.',
    ' ',
    '\n',
    '\r',
    '\u2028',
    'é',
    '😀',
    '-',
    '_',
    ']',
  ),
  maxLength: 12,
});

test('the quick way and the port find the same, groups included', () => {
  let quick = 0;
  fc.assert(
    fc.property(source, text, fc.nat(4), (pattern, searched, skip) => {
      const native = nativePattern(pattern);
      if (native === undefined) return;
      quick++;
      const from = [...searched].slice(0, skip).join('').length;
      const matcher = RE2JS.compile(withOwnNames(pattern).source).matcher(searched);
      const wanted = matcher.find(from)
        ? [
            matcher.start(),
            ...Array.from({ length: matcher.groupCount() + 1 }, (_, i) => matcher.group(i) ?? undefined),
          ]
        : null;
      native.expression.lastIndex = from;
      const found = native.expression.exec(searched);
      assert.equal(
        found === null ? null : [found.index, ...found],
        wanted,
        `${pattern} in ${JSON.stringify(searched)} from ${from}`,
      );
      assert.is(native.groupCount, matcher.groupCount());
    }),
    { numRuns: 20_000 },
  );
  assert.ok(quick > 10_000, `only ${quick} patterns took the quick way`);
});

test('what JavaScript does not know, or does in another way, is left to the port', () => {
  for (const foreign of [
    ...[
      '(a+)+',
      '(a|b)*',
      '(a*)?',
      '(?U)a+',
      '\\Ba',
      '(?m)^a',
      '[[:alpha:]]',
      '\\pL',
      '\\p{Greek}',
      '\\Qa\\E',
      '(?i)é',
      '(?i)\\bk',
      'a{101}',
    ],
    ...['a{,2}', 'x{', '(?i:a)', 'a(?s)b', '\\x{110000}', 'a**', '(?=a)', '(a)\\1', 'a)', '(a', '[a', '\\8'],
  ]) {
    assert.is(nativePattern(foreign), undefined, foreign);
  }
});

test('texts on which going back takes long are left to the port', () => {
  const quickLength = (source: string) => Math.round(nativePattern(source)?.quickLength ?? 0);
  assert.is(quickLength('error'), 1_000_000);
  assert.is(quickLength('[0-9]+'), 1_000_000);
  assert.is(quickLength('^\\d+-\\d+$'), 1_000_000);
  assert.is(quickLength('\\w+@\\w+\\.com'), 1_000);
  assert.is(quickLength('^.*status=(ok|error).*$'), 1_000);
  assert.is(quickLength('a*a*b'), 100);
  assert.ok(quickLength('a?a?a?a?a?a?a?a?b') < 6);
  const long = 'a'.repeat(20_000);
  assert.is(pattern('(a+)+b').occursIn(long), false);
  assert.is(pattern('a*a*a*b').occursIn(long), false);
  assert.is(pattern('^(\\w+\\s?)*$').occursIn(`${long}!`), false);
});

test('the size of patterns is bounded', () => {
  assert.match(String(patternFault('a'.repeat(20_000))), /20000 characters, at most 10000/);
  assert.match(String(patternFault('((a{100}){10}){10}')), /invalid repeat count/);
  assert.match(String(patternFault(`${'(\\pL{900})'.repeat(20)}`)), /too large/);
});

test.run();
