/**
 * A topic that two rules read from a shared stream, and topics that one reads by a wildcard; two rules on a shared
 * stream of a file: over kill -9.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chaos, kills } from '../../support/crash/chaos.js';

test('with qos 2 each row comes out once', async () => {
  const { promised, lost, repeated, wrong } = await chaos('memory-fan', 2, 'engine', 1, Math.max(kills, 6));
  assert.equal([promised, lost, repeated, wrong], ['exactly once', 0, 0, 0]);
});

test('with qos 2 a rule that shares its stream with another one gets each row once', async () => {
  const { promised, lost, repeated, wrong } = await chaos('shared', 2, 'engine', 2);
  assert.equal([promised, lost, repeated, wrong], ['exactly once', 0, 0, 0]);
});

test.run();
