/** A test with a system that keeps what it has confirmed: it is killed, and so is the engine. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chaos, kills } from './chaos.js';

/** Declares the test of the topology; `isThere` says whether its server is installed. */
export function keeper(topology: string, isThere: boolean): void {
  if (!isThere) return;
  test(`${topology}: nothing is lost when the server and the engine are killed`, async () => {
    const { promised, lost, wrong, faults } = await chaos(topology, 1, 'engine,sink', killingSeed);
    assert.equal([promised, lost, wrong], ['at least once', 0, 0]);
    assert.is(faults['engine kill']!.count, kills);
    assert.ok(faults['sink end']!.count > 0, 'the server was killed');
  });
}

/** With it the first fault of the server is a kill. */
const killingSeed = 1;
