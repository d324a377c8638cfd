/**
 * Rules with MATCH_RECOGNIZE over kill -9. `HAUMEA_CHAOS_KILLS=200 npx tsx test/crash/chaos/chaos-patterns.test.ts`
 * kills as often as a release wants.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chaos } from '../../support/crash/chaos.js';

test('with qos 2 each match comes out once, in the order of an undisturbed run', async () => {
  const { promised, lost, repeated, reordered, wrong } = await chaos('pattern-absent', 2, 'engine', 4);
  assert.equal([promised, lost, repeated, reordered, wrong], ['exactly once', 0, 0, 0, 0]);
});

test('with qos 1 no match is lost', async () => {
  const { promised, lost, wrong } = await chaos('pattern', 1, 'engine', 5);
  assert.equal([promised, lost, wrong], ['at least once', 0, 0]);
});

test.run();
