/** Statements beside plain JavaScript programs: what is compared does the same on both sides. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { pairs } from '../../../bench/pairs/index.js';
import { measure } from '../../../bench/pairs/measure.js';

const rows = 4000;

for (const pair of pairs) {
  test(`the engine and the program send the same bytes: ${pair.name}`, () => {
    measure({ ...pair, rows }, 1);
  });
}

test('says where what the two send differs', () => {
  const [pair] = pairs;
  const wrong = { ...pair!, rows, program: () => () => '{"device":"other"}\n' };
  assert.throws(
    () => measure(wrong, 1),
    /analytic: lag of a number: the engine and the program differ, bytes \d+ and \d+/,
  );
});

test.run();
