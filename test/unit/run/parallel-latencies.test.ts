/** Times of the parts of a rule, as those of one. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { addedLatencies, summed } from '../../../host/run/parallel/summed.js';
import { emptyHistogram, type Histogram, noteLatency } from '../../../kernels/values/histogram.js';

function timesOf(...us: number[]): Histogram {
  const times = emptyHistogram();
  for (const one of us) noteLatency(times, one);
  return times;
}

const part = (id: string, us: number[], done: number, failed: number) => ({
  id,
  run: done,
  operators: [[`op_2_project`, timesOf(...us)]] as [string, Histogram][],
  io: [{ type: 'nats', io: 'source', operator: 'source_s', done, failed } as const],
});

test('parts are added by operator, and rules stay apart', () => {
  const found = summed(
    [
      part('r:0', [10, 4000], 5, 1),
      { ...part('other', [7], 9, 0) },
      { ...part('r:1', [10], 6, 2), caches: [['sink_nats_0', 'flush', timesOf(3)] as [string, 'flush', Histogram]] },
      { ...part('r:2', [], 0, 0), caches: [['sink_nats_0', 'flush', timesOf(5)] as [string, 'flush', Histogram]] },
    ],
    (id) => id.split(':')[0]!,
    addedLatencies,
  );
  assert.equal(
    found.map(({ id }) => id),
    ['r', 'other'],
  );
  const [whole, other] = found;
  assert.equal(whole?.operators, [['op_2_project', timesOf(10, 4000, 10)]]);
  assert.equal(whole?.io, [{ type: 'nats', io: 'source', operator: 'source_s', done: 11, failed: 3 }]);
  assert.equal((whole as { caches?: unknown }).caches, [['sink_nats_0', 'flush', timesOf(3, 5)]]);
  assert.equal(other, part('other', [7], 9, 0));
});

test.run();
