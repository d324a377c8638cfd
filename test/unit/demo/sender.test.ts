import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { test } from 'uvu';
import { Sender } from '../../../host/demo/sender.js';

/** Waits until the condition holds. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await pause(5);
}

test('a broker that delivers nothing gets a hundred messages, the rest when it goes on', async () => {
  const held: (() => void)[] = [];
  const sender = new Sender(100_000, (delivered) => held.push(delivered));
  const other = new Sender(100_000, (delivered) => delivered());
  try {
    await until(() => held.length > 0 && other.sent > 1000);
    assert.equal(held.length, 100);
    held.shift()?.();
    await until(() => held.length === 100);
    assert.equal(sender.sent, 101);
  } finally {
    sender.stop();
    other.stop();
  }
});

test('a rate that no machine reaches leaves time for everything else', async () => {
  let published = 0;
  const sender = new Sender(1e12, (delivered) => {
    published++;
    delivered();
  });
  await until(() => published > 0);
  sender.stop();
  const atEnd = published;
  const other = new Sender(1000, (delivered) => delivered());
  await until(() => other.sent > 10);
  other.stop();
  assert.equal(published, atEnd, 'nothing is sent after the end');
});

test('a slow rate is kept', async () => {
  const started = performance.now();
  const sender = new Sender(200, (delivered) => delivered());
  await until(() => sender.sent >= 20);
  sender.stop();
  assert.ok(performance.now() - started >= 95, `20 messages in ${performance.now() - started} ms`);
});

test.run();
