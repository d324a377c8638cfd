/** Regular expressions: SQL and rows in, rows out. Syntax and matches are those of RE2. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { check, evaluate } from './function-cases.js';

// ---- replacing ------------------------------------------------------------------------------------------------

check('regexp_replace(a, b, c)', [
  // An empty match right behind another is none.
  ['abcb', 'b*', 'X', 'XaXcX'],
  ['baaac', 'a*', 'X', 'XbXcX'],
  ['ab', '', '-', '-a-b-'],
  ['aéb', 'é|', 'x', 'xaxbx'],
  ['😀b', '', '-', '-😀-b-'],
  ['😀b', '.', 'x', 'xx'],
  ['b', '(a*)+', 'x', 'xbx'],
  ['ab cd', '\\b', '|', '|ab| |cd|'],
  ['a\nb', '^', 'x', 'xa\nb'],
  ['a\nb', '(?m)^', 'x', 'xa\nxb'],
  ['ac', '(a)(b)?', '[$1|$2]', '[a|]c'],
  ['ba', '(a|(b))+', '[$2]', '[b]'],
  ['abcd', '(a|ab)(c|bcd)(d*)', '[$1,$2,$3]', '[a,bcd,]'],
  ['a', '(?P<n>a)', '<$n>', '<a>'],
  ['a', '(?P<n>a)', '<$nx>', '<>'],
  ['a', '(?<n>a)', '<${n}x>', '<ax>'],
  ['aa', '(?P<n>a)+', '<$n>', '<a>'],
  ['a', '(a)', '$$1$0$2$', '$1a$'],
  ['aaa', '(?U)a+', 'x', 'xxx'],
  ['abc1', '[[:alpha:]]+', 'x', 'x1'],
  ['ab\nab', '\\Aab', 'x', 'x\nab'],
  ['ab\nab', 'ab\\z', 'x', 'ab\nx'],
  ['aé1', '\\pL+', 'x', 'x1'],
  ['αβa', '\\p{Greek}+', 'x', 'xa'],
  ['a.b', '\\Qa.b\\E', 'x', 'x'],
  ['a\n', 'a$', 'x', 'a\n'],
  ['a b\v', '\\s', 'x', 'axb\v'],
  ['é', '\\w', 'x', 'é'],
  ['K', '(?i)k', 'x', 'x'],
]);
check('regexp_substr(a, b)', [
  ['xaab', 'a+?', 'a'],
  ['xaab', '(?P<all>a+)', 'aa'],
  ['xyz', 'b', ''],
  ['a'.repeat(5000), '(a|aa)+$', 'a'.repeat(5000)],
]);
check('regexp_matches(a, b)', [
  ['sensor-12', '^sensor-[0-9]+$', true],
  ['sensor-12\n', '^sensor-[0-9]+$', false],
  ['é', '^[[:^ascii:]]$', true],
  ['a', 'a{1000}', false],
  [null, 'a', false],
  ['a', null, false],
]);

// ---- what RE2 does not have -----------------------------------------------------------------------------------

const refused: [pattern: string, reason: RegExp][] = [
  ['(?=a)', /there is no look-around/],
  ['(?!a)', /there is no look-around/],
  ['(?<=a)b', /there is no look-around/],
  ['(?<!a)b', /there is no look-around/],
  ['(a)\\1', /there are no back references/],
  ['a{1001}', /invalid repeat count/],
  ['(a{100}){11}', /invalid repeat count/],
  ['a**', /invalid nested repetition/],
  ['a++', /invalid nested repetition/],
  ['(a', /missing closing \)/],
  ['[z-a]', /invalid character class range/],
  ['\\Z', /invalid escape sequence/],
  ['*', /missing argument to repetition operator/],
  ['\\p{Nope}', /invalid character class range/],
];
check(
  'regexp_matches("a", b)',
  refused.map(([pattern, reason]) => [undefined, pattern, reason]),
);
test('a pattern that is a literal is refused with the statement', () => {
  for (const name of ['regexp_matches(a, P)', 'regexp_substr(a, P)', 'regexp_replace(a, P, "x")']) {
    for (const [pattern, reason] of refused) {
      assert.throws(() => evaluate(name.replace('P', JSON.stringify(pattern)), []), reason, `${name} ${pattern}`);
    }
  }
});

test('no pattern keeps the rows behind it waiting', () => {
  const long = 'a'.repeat(50_000);
  const rows = [{ a: `${long}!` }, { a: 'aa' }];
  for (const pattern of ['(a+)+$', '^(a|a)*$', '(a*)*b|^aa$', '^(\\\\w+\\\\s?)*$']) {
    assert.equal(evaluate(`regexp_matches(a, "${pattern}")`, rows), [false, true], pattern);
  }
});

test.run();
