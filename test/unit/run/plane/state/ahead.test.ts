/** Rows of rules that are about to come from another data plane, read while they still run there. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { silent } from '../../../../../host/base/log/log.js';
import type { SegmentedRows } from '../../../../../host/run/link/moving.js';
import type { PlaneHost } from '../../../../../host/run/plane/running/running.js';
import { ReadAhead } from '../../../../../host/run/plane/state/checkpoint/ahead.js';
import { CheckpointFiles } from '../../../../../host/run/plane/state/checkpoint/files.js';
import { readRows } from '../../../../../host/run/plane/state/checkpoint/loaded-snapshots.js';
import { SegmentChain } from '../../../../../host/run/plane/state/checkpoint/segments.js';
import type { Kernel } from '../../../../../kernels/api.js';
import { takeSnapshot } from '../../../../../kernels/state/snapshot.js';
import { type KernelRule, openRule, readerOf } from '../../../../support/engine/rule-kernel.js';
import { temporaryFolder } from '../../../../support/harness.js';

const count = 5000;
const stream = 'CREATE STREAM s () WITH (DATASOURCE="s", TYPE="memory")';
const open = () => openRule([stream], `SELECT n, t FROM s GROUP BY COUNTWINDOW(${count})`);

function feed(rule: KernelRule, from: number, to: number): void {
  rule.feed(
    's',
    Array.from({ length: to - from }, (_, i) => ({ n: from + i, t: `row ${from + i}`.padEnd(100, '.') })),
  );
}

/** Saves the rows of the rule that no segment has; returns the rest of its state, and where its rows are. */
async function saved(rule: KernelRule, chain: SegmentChain, files: CheckpointFiles, epoch: number) {
  const state: Buffer[] = [];
  const order = { ...chain.next(), small: 0 };
  const snapshot = takeSnapshot(rule.kernel, [rule.node('window')], order, (slice) => state.push(Buffer.from(slice)))!;
  chain.taken(snapshot);
  const next = () => snapshot.write(1 << 20, (bytes) => pieces.push(Buffer.from(bytes))) === 'more';
  const pieces: Buffer[] = [];
  const own = await files.writeSegment(epoch, (into) => {
    const isMore = next();
    for (const piece of pieces.splice(0)) into.add(piece);
    return isMore;
  });
  snapshot.close();
  return { state: Buffer.concat(state), rows: chain.written(snapshot, own)! };
}

function hostOf(kernel: Kernel): PlaneHost {
  const shared = new Map<string, unknown>();
  return {
    kernel,
    log: silent,
    work: (_whose: unknown, call: () => void) => call(),
    shared: (key: string, make: () => unknown) => {
      if (!shared.has(key)) shared.set(key, make());
      return shared.get(key);
    },
  } as unknown as PlaneHost;
}

/** What the rule gives when its window is full, by the rows that another kernel had. */
async function goneOn(host: PlaneHost, rule: KernelRule, files: CheckpointFiles, state: Buffer, rows: SegmentedRows) {
  const work = (call: (kernel: Kernel) => void) => call(rule.kernel);
  const loadedSnapshot = await readRows(files, rows, work, ReadAhead.of(host).take(files.folder));
  const { failed } = rule.kernel.loadNode(rule.node('window'), readerOf(state), loadedSnapshot);
  loadedSnapshot.close();
  assert.equal(failed, []);
  feed(rule, 4500, count);
  return rule.written().flatMap((line) => (JSON.parse(line) as { n: number }[]).map(({ n }) => n));
}

const whole: readonly number[] = Array.from({ length: count }, (_, n) => n);

test('only the rows that came since are read when the rule comes', async () => {
  const files = new CheckpointFiles(temporaryFolder());
  const [from, to] = [open(), open()];
  const host = hostOf(to.kernel);
  const chain = new SegmentChain();
  feed(from, 0, 3000);
  const before = await saved(from, chain, files, 1);
  await ReadAhead.of(host).read({ run: 1, folder: files.folder, rows: before.rows });
  feed(from, 3000, 4500);
  const { state, rows } = await saved(from, chain, files, 2);
  assert.is(rows.segments.length, 2);
  // They are in the kernel, and the file is not looked at any more.
  rmSync(join(files.folder, rows.segments[0]!.file));
  assert.equal(await goneOn(host, to, files, state, rows), whole);
});

