/** Room for new objects that stays as it is, threads notwithstanding; pages of old objects that are given back. */
import { once } from 'node:events';
import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { keepHeapsSmall, startThread } from '../../../host/base/program/heap.js';
import { eventually } from '../../support/harness.js';

const roomBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? Number.NaN;

/** Makes objects that live on, several times as many as the room for new ones can hold. */
function fill(): number[][] {
  return Array.from({ length: 1_000_000 }, (_, i) => [i, i + 1]);
}

test('what lives on does not make the room for new objects grow, not after a thread was started either', async () => {
  const before = roomBytes();
  keepHeapsSmall();
  const thread = startThread(new URL('data:text/javascript,'), {});
  await once(thread, 'exit');
  const kept = fill();
  assert.is(kept.length, 1_000_000);
  // Its second half may not have been there yet.
  assert.ok(roomBytes() <= 2 * before, `${before} bytes before, ${roomBytes()} bytes now`);
});

test('a second after much was made and dropped its pages are given back', async () => {
  // V8 would do it by itself, but much later.
  let asked = 0;
  const isAsked = (entry: PerformanceEntry): boolean => {
    const { flags } = (entry as unknown as { detail: { flags: number } }).detail;
    return (flags & constants.NODE_PERFORMANCE_GC_FLAGS_FORCED) !== 0;
  };
  const observer = new PerformanceObserver((list) => {
    asked += list.getEntries().filter(isAsked).length;
  });
  observer.observe({ entryTypes: ['gc'] });
  const before = getHeapStatistics().total_heap_size;
  let kept: number[][] | null = Array.from({ length: 3 }, fill).flat();
  assert.is(kept.length, 3_000_000);
  const full = getHeapStatistics().total_heap_size;
  assert.ok(full > before + 50e6, `${before} bytes before, ${full} bytes when it is full`);
  kept = null;
  await eventually('a collection', () => asked > 0);
  await eventually('the pages are given back', () => getHeapStatistics().total_heap_size < before + 20e6);
  observer.disconnect();
});

test.run();
