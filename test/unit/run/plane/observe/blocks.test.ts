/** Who is said to block a stream: sinks that are away or slow, not those that could not go on yet. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Acknowledgements } from '../../../../../host/run/plane/acknowledge/barrier.js';
import { blockMessage } from '../../../../../host/run/plane/observe/blocks.js';
import type { RuleRun } from '../../../../../host/run/plane/rule/rule-run.js';

/** A rule whose stream waits for an acknowledgement, and whose sink has kept it back for so long, ms. */
function held(sinkMs: number, busyMs: number, isConnected = true): RuleRun {
  const now = Date.now();
  const acknowledgements = new Acknowledgements(() => {});
  const barrier = acknowledgements.begin();
  Object.assign(barrier, { since: now - 5000, receipts: [new Uint32Array([1])], left: 2 });
  acknowledgements.end(barrier);
  const users = new Set<RuleRun>();
  const source = { name: 's', isFull: false, acknowledgements, lastInputAt: now - 5000, users, starvedBy: '' };
  const sink = {
    isFull: false,
    blocksSince: () => now - sinkMs,
    connection: { status: isConnected ? 1 : -1 },
    trouble: 'sink file is in trouble',
  };
  const rule = { id: 'r', sources: [source], sinks: [sink], host: { busyUntil: now - busyMs } } as unknown as RuleRun;
  users.add(rule);
  return rule;
}

test('a sink that has kept messages for seconds holds its stream', () => {
  assert.is(blockMessage(held(4000, 4000)), 'holds source s: sink file is in trouble');
});

test('a sink that got its messages just now does not, however long they were gathered before', () => {
  assert.is(blockMessage(held(10, 4000)), '');
});

test('while the kernel is at work for others, a connected sink is not to blame; one that is away is', () => {
  assert.is(blockMessage(held(4000, 10)), '');
  assert.is(blockMessage(held(4000, 10, false)), 'holds source s: sink file is in trouble');
});

test.run();
