/** Regular expressions of literals and of long texts; `cases/functions/regexp.case` has what they give. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { evaluate } from '../../support/sql/function-cases.js';

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
test('a pattern that is a literal is refused with the statement', () => {
  for (const name of ['regexp_matches(a, P)', 'regexp_substr(a, P)', 'regexp_replace(a, P, "x")']) {
    for (const [pattern, reason] of refused) {
      assert.throws(() => evaluate(name.replace('P', JSON.stringify(pattern)), []), reason, `${name} ${pattern}`);
    }
  }
});

test('a long text is matched as a short one', () => {
  const long = 'a'.repeat(5000);
  assert.equal(evaluate('regexp_substr(a, b)', [{ a: long, b: '(a|aa)+$' }]), [long]);
});

test('no pattern keeps the rows behind it waiting', () => {
  const long = 'a'.repeat(50_000);
  const rows = [{ a: `${long}!` }, { a: 'aa' }];
  for (const pattern of ['(a+)+$', '^(a|a)*$', '(a*)*b|^aa$', '^(\\\\w+\\\\s?)*$']) {
    assert.equal(evaluate(`regexp_matches(a, "${pattern}")`, rows), [false, true], pattern);
  }
});

test.run();
