/** A program of a WebAssembly plugin that reads what it is given, from the side of the data plane. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { defaultLimits } from '../../../host/plugins/wasm/binary/limits.js';
import { CommandThread } from '../../../host/plugins/wasm/command/thread.js';
import { prepare } from '../../../host/plugins/wasm/prepare/prepare.js';
import { eventually, temporaryFolder } from '../../support/harness.js';
import { compileText } from '../../support/plugins/modules.js';

const reads = `
@external("wasi_snapshot_preview1", "fd_read") declare function fd_read(fd: i32, parts: i32, n: i32, out: i32): i32;
memory.grow(2);
export function _start(): void {
  store<i32>(30000, 1000);
  store<i32>(30004, 20000);
  do fd_read(0, 30000, 1, 30008); while (load<i32>(30008) > 0);
}`;

/** While it runs, whoever is given a sign gets its turn at once, as on a machine with one core. */
function yielding(ms: number, run: () => void): void {
  const { exchange, notify } = Atomics;
  const pause = () => {
    const end = performance.now() + ms;
    while (performance.now() < end);
  };
  Atomics.exchange = ((cells: Int32Array, at: number, value: number) => {
    const before = exchange(cells, at, value);
    // One that sleeps is woken behind that.
    if (before === 0) pause();
    return before;
  }) as typeof exchange;
  Atomics.notify = ((cells: Int32Array, at: number) => {
    const woken = notify(cells, at);
    pause();
    return woken;
  }) as typeof notify;
  try {
    run();
  } finally {
    Object.assign(Atomics, { exchange, notify });
  }
}

test('a program that has dealt with its input before the write of it is over is heard of', async () => {
  const path = join(temporaryFolder(), 'reads.wasm');
  writeFileSync(path, prepare(await compileText(reads), undefined, defaultLimits).ready);
  const heard: number[] = [];
  const thread: CommandThread = new CommandThread(
    { kind: 'command', name: 'reads', version: 1, path, timeoutMs: 30_000 },
    { args: [], hasOutput: false, progressed: () => void heard.push(thread.handled) },
    { log: () => {}, holds: () => undefined, over: () => {} },
  );
  await thread.loaded;
  for (let round = 1; round <= 3; round++) {
    yielding(100, () => assert.is(thread.write(Buffer.from('line\n')), 5));
    await eventually('what it has dealt with', () => heard.at(-1) === round * 5, 10_000);
  }
  thread.stop();
});

test.run();
