/** Variables of guests of development kits as states: their bytes, their bound, and calls that are taken back. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { KitVariables } from '../../../host/plugins/wasm/guest/kit-variables.js';

const bytes = (text: string) => Uint8Array.from(Buffer.from(text));
const textOf = (variables: KitVariables | undefined, name: string) => {
  const value = variables?.get(name);
  return value && Buffer.from(value).toString();
};

test('bytes of a state have all names and values', () => {
  const variables = new KitVariables();
  for (const [name, value] of [
    ['a', 'x'],
    ['é', ''],
    ['', 'long'.repeat(9000)],
  ] as const) {
    assert.ok(variables.set(name, bytes(value), 0));
  }
  const again = KitVariables.of(variables.bytes());
  assert.equal([again?.size, textOf(again, 'a'), textOf(again, 'é')], [3, 'x', '']);
  assert.is(textOf(again, '')?.length, 36_000);
  assert.is(again?.isChanged, false);
});

test('bytes that are no state, or were cut, are none; no bytes are an empty state', () => {
  const variables = new KitVariables();
  variables.set('name', bytes('value'), 0);
  const state = variables.bytes();
  for (let end = 2; end < state.length; end++) assert.is(KitVariables.of(state.subarray(0, end)), undefined, `${end}`);
  assert.is(KitVariables.of(Buffer.from('other')), undefined);
  assert.is(KitVariables.of(Buffer.alloc(0)), undefined);
  assert.is(KitVariables.of(undefined)?.size, 0);
});

test('a call that is taken back leaves what earlier calls have set', () => {
  const variables = new KitVariables();
  variables.set('kept', bytes('1'), 0);
  variables.set('kept', bytes('2'), 1);
  variables.set('kept', bytes('3'), 1);
  variables.set('new', bytes('x'), 1);
  variables.undo(0);
  assert.is(textOf(variables, 'kept'), '3');
  variables.undo(1);
  assert.equal([textOf(variables, 'kept'), variables.size], ['1', 1]);
  variables.set('kept', undefined, 2);
  variables.settle();
  variables.undo(2);
  assert.is(variables.size, 0);
});

test('variables have a bound together, what is freed can be used again', () => {
  const variables = new KitVariables();
  assert.ok(variables.set('half', new Uint8Array(1 << 19), 0));
  assert.not(variables.set('other', new Uint8Array(1 << 19), 1));
  assert.ok(variables.set('half', undefined, 2));
  assert.ok(variables.set('other', new Uint8Array(1 << 19), 3));
  assert.is(variables.size, 1);
});

test.run();