test('rows of another chain are of no use, and all are read', async () => {
  const files = new CheckpointFiles(temporaryFolder());
  const [from, to] = [open(), open()];
  const host = hostOf(to.kernel);
  feed(from, 0, 3000);
  const before = await saved(from, new SegmentChain(), files, 1);
  await ReadAhead.of(host).read({ run: 1, folder: files.folder, rows: before.rows });
  feed(from, 3000, 4500);
  const { state, rows } = await saved(from, new SegmentChain(), files, 2);
  assert.equal(
    rows.segments.map(({ file }) => file),
    ['000000000002.rows'],
  );
  assert.equal(await goneOn(host, to, files, state, rows), whole);
});

test('a rule that goes on from what was read ahead has its groups', async () => {
  const files = new CheckpointFiles(temporaryFolder());
  const sql = 'SELECT g, collect(t) AS t FROM s GROUP BY g, COUNTWINDOW(3000)';
  const rowsOf = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, i) => ({ g: (from + i) % 500, t: `row ${from + i}` }));
  const [from, to, whole] = [openRule([stream], sql), openRule([stream], sql), openRule([stream], sql)];
  const host = hostOf(to.kernel);
  from.feed('s', rowsOf(0, 2000));
  const chain = new SegmentChain();
  const before = await saved(from, chain, files, 1);
  assert.ok(before.rows.fresh !== undefined, 'groups are in the segment');
  const ahead = ReadAhead.of(host);
  await ahead.read({ run: 1, folder: files.folder, rows: before.rows });
  from.feed('s', rowsOf(2000, 2100));
  const { state, rows } = await saved(from, chain, files, 2);
  assert.equal(rows.sets, [before.rows.fresh]);
  // Of the set, what has changed is read alone.
  rmSync(join(files.folder, rows.segments[0]!.file));
  const loadedSnapshot = await readRows(files, rows, (call) => call(to.kernel), ahead.take(files.folder));
  const { failed } = to.kernel.loadNode(to.node('window'), readerOf(state), loadedSnapshot);
  loadedSnapshot.close();
  assert.equal(failed, []);
  to.feed('s', rowsOf(2100, 3000));
  whole.feed('s', rowsOf(0, 3000));
  assert.equal(to.written(), whole.written());
});

test('a rule that comes while its rows are read has them once', async () => {
  const files = new CheckpointFiles(temporaryFolder());
  const [from, to] = [open(), open()];
  const host = hostOf(to.kernel);
  feed(from, 0, 4500);
  const { state, rows } = await saved(from, new SegmentChain(), files, 1);
  const bytes = () => to.kernel.memory().inUse - to.kernel.memory().workspace;
  const empty = bytes();
  const reading = ReadAhead.of(host).read({ run: 1, folder: files.folder, rows });
  assert.equal(await goneOn(host, to, files, state, rows), whole);
  await reading;
  to.close();
  assert.ok(bytes() <= empty, 'nothing of it is left');
});

test('memory of rows that nobody takes is given back', async () => {
  const files = new CheckpointFiles(temporaryFolder());
  const [from, to] = [open(), open()];
  const host = hostOf(to.kernel);
  feed(from, 0, 3000);
  const { rows } = await saved(from, new SegmentChain(), files, 1);
  const bytes = () => to.kernel.memory().inUse;
  const empty = bytes();
  const ahead = ReadAhead.of(host);
  await ahead.read({ run: 1, folder: files.folder, rows });
  const full = bytes();
  assert.ok(full > empty + 3000 * 100, `${full} bytes`);
  await ahead.read({ run: 2, folder: files.folder, rows });
  assert.is(bytes(), full, 'once for each folder');
  ahead.drop(files.folder);
  assert.is(bytes(), empty);
});

test('a segment that is damaged is told when the rule comes', async () => {
  const files = new CheckpointFiles(temporaryFolder());
  const [from, to] = [open(), open()];
  const host = hostOf(to.kernel);
  feed(from, 0, 3000);
  const { rows } = await saved(from, new SegmentChain(), files, 1);
  rmSync(join(files.folder, rows.segments[0]!.file));
  const ahead = ReadAhead.of(host);
  await ahead.read({ run: 1, folder: files.folder, rows });
  assert.is(ahead.take(files.folder), undefined);
  const reading = readRows(files, rows, (call) => call(to.kernel), undefined);
  assert.match(
    await reading.then(
      () => 'read',
      (error: Error) => error.message,
    ),
    'its rows in',
  );
});

test.run();
