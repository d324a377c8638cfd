/** Rules that all functions keep; what each gives is in `cases/functions`. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { arity } from '../../host/functions/define.js';
import { functionDefinitions } from '../../host/functions/registry.js';
import { openRule } from '../support/engine/rule-kernel.js';
import { evaluate, streams } from '../support/sql/function-cases.js';

test('rand() and newuuid() give each row another value', () => {
  const rows = Array.from({ length: 50 }, () => ({ a: 1 }));
  const numbers = evaluate('rand()', rows) as number[];
  assert.is(new Set(numbers).size, rows.length);
  assert.ok(numbers.every((one) => one >= 0 && one < 1));
  const ids = evaluate('newuuid()', rows) as string[];
  assert.is(new Set(ids).size, rows.length);
  for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

const categories = ['array', 'object', 'hash', 'json', 'conversion', 'datetime', 'misc'];
const definitions = functionDefinitions().filter(({ category }) => categories.includes(category));

test('too few and too many arguments are refused with the numbers that are allowed', () => {
  for (const { name, args } of definitions) {
    const { min, max } = arity(args);
    for (const count of [min - 1, (max ?? Number.NaN) + 1]) {
      if (!(count >= 0)) continue;
      const sql = `SELECT ${name}(${Array(count).fill('a').join(', ')}) FROM demo`;
      assert.throws(() => openRule(streams, sql), new RegExp(`function ${name} takes .*, not ${count}`), sql);
    }
  }
});

test('a null argument makes the result null where the function says so', () => {
  for (const { name, nulls, args, implementation } of definitions) {
    if (nulls !== 'propagate' || !('call' in implementation) || args.length === 0) continue;
    for (const [i, { name: arg }] of args.entries()) {
      // The encoding has to be a literal.
      if (arg === 'encoding') continue;
      const given = args.map((one, k) => (k === i ? 'a' : one.name === 'encoding' ? "'base64'" : 'b')).join(', ');
      const got = evaluate(`${name}(${given})`, [{ a: null, b: 'x' }, { b: 'x' }]);
      assert.equal(got, [null, null], `${name}(${given})`);
    }
  }
});

test.run();
