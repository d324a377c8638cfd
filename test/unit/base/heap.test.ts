/** Room for new objects that stays as it is, threads notwithstanding. */
import { once } from 'node:events';
import { getHeapSpaceStatistics } from 'node:v8';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { keepHeapsSmall, startThread } from '../../../host/base/heap.js';

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

test.run();
