/** Batches of messages are taken in their order, and other work of the thread has its turns between them. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Inbox } from '../../../../host/run/link/inbox.js';

const batches = Array.from({ length: 40 }, (_, i) => [i]);

/** Works for so long without a turn of the event loop. */
function work(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

test('what comes in one turn is taken in several, in its order', async () => {
  const inbox = new Inbox<number[]>();
  const taken: number[][] = [];
  const done = new Promise<void>((resolve) => {
    inbox.open((batch) => {
      work(1);
      taken.push(batch);
      if (taken.length === batches.length) resolve();
    });
  });
  let takenBefore: number | undefined;
  setImmediate(() => {
    takenBefore = taken.length;
  });
  for (const batch of batches) inbox.add(batch);
  await done;
  assert.equal(taken, batches);
  assert.ok(takenBefore! > 0, 'the first are taken at once');
  assert.ok(takenBefore! < batches.length, `${takenBefore} were taken before anything else had its turn`);
});

test('what comes before it is opened waits', () => {
  const inbox = new Inbox<number[]>();
  inbox.add([1]);
  inbox.add([2]);
  const taken: number[][] = [];
  inbox.open((batch) => taken.push(batch));
  assert.equal(taken, [[1], [2]]);
});

test('a later turn takes again at once', async () => {
  const inbox = new Inbox<number[]>();
  const taken: number[][] = [];
  inbox.open((batch) => taken.push(batch));
  inbox.add([1]);
  await new Promise((resolve) => setImmediate(resolve));
  inbox.add([2]);
  assert.equal(taken, [[1], [2]]);
});

test.run();
