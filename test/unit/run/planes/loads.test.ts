/** Load of data planes, as processor time of their rules tells it. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Loads, type LoadsOptions } from '../../../../host/run/planes/loads.js';

test('the first look tells the mean since the start of the process, whenever it is asked for', async () => {
  let now = 0;
  const planes = { count: 1, division: undefined, ask: async () => [[{ number: 0 }, [[7, now * 500]]]] };
  const options = { planes, unitOf: () => 'rule r', mayMove: () => false, move: () => {} };
  const loads = new Loads(options as unknown as LoadsOptions);
  now = performance.now();
  const [load = Number.NaN] = await loads.look();
  assert.ok(load > 0.4 && load <= 0.5, `half of a processor since the start, told as ${load}`);
  loads.close();
});

test.run();
