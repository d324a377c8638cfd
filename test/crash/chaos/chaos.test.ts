/**
 * The harness for chaos on itself, for some seconds: the engine is killed, and what takes the results too, while rows
 * flow. `HAUMEA_CHAOS_KILLS=200 npx tsx test/crash/chaos/chaos.test.ts` runs as long as a release wants.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chaos, kills } from '../../support/crash/chaos.js';

test('qos 1 loses no row of a file', async () => {
  const result = await chaos('file-file', 1, 'engine,full');
  const { promised, lost, wrong } = result;
  assert.equal([promised, lost, wrong, result.kills], ['at least once', 0, 0, kills]);
});

test('with qos 2 rows get once into a sink with transactions that fails as well', async () => {
  const result = await chaos('file-ledger', 2, 'engine,sink', 2);
  const { promised, lost, repeated, reordered, wrong } = result;
  assert.equal([promised, lost, repeated, reordered, wrong], ['exactly once', 0, 0, 0, 0]);
});

test.run();
