/** A test with brokers that are killed hard: what they lost is told from what the engine lost. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Keeping } from '../../../bench/chaos/broker.js';
import { hasMosquitto } from '../brokers/mosquitto.js';
import { announceSkip } from '../harness.js';
import { chaos, kills } from './chaos.js';

/** Declares the test of the name; `broker` says when brokers write to disk. */
export function brokers(name: string, topology: string, broker: Keeping): void {
  if (!hasMosquitto) announceSkip(name, 'mosquitto is not installed');
  const withBroker = hasMosquitto ? test : test.skip;
  withBroker(name, async () => {
    const result = await chaos(topology, 1, 'engine,broker,crash', 1, kills, { broker });
    const { promised, lost, lostByBrokers, wrong, faults } = result;
    assert.equal([promised, lost - lostByBrokers, wrong], ['at least once', 0, 0]);
    assert.ok(faults.crash!.count > 0 && faults['engine kill']!.count > 0);
    assert.ok(faults.crash!.connectedMs.p50 > 0, 'the time until all is connected again');
  });
}
