/** The number that says how much is out: the last one comes to the disk by itself, however slow that is. */
import { execFileSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ReadMark } from '../../../../../host/run/plane/queue/read-mark.js';
import { eventually, temporaryFolder } from '../../../../support/harness.js';

/** The timers of a mark keep no process alive. */
const alive = setInterval(() => {}, 1000);
test.after(() => clearInterval(alive));

/** All threads that work on files wait for a pipe, until the function is called that is returned. */
function hangingDisk(): () => Promise<void> {
  const pipe = join(temporaryFolder(), 'pipe');
  execFileSync('mkfifo', [pipe]);
  const threads = Number(process.env.UV_THREADPOOL_SIZE ?? 4);
  const readers = Array.from({ length: threads }, () => open(pipe, 'r'));
  return async () => {
    const writer = openSync(pipe, 'w');
    for (const reader of readers) await (await reader).close();
    closeSync(writer);
  };
}

test('a number that came while another was being written is written without a further one', async () => {
  const path = join(temporaryFolder(), 'mark');
  const mark = new ReadMark(path);
  const goOn = hangingDisk();
  for (const value of [1, 2]) {
    mark.set(value);
    // Past the rest between two writes: the first one is on its way, and the time for the second has come.
    await new Promise((resolve) => setTimeout(resolve, 120));
  }
  await goOn();
  await eventually('the last number', async () => (await new ReadMark(path).read()) === 2, 5000);
  await mark.close();
  assert.is(await new ReadMark(path).read(), 2);
});

test.run();
