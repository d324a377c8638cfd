/**
 * Rules that feed each other by a memory topic, over kill -9: with qos 2 each row comes out once, with qos 1 none is
 * missing. `HAUMEA_CHAOS_KILLS=200 npx tsx test/crash/pipelines/pipelines.test.ts` kills as often as a release wants.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chaos, kills } from '../../support/crash/chaos.js';

test('with qos 2 each row comes out once', async () => {
  const { promised, lost, repeated, wrong } = await chaos('memory-chain', 2, 'engine', 1, Math.max(kills, 6));
  assert.equal([promised, lost, repeated, wrong], ['exactly once', 0, 0, 0]);
});

test('with qos 1 no row is lost', async () => {
  const { promised, lost, wrong } = await chaos('memory-chain', 1, 'engine,full', 2);
  assert.equal([promised, lost, wrong], ['at least once', 0, 0]);
});

test.run();
