/**
 * When messages that wait for their acknowledgement are sent on before their time: senders with a window wait for
 * nothing else.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Acknowledgements, type Barrier } from '../../../../../host/run/plane/acknowledge/barrier.js';
import { EarlyBatches } from '../../../../../host/run/plane/acknowledge/early-batches.js';
import { eventually } from '../../../../support/harness.js';

/** Later than a sender that has waited for its acknowledgements goes on. */
const lateMs = 250;

class Intake {
  sent = 0;
  readonly #waiting: Barrier[] = [];
  readonly acknowledgements = new Acknowledgements(() => {});
  readonly batches = new EarlyBatches(this.acknowledgements, () => {
    this.sent++;
    // A disk takes a moment.
    setImmediate(() => {
      for (const barrier of this.#waiting.splice(0)) barrier.passed(false);
    });
  });

  take(messages: number): void {
    const barrier = this.acknowledgements.begin();
    this.batches.came();
    barrier.left++;
    barrier.receipts.push(new Uint32Array(messages));
    this.#waiting.push(barrier);
    this.acknowledgements.end(barrier);
    this.batches.worked(true);
  }

  async passed(times: number): Promise<void> {
    await eventually(`${times} early ones`, () => this.sent === times && this.acknowledgements.count === 0, 4500);
  }
}

test('the window of a sender is known though it goes on late', async () => {
  const intake = new Intake();
  for (let round = 1; round <= 3; round++) {
    intake.take(12);
    intake.take(8);
    await intake.passed(round);
    // So does the sender on a machine that has no time for it.
    await sleep(lateMs);
  }
  intake.take(12);
  assert.is(intake.sent, 3);
  intake.take(8);
  assert.is(intake.sent, 4, 'without a wait');
  intake.batches.close();
});

test.run();
