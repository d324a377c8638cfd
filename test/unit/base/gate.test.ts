import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Gate } from '../../../host/base/structures/gate.js';

/** A step that ends when it is told to. */
function held(log: string[], name: string) {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const step = async () => {
    log.push(`${name} begins`);
    await ended;
    log.push(`${name} ends`);
    return name;
  };
  return { step, end: () => end() };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('shared steps run together, an exclusive one alone, in the order in which they came', async () => {
  const gate = new Gate();
  const log: string[] = [];
  const steps = ['a', 'b', 'X', 'c', 'Y'].map((name) => ({ name, ...held(log, name) }));
  const results = steps.map(({ name, step }) => (name < 'a' ? gate.exclusive(step) : gate.shared(step)));
  await turn();
  assert.equal(log, ['a begins', 'b begins']);
  steps[0]?.end();
  await turn();
  assert.equal(log.splice(0), ['a begins', 'b begins', 'a ends']);
  steps[1]?.end();
  await turn();
  assert.equal(log.splice(0), ['b ends', 'X begins']);
  steps[2]?.end();
  await turn();
  assert.is(log.shift(), 'X ends');
  for (const { end } of steps) end();
  assert.equal(await Promise.all(results), ['a', 'b', 'X', 'c', 'Y']);
  assert.is(log.length, 4);
  assert.ok(log.indexOf('Y begins') < 3, 'nothing is between the begin and the end of an exclusive step');
  assert.is(log[log.indexOf('Y begins') + 1], 'Y ends');
});

test('a step that fails lets the next one pass', async () => {
  const gate = new Gate();
  const fail = async () => {
    throw new Error('no');
  };
  for (const step of [gate.shared(fail), gate.exclusive(fail)]) {
    await step.then(assert.unreachable, (error: Error) => assert.is(error.message, 'no'));
  }
  assert.is(await gate.shared(async () => 1), 1);
  assert.is(await gate.exclusive(async () => 2), 2);
});

test.run();
