/** Sinks that are slow, away or full: backpressure reaches the sender, nothing is lost, memory stays bounded. */
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRawBroker, publish, type RawBroker } from '../../support/brokers/raw-broker.js';
import { openEngine, type TestEngine } from '../../support/engine/engine-harness.js';
import { announceSkip, eventually, temporaryFolder } from '../../support/harness.js';
import { type SmallDisk, smallDisk } from '../../support/small-disk.js';

let opened: TestEngine;
test.before.each(() => {
  opened = openEngine();
});
/** Servers of the test under way: one that fails must not leave any behind, or the file would not end. */
const servers = new Set<{ close(): void }>();
test.after.each(async () => {
  for (const server of servers) server.close();
  servers.clear();
  await opened.close();
});

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
    .flatMap((line) => [JSON.parse(line)].flat(2) as { id: number }[])
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
  const parts: Buffer[] = [];
  let isPaused = true;
  const server = createServer((accepted) => {
    socket = accepted;
    accepted.on('error', () => {});
    accepted.once('data', () => {
      accepted.write(Buffer.from([0x20, 2, 0, 0]));
      if (isPaused) accepted.pause();
      accepted.on('data', (part) => parts.push(part));
      if (isPaused) accepted.pause();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const broker = {
    url: `tcp://127.0.0.1:${(server.address() as { port: number }).port}`,
    bytes: () => parts.reduce((sum, part) => sum + part.length, 0),
    /** Ids in the messages received, in order. */
    ids: () =>
      [
        ...Buffer.concat(parts)
          .toString('latin1')
          .matchAll(/"id":(\d+)/g),
      ].map((found) => Number(found[1])),
    read: () => {
      isPaused = false;
      socket?.resume();
    },
    close: () => {
      socket?.destroy();
      server.close();
    },
  };
  servers.add(broker);
  return broker;
}

/** A broker that publishes so many payloads as fast as they are read, each when `start` lets it go. */
async function sender(
  count: number,
  payload: (i: number) => string,
  start: (i: number) => Promise<void> = async () => {},
): Promise<RawBroker> {
  let written = 0;
  const broker = await openRawBroker(async (socket) => {
    for (; written < count; written++) {
      await start(written);
      if (!socket.write(publish(payload(written)))) await once(socket, 'drain');
    }
  });
  servers.add(broker);
  return broker;
}

/** Waits until the figure is above 0 and has not changed for a while, and returns it. */
function standstill(figure: () => Promise<number>): Promise<number> {
  let last = -1;
  let since = performance.now();
  return eventually('the standstill', async () => {
    const now = await figure();
    if (now !== last) since = performance.now();
    last = now;
    return now > 0 && performance.now() - since > 500 ? now : undefined;
  });
}

const text = 'x'.repeat(50_000);

test('a broker that does not read holds up the sender; later everything arrives', async () => {
  const slow = await slowBroker();
  const count = 400;
  const source = await sender(count, (i) => `{"id":${i},"text":"${text}"}`);
  opened.stream('CREATE STREAM s () WITH (TYPE="mqtt", DATASOURCE="a", CONF_KEY="s")', { server: source.url, qos: 0 });
  opened.run('r', 'SELECT id, text FROM s', [['mqtt', { server: slow.url, topic: 'out', qos: 0, sendSingle: true }]]);
  const held = await standstill(async () => Number((await opened.engine.status('r')).metrics.sourceRecordsInTotal));
  assert.ok(held < count, `${held} of ${count} messages were taken`);
  slow.read();
  await opened.figure('r', 'sinkRecordsOutTotal', (value) => value === count);
  await eventually('all bytes', () => slow.bytes() > count * 50_000);
  const { metrics } = await opened.engine.status('r');
  assert.is(metrics.sinkRecordsFailedTotal, 0);
  await opened.engine.remove('r');
});

test('a broker that does not read holds up both senders of a join; later every pair arrives', async () => {
  const slow = await slowBroker();
  const count = 400;
  // Both keep step: a stream that is ahead would be taken as a whole, since no window ends.
  const turns = Array.from({ length: count }, () => {
    let go = () => {};
    const turn = new Promise<void>((resolve) => {
      go = resolve;
    });
    return { turn, go, waiting: 2 };
  });
  const start = async (i: number) => {
    const one = turns[i];
    if (one !== undefined && --one.waiting === 0) one.go();
    await one?.turn;
  };
  const senders = [
    await sender(count, (i) => `{"ts":${i * 10},"id":${i},"text":"${text}"}`, start),
    await sender(count, (i) => `{"ts":${i * 10},"id":${i},"place":"${text}"}`, start),
  ];
  for (const [i, { url }] of senders.entries()) {
    const options = `TYPE="mqtt", DATASOURCE="a", CONF_KEY="s${i}", TIMESTAMP="ts"`;
    opened.stream(`CREATE STREAM s${i} () WITH (${options})`, { server: url, qos: 0 });
  }
  const sql = `SELECT s0.id AS id, text, place FROM s0 INNER JOIN s1 ON s0.id = s1.id GROUP BY TUMBLINGWINDOW(ms, 10)`;
  const sink: [string, Record<string, unknown>] = ['mqtt', { server: slow.url, topic: 'out', qos: 0 }];
  opened.run('r', sql, [sink], { isEventTime: true, lateToleranceMs: 0 });
  for (const name of ['source_s0_0_records_in_total', 'source_s1_0_records_in_total']) {
    const held = await standstill(async () => Number((await opened.engine.status('r')).metrics[name]));
    assert.ok(held < count, `${held} of ${count} messages were taken: ${name}`);
  }
  slow.read();
  // The last window stays open.
  await opened.figure('r', 'sinkRecordsOutTotal', (value) => value === count - 1, 40_000);
  await eventually('all bytes', () => slow.bytes() > (count - 1) * 2 * 50_000);
  assert.equal(
    slow.ids(),
    Array.from({ length: count - 1 }, (_, i) => i),
  );
  const { metrics } = await opened.engine.status('r');
  assert.is(metrics.sinkRecordsFailedTotal, 0);
  await opened.engine.remove('r');
});

/** A small file system of its own; undefined where none can be mounted. */
function ownDisk(size: string): SmallDisk | undefined {
  const disk = smallDisk(join(temporaryFolder(), 'small'), size);
  if (disk === undefined) announceSkip('full disk', 'a file system of bounded size needs root');
  return disk;
}

const sinkStatus = 'sink_file_0_0_connection_status';

test(
  'a full disk is waited for with the reason in the status; with room again every row is there, once and in ' + 'order',
  async () => {
    const disk = ownDisk('1m');
    if (disk === undefined) return;
    try {
      fileOfRows('src');
      writeFileSync(join(disk.path, 'ballast'), Buffer.alloc(512 * 1024));
      const path = join(disk.path, 'out');
      opened.stream('CREATE STREAM other () WITH (TYPE="simulator", CONF_KEY="other")', { interval: 5 });
      opened.run('other', 'SELECT temperature FROM other', [['nop', {}]]);
      opened.run('r', 'SELECT id, device FROM src', [['file', { path, sendSingle: true }]]);
      await opened.figure('r', sinkStatus, (value) => value === -1);
      // More attempts than a sink has that is given up.
      await opened.figure('r', 'sink_file_0_0_exceptions_total', (value) => value > 4, 20_000);
      const { status, metrics } = await opened.engine.status('r');
      assert.is(status, 'running');
      assert.match(String(metrics.sink_file_0_0_connection_last_disconnected_message), /ENOSPC/);
      assert.is(metrics.sinkRecordsFailedTotal, 0);
      // Each attempt may find a little room, and leaves a half line for a moment.
      await eventually('whole lines', () => /\}\n$/.test(readFileSync(path, 'utf8')));
      const before = await opened.figure('other', 'sinkRecordsOutTotal', () => true);
      await opened.figure('other', 'sinkRecordsOutTotal', (value) => value > before);
      disk.resize('64m');
      await opened.reach('r', 'stopped', 20_000);
      assertAll(idsIn(path));
    } finally {
      await opened.engine.remove('r').catch(() => {});
      disk.unmount();
    }
  },
);

test('a rule that is stopped while its disk is full leaves whole lines, and goes on behind them', async () => {
  const disk = ownDisk('256k');
  if (disk === undefined) return;
  try {
    fileOfRows('src');
    const path = join(disk.path, 'out');
    opened.run('r', 'SELECT id, device FROM src', [['file', { path, sendSingle: true }]], { forceExitTimeoutMs: 100 });
    await opened.figure('r', sinkStatus, (value) => value === -1);
    await opened.engine.stop('r');
    const ids = idsIn(path);
    assert.ok(ids.length > 1000 && ids.every((id, i) => id === i));
    disk.resize('64m');
    opened.engine.start('r');
    await opened.reach('r', 'stopped', 20_000);
    assertAll(idsIn(path).slice(ids.length));
  } finally {
    await opened.engine.remove('r').catch(() => {});
    disk.unmount();
  }
});

test('a file system that goes away is waited for; nothing is written to the folder below it', async () => {
  const disk = ownDisk('16m');
  if (disk === undefined) return;
  let isMounted = true;
  try {
    const path = join(disk.path, 'out');
    opened.stream('CREATE STREAM s () WITH (TYPE="simulator", CONF_KEY="s")', { interval: 2 });
    opened.run('r', 'SELECT temperature FROM s', [['file', { path, sendSingle: true }]]);
    await opened.figure('r', 'sinkRecordsOutTotal', (value) => value > 10);
    disk.unmount();
    isMounted = false;
    await opened.figure('r', sinkStatus, (value) => value === -1);
    const { metrics } = await opened.engine.status('r');
    assert.match(String(metrics.sink_file_0_0_connection_last_disconnected_message), /is not mounted any more/);
    assert.not.ok(existsSync(path));
    const written = Number(metrics.sinkRecordsOutTotal);
    disk.mountAgain();
    isMounted = true;
    await opened.figure('r', sinkStatus, (value) => value === 1);
    await opened.engine.stop('r');
    const after = await opened.engine.status('r');
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n').length;
    assert.is(lines, Number(after.metrics.sinkRecordsOutTotal) - written);
    assert.is(after.metrics.sinkRecordsFailedTotal, 0);
  } finally {
    await opened.engine.remove('r').catch(() => {});
    if (isMounted) disk.unmount();
  }
});

for (const [name, leave] of Object.entries({
  'moved away': (path: string, n: number) => renameSync(path, `${path}.${n}`),
  'moved away with its folder': (path: string, n: number) => {
    renameSync(dirname(path), `${dirname(path)}.${n}`);
    mkdirSync(dirname(path));
  },
})) {
  test(`a file that is ${name} under its sink is opened anew, and all files together have every row`, async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'logs', 'out');
    const data = Array.from({ length: 4000 }, (_, id) => ({ id }));
    opened.stream('CREATE STREAM s () WITH (TYPE="simulator", CONF_KEY="s")', { interval: 1, loop: false, data });
    opened.run('r', 'SELECT id FROM s', [['file', { path, sendSingle: true }]]);
    for (let n = 0; n < 3; n++) {
      await eventually('lines in the file', () => existsSync(path) && statSync(path).size > 100);
      leave(path, n);
    }
    await opened.reach('r', 'stopped', 30_000);
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
      basename(file).startsWith('out'),
    );
    assert.ok(files.length >= 3, files.join());
    const ids = files.flatMap((file) => idsIn(join(folder, file))).sort((a, b) => a - b);
    assert.equal(
      ids,
      Array.from({ length: data.length }, (_, id) => id),
    );
  });
}

test('a file that is deleted under its sink is opened anew', async () => {
  const path = join(temporaryFolder(), 'out');
  opened.stream('CREATE STREAM s () WITH (TYPE="simulator", CONF_KEY="s")', { interval: 2 });
  opened.run('r', 'SELECT temperature FROM s', [['file', { path, sendSingle: true }]]);
  await eventually('lines in the file', () => existsSync(path) && statSync(path).size > 100);
  unlinkSync(path);
  await eventually('lines in a new file', () => existsSync(path) && statSync(path).size > 100);
  assert.is(opened.engine.state('r'), 'running');
});

test.run();
