/** Windows while the engine is killed; see chaos.test.ts. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chaos } from '../../support/crash/chaos.js';

test('with qos 2 a join in windows is that of an undisturbed run', async () => {
  const result = await chaos('join', 2, 'engine', 3);
  const { promised, lost, repeated, wrong } = result;
  assert.equal([promised, lost, repeated, wrong], ['exactly once', 0, 0, 0]);
});

test.run();
