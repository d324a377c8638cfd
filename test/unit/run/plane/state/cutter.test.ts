/** Cuts of rules whose kernel has no memory for what a cut keeps of them. */
import { readdirSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { silent } from '../../../../../host/base/log/log.js';
import type { RunningRule } from '../../../../../host/run/plane/running/running.js';
import { Cutter } from '../../../../../host/run/plane/state/checkpoint/cutter.js';
import { CheckpointFiles } from '../../../../../host/run/plane/state/checkpoint/files.js';
import { Pieces } from '../../../../../host/run/plane/state/checkpoint/segments.js';
import { fillMemory } from '../../../../support/engine/full-kernel.js';
import { type KernelRule, openRule, readerOf } from '../../../../support/engine/rule-kernel.js';
import { temporaryFolder } from '../../../../support/harness.js';

const open = () =>
  openRule(
    ['CREATE STREAM s () WITH (TYPE="memory", DATASOURCE="s")'],
    'SELECT k, collect(v) AS list FROM s GROUP BY k, TUMBLINGWINDOW(hh, 1)',
    { limits: { maxMemoryBytes: 24 << 20 } },
  );

function running({ kernel, nodes }: KernelRule): RunningRule {
  return {
    id: 'r',
    host: { kernel },
    nodes: nodes.map((handle) => ({ kind: 'window', handle })),
    tables: [],
    sources: [],
    sinks: [],
    isTable: () => false,
  } as unknown as RunningRule;
}

test('after one that found no memory for a group that changes the next cuts save groups at once', async () => {
  const rule = open();
  const again = open();
  const { kernel } = rule;
  for (const one of [rule, again]) one.kernel.tick(1000);
  const feed = (one: typeof rule, round: number) =>
    one.feed('s', [{ k: 'one', v: `${round} ${'x'.repeat(4000)}` }], 2000);
  for (let round = 0; round < 100; round++) feed(rule, round);
  const from = running(rule);
  const files = new CheckpointFiles(temporaryFolder());
  const host = { now: () => 1000, kernel, work: (_rules: unknown, call: () => void) => call() };
  const cutter = new Cutter(false, [], files, host, () => {}, silent);
  /** Rows come to the group between the cut and what is written of it. */
  const cut = async (round: number) => {
    const taken = cutter.take(from)!;
    feed(rule, round);
    const head = await cutter.rowsToDisk(taken, (pieces) => cutter.writeRows(from, taken, pieces, 1 << 20));
    return { head, state: Buffer.concat(taken.state.pieces) };
  };
  const { head } = await cut(100);
  assert.ok(head.rows !== undefined, 'with memory groups are left to the snapshot');
  const release = fillMemory(kernel, 64 << 10);
  let failure: unknown;
  await cut(101).catch((error) => {
    failure = error;
  });
  assert.match(String(failure), 'the memory of the kernel is exhausted');
  for (let i = 0; i < 15; i++) assert.is((await cut(102 + i)).head.rows, undefined);
  const { state } = await cut(117);
  release();
  assert.ok((await cut(118)).head.rows !== undefined, 'groups are left to snapshots again');
  assert.equal(again.kernel.loadNode(again.nodes, readerOf(state)).failed, []);
  feed(again, 117);
  feed(again, 118);
  for (const one of [rule, again]) one.kernel.tick(3_600_000);
  const messages = rule.taken();
  assert.equal(again.taken(), messages);
  assert.is((messages as { list: string[] }[][])[0]![0]!.list.length, 119);
  rule.close();
  again.close();
});

test('rows that go ahead are none of the last cut, which is taken meanwhile', async () => {
  const rows = openRule(
    ['CREATE STREAM s () WITH (TYPE="memory", DATASOURCE="s")'],
    'SELECT n, t FROM s GROUP BY COUNTWINDOW(100000)',
  );
  const from = { ...running(rows), nodes: [{ kind: 'window', handle: rows.node('window') }] } as unknown as RunningRule;
  const files = new CheckpointFiles(temporaryFolder());
  const host = { now: () => 1000, kernel: rows.kernel, work: (_rules: unknown, call: () => void) => call() };
  const cutter = new Cutter(false, [], files, host, () => {}, silent);
  rows.feed(
    's',
    Array.from({ length: 20_000 }, (_, n) => ({ n, t: 'x'.repeat(100) })),
  );
  const ahead = cutter.precopy(from);
  assert.is(cutter.precopy(from), ahead, 'there is one at a time');
  cutter.abandon();
  const last = cutter.take(from)!;
  const gathered = new Pieces();
  while (cutter.writeRows(from, last, gathered, Number.MAX_SAFE_INTEGER));
  const failure = await ahead.then(
    () => 'none',
    (error: Error) => error.message,
  );
  assert.is(failure, 'it was given up');
  const head = await cutter.rowsToDisk(last, (pieces) => {
    pieces.takeAll(gathered);
    return false;
  });
  assert.equal(
    head.rows?.segments.map(({ file }) => file),
    ['000000000002.rows'],
  );
  assert.equal(readdirSync(files.folder), ['000000000002.rows'], 'the other one is gone');
  rows.close();
});

test.run();
