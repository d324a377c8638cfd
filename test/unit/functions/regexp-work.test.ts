/** The work of regular expressions is bounded for all rows of a call together; within the bound nothing changes. */
import fc from 'fast-check';
import { RE2JS } from 're2js';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Found, pattern } from '../../../host/functions/regexp/regexp.js';
import { beginWork, countedSteps, stepsCounted } from '../../../host/functions/regexp/work.js';
import { evaluate } from '../../support/sql/function-cases.js';

const refused = /regexp_replace: too much work for a regular expression, /;

/** Uses the estimates of the running call up: what comes is counted. */
function useEstimates(): void {
  const expression = pattern('(?:[[:digit:]]{100})+');
  for (const length of [20_000, 2000, 200, 20, 2, 0]) {
    for (let i = 0; i < 50; i++) expression.occursIn(' '.repeat(length));
  }
}

test('a row that would take seconds is an error of the row that names the function', () => {
  const long = 'a'.repeat(20_000);
  for (const [expression, a] of [
    ['regexp_replace(a, "(?:a|bb)*y|a", "")', long],
    ['regexp_replace(a, "a*y|a", "")', long],
    ['regexp_replace(a, "((( |x)?){1000})*(x)", "")', `${' '.repeat(50_000)}x`],
    ['regexp_replace(lpad(a, 1000000), "", lpad("y", 1000))', 'x'.repeat(1000)],
  ] as const) {
    assert.match(String(evaluate(expression, [{ a }])[0]), refused, expression);
    assert.ok(stepsCounted() <= countedSteps / 2 + 10, expression);
  }
});

test('rows behind one that took too much get their results, all rows together have a bound', () => {
  const sick = { a: 'a'.repeat(20_000) };
  const [first, second] = evaluate('regexp_replace(a, "(?:a|bb)*y|a", "-")', [sick, { a: 'bab' }]);
  assert.match(String(first), refused);
  assert.is(second, 'b-b');
  evaluate('regexp_replace(a, "(?:a|bb)*y|a", "-")', Array(20).fill(sick));
  assert.ok(stepsCounted() <= countedSteps, `${stepsCounted()} steps`);
});

test('patterns that come with the rows are bounded together, short ones of a whole batch are not', () => {
  const long = Array.from({ length: 50 }, (_, i) => ({ a: 'xyz', b: `${'(a|b)*'.repeat(1000)}${i}` }));
  const results = evaluate('regexp_matches(a, b)', long).map(String);
  assert.is(results[0], 'false');
  assert.match(
    results.at(-1) ?? '',
    /regexp_matches: too much work for a regular expression, the patterns of all rows/,
  );
  const short = Array.from({ length: 1024 }, (_, i) => ({ a: `device-${i}`, b: `^device-${i}$` }));
  assert.equal(new Set(evaluate('regexp_matches(a, b)', short)), new Set([true]));
});

test('conditions of JSON paths have the same bound for patterns', () => {
  const patterns = Array.from({ length: 4000 }, (_, i) => `(a${i}|b)*c`);
  assert.match(
    String(evaluate('json_path_exists(a, "$[?(@ =~ @)]")', [{ a: patterns }])[0]),
    /the patterns of all rows have more than/,
  );
});

test('counted searches find what others find', () => {
  const piece = fc.constantFrom('a', 'b', '(a|b)', '(?:ab)+', '[[:alpha:]]', '\\B', '(a*)*', '\\pL?', '^', '$', 'é');
  const source = fc.array(piece, { minLength: 1, maxLength: 4 }).map((pieces) => `${pieces.join('')}(?:[[:digit:]]*)*`);
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '😀', ' '), maxLength: 10 });
  const places = (found: Found | undefined) => found && [found.start, found.end];
  let steps = 0;
  fc.assert(
    fc.property(source, text, (source, searched) => {
      const matcher = RE2JS.compile(source).matcher(searched);
      const wanted = matcher.find(0) ? [matcher.start(), matcher.end()] : undefined;
      beginWork('test');
      useEstimates();
      const before = stepsCounted();
      assert.equal(places(pattern(source).find(searched)), wanted, source);
      assert.is(pattern(source).occursIn(searched), wanted !== undefined);
      steps += stepsCounted() - before;
    }),
    { numRuns: 200 },
  );
  assert.ok(steps > 0, 'nothing was counted');
});

test.run();
