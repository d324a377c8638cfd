/** Work on large lists and objects grows with their length, not with its square. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { evaluate } from '../../support/sql/function-cases.js';

const n = 30_000;
const names = Array.from({ length: n }, (_, i) => `name${i}`);
const object = Object.fromEntries(names.map((name, i) => [name, i]));

test('many names are taken out of an object, and picked from one', () => {
  const half = names.filter((_, i) => i % 2 === 0);
  const [kept] = evaluate('object_size(erase(o, a))', [{ o: object, a: half }]);
  assert.is(kept, n / 2);
  const [picked] = evaluate('object_size(object_pick(o, a))', [{ o: object, a: [...half, ...half, 'none'] }]);
  assert.is(picked, n / 2);
});

test('the nearest of many vectors come in order, whatever the order they stand in', () => {
  const vectors = Array.from({ length: n }, (_, i) => [1, (n - i) / n]);
  const [all] = evaluate('vector_match([1, 0], a, 30000)', [{ a: vectors }]) as { vector: number[] }[][];
  assert.equal(
    all?.map(({ vector }) => vector),
    vectors.toReversed(),
  );
  const [few] = evaluate('vector_match([1, 0], a, 3)', [{ a: vectors }]) as { vector: number[] }[][];
  assert.equal(
    few?.map(({ vector }) => vector),
    vectors.toReversed().slice(0, 3),
  );
});

test('lists as sets, sorted and made into objects', () => {
  const values = Array.from({ length: n }, (_, i) => (i * 7919) % n);
  const rows = [{ a: values, s: names }];
  assert.is((evaluate('array_distinct(array_concat(a, a))', rows)[0] as unknown[]).length, n);
  assert.equal(evaluate('array_except(a, a)', rows), [[]]);
  assert.is((evaluate('array_intersect(a, a)', rows)[0] as unknown[]).length, n);
  assert.is((evaluate('array_union(a, a)', rows)[0] as unknown[]).length, n);
  assert.is(evaluate('array_contains_any(a, array_create(-1, -2))', rows)[0], false);
  const sorted = Array.from({ length: n }, (_, i) => i);
  assert.equal(evaluate('array_sort(array_shuffle(a))', rows)[0], sorted);
  assert.is(evaluate('object_size(object(s, a))', rows)[0], n);
  assert.is(evaluate('object_size(kvpair_array_to_obj(obj_to_kvpair_array(object(s, a))))', rows)[0], n);
});

test('a function for each element of lists of all lengths, over several batches of elements', () => {
  const rows = Array.from({ length: 300 }, (_, i) => ({ a: Array.from({ length: (i * 37) % 5000 }, (_, k) => -k) }));
  const got = evaluate('array_map("abs", a)', rows);
  rows.forEach(({ a }, i) => {
    assert.equal(
      got[i],
      a.map((value) => -value),
      `row ${i}`,
    );
  });
});

test.run();
