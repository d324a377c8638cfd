/** Long lists are JSON made in pieces, while the event loop goes on. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type LongJson, longList, longObject } from '../../../host/services/body/long-json.js';

const read = (made: LongJson): unknown => JSON.parse(made.bytes.toString());
const numbers = Array.from({ length: 1000 }, (_, i) => i);

test('a list has the items of its keys, and none for keys that have none', async () => {
  assert.equal(read(await longList([], String)), []);
  assert.equal(read(await longList([1], () => undefined)), []);
  const odd = numbers.filter((i) => i % 2 === 1);
  const items = await longList(numbers, (i) => (i % 2 === 1 ? { i, text: 'ü"\n' } : undefined));
  assert.equal(
    read(items),
    odd.map((i) => ({ i, text: 'ü"\n' })),
  );
});

test('an object has the members of its keys', async () => {
  assert.equal(read(await longObject([], String)), {});
  const keys = ['b', 'a"', '__proto__', 'gone'];
  const made = await longObject(keys, (key) => (key === 'gone' ? undefined : { key }));
  assert.is(made.bytes.toString(), '{"b":{"key":"b"},"a\\"":{"key":"a\\""},"__proto__":{"key":"__proto__"}}');
});

test('other work goes on while a list is made that takes long', async () => {
  let turns = 0;
  let isMade = false;
  const count = () => {
    turns++;
    if (!isMade) setImmediate(count);
  };
  setImmediate(count);
  const spin = (i: number) => {
    const until = performance.now() + 0.2;
    while (performance.now() < until);
    return i;
  };
  assert.equal(read(await longList(numbers, spin)), numbers);
  isMade = true;
  assert.ok(turns > 5, `${turns} turns`);
});

test.run();
