/** Small pieces of base: clock, lock, nearest name, checksum, serial steps. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { HaumeaError } from '../../../host/base/errors.js';
import { crc32 } from '../../../host/base/files/crc32.js';
import { lockFolder } from '../../../host/base/files/lock-file.js';
import { Serial } from '../../../host/base/structures/serial.js';
import { nearest } from '../../../host/base/text/nearest.js';
import { ManualClock, SteadyTime } from '../../../host/base/time/clock.js';
import { eventually, temporaryFolder } from '../../support/harness.js';

test('a manual clock calls what falls due, in order', () => {
  const clock = new ManualClock(1000);
  const calls: string[] = [];
  clock.after(30, () => calls.push(`once ${clock.now()}`));
  const every = clock.every(20, () => calls.push(`every ${clock.now()}`));
  clock.after(25, () => calls.push('closed')).close();
  clock.advance(50);
  every.close();
  clock.advance(50);
  assert.equal(calls, ['every 1020', 'once 1030', 'every 1040']);
  assert.is(clock.now(), 1100);
});

test(
  'steady time goes on when the clock is set back, and is the clock again when that has caught up or its user is ' +
    'ready',
  () => {
    let clock = 100_000;
    let elapsed = 0;
    let setBack = 0;
    const time = new SteadyTime(
      () => setBack++,
      () => clock,
      () => elapsed,
    );
    const pass = (ms: number, clockMs = ms) => {
      clock += clockMs;
      elapsed += ms;
      return time.now();
    };
    assert.is(pass(10), 100_010);
    assert.is(pass(0, -1000), 100_010, 'a small step: the time stands still');
    assert.is(pass(600), 100_010);
    assert.is(pass(500), 100_110);
    assert.is(pass(0, -50_000), 100_110);
    assert.is(pass(7.5), 100_117);
    assert.is(pass(20_000), 120_117);
    assert.is(pass(1, 90_000), clock, 'the clock is set forth');
    assert.is(pass(5), clock);
    assert.is(setBack, 1);
    pass(1, 0.5);
    assert.is(pass(1000, -50_000), clock + 50_000);
    assert.is(setBack, 2);
    assert.is(time.follow(), 50_000);
    assert.is(pass(5), clock);
    assert.is(pass(5, -2000), clock + 2000);
    assert.is(setBack, 3);
  },
);

async function refused(lock: Promise<unknown>, message: RegExp): Promise<void> {
  const error = await lock.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.instance(error, HaumeaError);
  assert.match((error as HaumeaError).message, message);
}

test('a folder is locked once, with the pid of the holder', async () => {
  const path = join(temporaryFolder(), 'lock');
  const lock = await lockFolder(path);
  await refused(lockFolder(path), new RegExp(`in use by process ${process.pid}`));
  lock.close();
  assert.not.ok(existsSync(path));
  (await lockFolder(path)).close();
});

test('a lock of a process that is gone, or of another one with its pid, is taken over', async () => {
  const path = join(temporaryFolder(), 'lock');
  for (const left of ['{"pid":999999999,"started":"1"}', `{"pid":${process.pid},"started":"1"}`, 'rubbish', '']) {
    writeFileSync(path, left);
    const lock = await lockFolder(path);
    assert.is(JSON.parse(readFileSync(path, 'utf8')).pid, process.pid);
    lock.close();
  }
});

/** The lock of a process, as it wrote it itself. */
function lockOf(pid: number): string {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return JSON.stringify({ pid, started: fields[19] });
}

const onLinux = process.platform === 'linux' ? test : test.skip;

