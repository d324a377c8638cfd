/**
 * Windows above windows that wait for their turn while memory is exhausted: nothing is freed twice, and nothing is left
 * behind.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { finishWork } from '../../../kernels/state/deferred.js';
import { fillMemory } from '../../support/engine/full-kernel.js';
import { openRule } from '../../support/engine/rule-kernel.js';

const stream = 'CREATE STREAM s () WITH (TYPE="memory", DATASOURCE="s")';
const sql = 'SELECT v FROM (SELECT v FROM s GROUP BY HOPPINGWINDOW(ss, 4, 2)) AS d GROUP BY SLIDINGWINDOW(ss, 60)';
const rows = Array.from({ length: 5 }, (_, v) => ({ v }));

/**
 * Bytes in use after the rule, and its exceptions; `waiting`: windows that wait when memory is exhausted but for a
 * hole.
 */
function run(waiting: number, hole?: number): { bytes: number; exceptions: number } {
  const rule = openRule([stream], sql, { limits: { maxMemoryBytes: 14 << 20, longRows: 12 } });
  const { kernel, nodes } = rule;
  let now = 1_000_000;
  const window = () => {
    rule.feed('s', rows, now);
    now += 2000;
    kernel.tick(now);
  };
  kernel.tick(now);
  for (let i = 0; i < 3; i++) {
    window();
    finishWork(kernel, nodes);
  }
  for (let i = 0; i < waiting; i++) window();
  const release = hole === undefined ? () => {} : fillMemory(kernel, hole);
  window();
  window();
  release();
  finishWork(kernel, nodes);
  const exceptions = nodes.reduce((sum, node) => sum + kernel.counters(node).exceptions, 0);
  rule.close();
  const { inUse, workspace } = kernel.memory();
  return { bytes: inUse - workspace, exceptions };
}

test('what windows wait with is given back once when there is no room for more that waits', () => {
  let failed = 0;
  for (const waiting of [0, 1, 2]) {
    const { bytes } = run(waiting);
    for (let hole = 0; hole <= 640; hole += 64) {
      const short = run(waiting, hole);
      assert.is(short.bytes, bytes, `${waiting} waiting, ${hole} bytes`);
      failed += short.exceptions;
    }
  }
  assert.ok(failed > 0);
});

test.run();
