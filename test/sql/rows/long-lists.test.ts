/** Lists of IN with more values than one operation of the kernel takes. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { evaluate } from '../../support/sql/function-cases.js';

const count = 3000;
const rows = [0, 1023, 1024, 1025, count - 1, count, null].map((a) => ({ a }));

test('each value of a long list is found', () => {
  const list = Array.from({ length: count }, (_, i) => i).join(', ');
  assert.equal(evaluate(`a IN (${list})`, rows), [true, true, true, true, true, false, false]);
  assert.equal(evaluate(`a NOT IN (${list})`, rows), [false, false, false, false, false, true, false]);
});

test('a text is found among many', () => {
  const list = Array.from({ length: count }, (_, i) => `"t${i}"`).join(', ');
  const texts = ['t0', 't1024', `t${count - 1}`, `t${count}`].map((a) => ({ a }));
  assert.equal(evaluate(`a IN (${list})`, texts), [true, true, true, false]);
});

test.run();
