/** The time of a run with faults: it stands still while a killed engine is brought back. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { RunClock } from '../../../bench/chaos/run-clock.js';

test('what is due waits while the engine is brought back, and the time after that is whole', async () => {
  const clock = new RunClock();
  const seen: string[] = [];
  let [first, second] = [() => {}, () => {}];
  const holds = [
    clock.during(() => new Promise<void>((resolve) => (first = resolve))),
    clock.during(() => new Promise<void>((resolve) => (second = resolve))),
  ];
  const stood = clock.now;
  const due = clock.until(stood + 5).then(() => seen.push('due'));
  await new Promise((resolve) => setTimeout(resolve, 50));
  first();
  await holds[0];
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal([clock.now, seen], [stood, []], 'as long as anybody holds it');
  second();
  await holds[1];
  await due;
  assert.ok(clock.now >= stood + 5);
  await clock.until(0);
});

test.run();