onLinux('a process that is killed but not collected by its parent holds nothing', async () => {
  const path = join(temporaryFolder(), 'lock');
  // The shell becomes a process that never asks for its child's end.
  const parent = spawn('sh', ['-c', 'sleep 1000 & echo $!; exec sleep 1000'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const child = Number(String((await once(parent.stdout, 'data'))[0]));
  writeFileSync(path, lockOf(child));
  await refused(lockFolder(path), new RegExp(`in use by process ${child} `));
  // As long as it is a shell it would collect the child.
  await eventually('the other program', () => readFileSync(`/proc/${parent.pid}/comm`, 'utf8') === 'sleep\n');
  process.kill(child, 'SIGKILL');
  await eventually('the zombie', () => /\) Z /.test(readFileSync(`/proc/${child}/stat`, 'utf8')));
  const lock = await lockFolder(path);
  assert.is(JSON.parse(readFileSync(path, 'utf8')).pid, process.pid);
  lock.close();
  parent.kill('SIGKILL');
});

onLinux('a process that is just ending is waited for, one that runs on is named', async () => {
  const path = join(temporaryFolder(), 'lock');
  const holder = spawn('sleep', ['1000'], { stdio: 'ignore' });
  await once(holder, 'spawn');
  writeFileSync(path, lockOf(holder.pid!));
  await refused(lockFolder(path, { waitMs: 200 }), /in use by process \d+, which did not end within 0.2 s \(lock file/);
  const told: number[] = [];
  const taken = lockFolder(path, {
    waitMs: 10_000,
    onWait: (pid) => {
      told.push(pid);
      holder.kill('SIGKILL');
    },
  });
  (await taken).close();
  assert.equal(told, [holder.pid]);
});

onLinux('a process that says it is stopping is waited for as long as it may take', async () => {
  const path = join(temporaryFolder(), 'lock');
  const holder = spawn('sleep', ['1000'], { stdio: 'ignore' });
  await once(holder, 'spawn');
  const held = JSON.parse(lockOf(holder.pid!));
  writeFileSync(path, JSON.stringify(held));
  const told: unknown[] = [];
  const taken = lockFolder(path, {
    waitMs: 1000,
    onWait: (pid, stopMs) => {
      told.push([pid, stopMs]);
      if (stopMs === undefined) writeFileSync(path, JSON.stringify({ ...held, stopMs: 10_000 }));
      // Later than a running one would be waited for.
      else setTimeout(() => holder.kill('SIGKILL'), 1500);
    },
  });
  (await taken).close();
  assert.equal(told, [
    [holder.pid, undefined],
    [holder.pid, 10_000],
  ]);
});

test('a lock that says it is stopping is still its own', async () => {
  const path = join(temporaryFolder(), 'lock');
  const lock = await lockFolder(path);
  lock.stopping(5000);
  assert.is(JSON.parse(readFileSync(path, 'utf8')).stopMs, 5000);
  await refused(lockFolder(path), new RegExp(`in use by process ${process.pid}`));
  lock.close();
  assert.equal(readdirSync(dirname(path)), []);
});

test('a folder that takes no lock is told with the reason', async () => {
  await refused(lockFolder(join(temporaryFolder(), 'nosuch', 'lock')), /^the data folder can't be locked: ENOENT/);
  // Something else has the name: nothing stays beside it.
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'lock'));
  await refused(lockFolder(join(folder, 'lock')), /the data folder can't be locked: EISDIR/);
  assert.equal(readdirSync(folder), ['lock']);
});

test('the nearest name is suggested only when it is near', () => {
  assert.is(nearest('restPrt', ['restPort', 'restIp']), 'restPort');
  assert.is(nearest('serevr', ['server', 'topic']), 'server');
  assert.is(nearest('RESTPORT', ['restPort']), 'restPort');
  assert.is(nearest('xyz', ['restPort', 'restIp']), undefined);
  assert.is(nearest('', ['a']), undefined);
});

test('checksums are those of zip', () => {
  assert.is(crc32(Buffer.from('123456789')), 0xcbf43926);
  assert.is(crc32(Buffer.alloc(0)), 0);
});

test('steps of one key run one after the other, also behind a failure', async () => {
  const serial = new Serial();
  const order: string[] = [];
  const step = (name: string, fails = false) =>
    serial.run('k', async () => {
      order.push(`${name} begins`);
      await Promise.resolve();
      order.push(`${name} ends`);
      if (fails) throw new Error(name);
    });
  const results = await Promise.allSettled([step('a'), step('b', true), step('c')]);
  assert.equal(order, ['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
  assert.equal(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
});

test.run();
