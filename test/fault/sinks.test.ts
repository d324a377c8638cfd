/** Sinks that are slow, away or full: backpressure reaches the sender, nothing is lost, memory stays bounded. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { announceSkip, eventually, temporaryFolder } from '../harness.js';
import { openEngine, type TestEngine } from '../unit/run/engine-harness.js';
import { openRawBroker, publish } from './raw-broker.js';

let opened: TestEngine;
test.before.each(() => {
  opened = openEngine();
});
test.after.each(() => opened.close());

const rows = 200_000;

/** A file of rows with ids from 0, and a stream that reads it once. */
function fileOfRows(name: string): void {
  const folder = temporaryFolder();
  const lines: string[] = [];
  for (let i = 0; i < rows; i++) lines.push(`{"id":${i},"device":"dev-${i % 100}"}\n`);
  writeFileSync(join(folder, 'rows'), lines.join(''));
  opened.stream(`CREATE STREAM ${name} () WITH (TYPE="file", DATASOURCE="rows", CONF_KEY="${name}")`, {
    fileType: 'lines',
    path: folder,
    interval: 0,
  });
}

/** Ids of the rows in a file of lines, each an object or an array of them. */
function idsIn(path: string): number[] {
  return readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .flatMap((line) => JSON.parse(line) as { id: number } | { id: number }[])
    .map((row) => row.id);
}

function assertAll(ids: readonly number[]): void {
  assert.is(ids.length, rows);
  assert.ok(
    ids.every((id, i) => id === i),
    'an id is missing or out of place',
  );
}

for (const [name, props] of Object.entries({
  'single messages': { sendSingle: true },
  'batches by size': { batchSize: 777 },
  'batches by size of single messages': { sendSingle: true, batchSize: 777 },
  'batches by size and time': { batchSize: 100_000, lingerInterval: 5 },
  'batches by time of single messages': { sendSingle: true, lingerInterval: 5 },
})) {
  test(`${name} lose nothing under full load`, async () => {
    const path = join(temporaryFolder(), 'out');
    fileOfRows('src');
    opened.run('r', 'SELECT id FROM src', [['file', { path, ...props }]]);
    await opened.reach('r', 'stopped', 15_000);
    assertAll(idsIn(path));
    const first = readFileSync(path, 'utf8').slice(0, 1);
    assert.is(first, 'batchSize' in props || 'lingerInterval' in props ? '[' : '{');
  });
}

/** A broker that reads what is published only when it is told to. */
async function slowBroker() {
  let socket: Socket | undefined;
  let bytes = 0;
  let isPaused = true;
  const server = createServer((accepted) => {
    socket = accepted;
    accepted.on('error', () => {});
    accepted.once('data', () => {
      accepted.write(Buffer.from([0x20, 2, 0, 0]));
      if (isPaused) accepted.pause();
      accepted.on('data', (part) => {
        bytes += part.length;
      });
      if (isPaused) accepted.pause();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `tcp://127.0.0.1:${(server.address() as { port: number }).port}`,
    bytes: () => bytes,
    read: () => {
      isPaused = false;
      socket?.resume();
    },
    close: () => {
      socket?.destroy();
      server.close();
    },
  };
}

test('a broker that does not read holds up the sender; later everything arrives', async () => {
  const slow = await slowBroker();
  const count = 400;
  const text = 'x'.repeat(50_000);
  let written = 0;
  const source = await openRawBroker((socket) => {
    const next = () => {
      while (written < count) if (!socket.write(publish(`{"id":${written++},"text":"${text}"}`))) return;
    };
    socket.on('drain', next);
    next();
  });
  opened.stream('CREATE STREAM s () WITH (TYPE="mqtt", DATASOURCE="a", CONF_KEY="s")', { server: source.url, qos: 0 });
  opened.run('r', 'SELECT id, text FROM s', [['mqtt', { server: slow.url, topic: 'out', qos: 0, sendSingle: true }]]);
  const taken = () => opened.engine.status('r').then(({ metrics }) => Number(metrics.sourceRecordsInTotal));
  let last = -1;
  let since = performance.now();
  const held = await eventually('the standstill', async () => {
    const now = await taken();
    if (now !== last) since = performance.now();
    last = now;
    return now > 0 && performance.now() - since > 500 ? now : undefined;
  });
  assert.ok(held < count, `${held} of ${count} messages were taken`);
  slow.read();
  await opened.figure('r', 'sinkRecordsOutTotal', (value) => value === count);
  await eventually('all bytes', () => slow.bytes() > count * 50_000);
  const { metrics } = await opened.engine.status('r');
  assert.is(metrics.sinkRecordsFailedTotal, 0);
  await opened.engine.remove('r');
  slow.close();
  source.close();
});

test('a full disk stops its rule with the reason; with room again the restarted rule goes on', async () => {
  const folder = temporaryFolder();
  const mounted = join(folder, 'small');
  mkdirSync(mounted);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', mounted], { stdio: 'ignore' });
  } catch {
    announceSkip('full disk', 'a file system of bounded size needs root');
    return;
  }
  try {
    fileOfRows('src');
    writeFileSync(join(mounted, 'ballast'), Buffer.alloc(512 * 1024));
    const path = join(mounted, 'out');
    opened.stream('CREATE STREAM other () WITH (TYPE="simulator", CONF_KEY="other")', { interval: 5 });
    opened.run('other', 'SELECT temperature FROM other', [['nop', {}]]);
    opened.run('r', 'SELECT id, device FROM src', [['file', { path }]]);
    const status = await opened.reach('r', 'stopped by error', 15_000);
    assert.match(status.message, /ENOSPC/);
    assert.ok(Number(status.metrics.sinkRecordsFailedTotal) > 0, 'lost messages are counted');
    const before = await opened.figure('other', 'sinkRecordsOutTotal', () => true);
    await opened.figure('other', 'sinkRecordsOutTotal', (value) => value > before);
    execFileSync('mount', ['-o', 'remount,size=64m', mounted]);
    writeFileSync(path, '');
    opened.engine.start('r');
    await opened.reach('r', 'stopped');
    assertAll(idsIn(path).slice(-rows));
  } finally {
    await opened.engine.remove('r').catch(() => {});
    execFileSync('umount', ['-l', mounted]);
  }
});

test.run();
