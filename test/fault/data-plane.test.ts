import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openEngine, type TestEngine } from '../support/engine/engine-harness.js';
import { eventually, temporaryFolder } from '../support/harness.js';

let opened: TestEngine;
test.before.each(() => {
  opened = openEngine();
  opened.stream('CREATE STREAM sim () WITH (TYPE="simulator", CONF_KEY="sim")', { interval: 1 });
  opened.stream('CREATE STREAM flood () WITH (TYPE="simulator", CONF_KEY="flood", SHARED="true")', { interval: 0 });
});
test.after.each(() => opened.close());

/** Owner of the thread that the rules run in. */
const thread = () => opened.engine.planes.first;

test('all rules are back after the death of the thread', async () => {
  const shared = 'CREATE STREAM both () WITH (TYPE="simulator", CONF_KEY="both", SHARED="true")';
  opened.stream(shared, { interval: 1 });
  opened.run('a', 'SELECT temperature FROM both', [['nop', {}]]);
  opened.run('b', 'SELECT humidity FROM both', [['nop', {}]]);
  await opened.figure('a', 'sinkRecordsOutTotal', (value) => value > 0);
  await opened.figure('b', 'sinkRecordsOutTotal', (value) => value > 0);
  const before = thread().threadId;
  await thread().kill();
  await opened.figure('a', 'sinkRecordsOutTotal', (value) => value > 0);
  await opened.figure('b', 'sinkRecordsOutTotal', (value) => value > 0);
  assert.is.not(thread().threadId, before);
});

test('a sink file that cannot be written stops its rule with the reason, and no other', async () => {
  const folder = temporaryFolder();
  // What is no folder can't hold a file.
  writeFileSync(join(folder, 'taken'), '');
  opened.run('good', 'SELECT temperature FROM sim', [['nop', {}]]);
  opened.run('bad', 'SELECT temperature FROM sim', [['file', { path: join(folder, 'taken/out') }]]);
  const status = await opened.reach('bad', 'stopped by error');
  assert.match(status.message, /file sink: E[A-Z]+/);
  await opened.figure('good', 'sinkRecordsOutTotal', (value) => value > 0);
  assert.is(opened.engine.state('good'), 'running');
});

test('a failed rule comes back by its restart strategy when the cause is gone', async () => {
  const blocking = join(temporaryFolder(), 'blocking');
  writeFileSync(blocking, '');
  const path = join(blocking, 'out');
  const restartStrategy = { attempts: 20, delayMs: 50, multiplier: 1, maxDelayMs: 100, jitterFactor: 0 };
  opened.run('again', 'SELECT temperature FROM sim', [['file', { path }]], { restartStrategy });
  const failed = await opened.reach('again', 'stopped by error');
  assert.ok(failed.nextStartTimestamp > 0);
  rmSync(blocking);
  await eventually('the return', () => opened.engine.state('again') === 'running');
  await opened.figure('again', 'sinkRecordsOutTotal', (value) => value > 3);
  assert.match(readFileSync(path, 'utf8'), /"temperature":22.5/);
});

test('a disk that stays full holds its rule with the reason in the status, no other rule, and no stop', async () => {
  opened.run('good', 'SELECT temperature FROM sim', [['nop', {}]]);
  opened.run('full', 'SELECT temperature FROM sim', [['file', { path: '/dev/full' }]], { forceExitTimeoutMs: 100 });
  // More attempts than a sink has that is given up.
  await opened.figure('full', 'sink_file_0_0_exceptions_total', (value) => value > 4, 30_000);
  const { status, metrics } = await opened.engine.status('full');
  assert.is(status, 'running');
  assert.is(metrics.sink_file_0_0_connection_status, -1);
  assert.match(String(metrics.sink_file_0_0_connection_last_disconnected_message), /ENOSPC/);
  assert.is(metrics.sinkRecordsOutTotal, 0);
  const before = await opened.figure('good', 'sinkRecordsOutTotal', () => true);
  await opened.figure('good', 'sinkRecordsOutTotal', (value) => value > before);
  await opened.engine.stop('full');
  assert.is(opened.engine.state('full'), 'stopped');
});

test('rules that come and go under full load leave nothing behind', async () => {
  opened.run('stays', 'SELECT temperature FROM flood', [['nop', {}]]);
  await opened.figure('stays', 'sinkRecordsOutTotal', (value) => value > 1000);
  for (let round = 0; round < 10; round++) {
    for (let i = 0; i < 20; i++) {
      opened.run(`r${i}`, `SELECT temperature + ${i} AS t FROM flood WHERE humidity > ${i}`, [['nop', {}]]);
    }
    await opened.figure('r19', 'sinkRecordsOutTotal', (value) => value > 0);
    await Promise.all(Array.from({ length: 20 }, (_, i) => opened.engine.remove(`r${i}`)));
  }
  const seen = await opened.figure('stays', 'sinkRecordsOutTotal', () => true);
  await opened.figure('stays', 'sinkRecordsOutTotal', (value) => value > seen);
});

test('garbage on the socket costs the connection, never the rule', async () => {
  const junk = [
    randomBytes(1 << 20),
    Buffer.alloc(1 << 20, 0x30),
    Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f, 1, 2, 3]),
  ];
  let connections = 0;
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      if (bytes[0] === 0x10) socket.write(Buffer.from([0x20, 2, 0, 0]));
      if (bytes[0] !== 0x82) return;
      socket.write(Buffer.from([0x90, 3, bytes[2]!, bytes[3]!, 0]));
      for (let i = 0; i < 20; i++) socket.write(junk[connections % junk.length]!);
      connections++;
      socket.end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  opened.stream('CREATE STREAM noise () WITH (TYPE="mqtt", DATASOURCE="a", CONF_KEY="noise")', {
    server: `tcp://127.0.0.1:${port}`,
    qos: 0,
  });
  opened.run('noise', 'SELECT a FROM noise', [['nop', {}]]);
  await eventually('three more connections', () => connections > 3);
  assert.is(opened.engine.state('noise'), 'running');
  const { metrics } = await opened.engine.status('noise');
  assert.ok(Number(metrics.source_noise_0_exceptions_total) > 0);
  await opened.engine.remove('noise');
  server.close();
});

test('two thousand rules on one stream start and stop side by side', async () => {
  opened.stream('CREATE STREAM quiet () WITH (TYPE="memory", DATASOURCE="quiet", SHARED="true")');
  const count = 2000;
  for (let i = 0; i < count; i++) {
    opened.run(`m${i}`, `SELECT a FROM quiet WHERE a > ${i}`, [['nop', {}]]);
  }
  for (let i = 0; i < count; i++) await opened.reach(`m${i}`, 'running');
  await Promise.all(Array.from({ length: count }, (_, i) => opened.engine.remove(`m${i}`)));
  assert.equal(await opened.engine.cpuTimes(), []);
});

test.run();
