/**
 * Cost of a checkpoint: how long rows wait for it at once (by the clock, and in time of the processor, which others
 * on the machine do not add to), the processor time, the bytes and the time on disk, for windows of several sizes; of
 * all rows, of a hundredth that came since the last one, and taken up by another kernel. With `groups` the windows keep
 * groups, and a row comes to each thousandth of them between two slices.
 *
 *     npx tsx bench/micro/checkpoints.ts [folder] [groups] [rows …]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CheckpointFiles } from '../../host/run/plane/state/checkpoint/files.js';
import { readRows } from '../../host/run/plane/state/checkpoint/loaded-snapshots.js';
import { SegmentChain } from '../../host/run/plane/state/checkpoint/segments.js';
import { StateCopy, stateReader } from '../../host/run/plane/state/checkpoint/state-copy.js';
import type { Kernel } from '../../kernels/api.js';
import type { Snapshot } from '../../kernels/snapshot-api.js';
import { takeSnapshot } from '../../kernels/state/snapshot.js';
import { type KernelRule, openRule, textOf } from '../../test/support/engine/rule-kernel.js';

const stream = 'CREATE STREAM s () WITH (DATASOURCE="s", TYPE="memory")';
const begin = 1_700_000_000_000;
const [folder = tmpdir(), ...words] = process.argv.slice(2);
const isGroups = words[0] === 'groups';
const given = isGroups ? words.slice(1) : words;
const usual = isGroups ? [1000, 100_000, 1_000_000] : [100, 40_000, 400_000, 4_000_000, 40_000_000];
const sizes = given.length > 0 ? given.map(Number) : usual;
/** Rows that are fed at once, again and again. */
const chunkRows = 1000;
const sliceBytes = 256 << 10;
const base = mkdtempSync(join(folder, 'haumea-checkpoints-'));
const chunk = textOf(
  Array.from({ length: chunkRows }, (_row, k) => ({
    device: `device-${(k * 7919) % 10_000}`,
    temperature: ((k * 37) % 1000) / 10,
    humidity: 40 + (k % 50),
  })),
);

/** Longest of the pieces of work that are timed, by the clock and by the processor. */
let longestMs = 0;
let longestCpuMs = 0;

function timed<T>(work: () => T): T {
  const before = process.cpuUsage();
  const began = performance.now();
  const result = work();
  longestMs = Math.max(longestMs, performance.now() - began);
  const { user, system } = process.cpuUsage(before);
  longestCpuMs = Math.max(longestCpuMs, (user + system) / 1000);
  return result;
}

/** The longest since the last call. */
function takeLongest(): string {
  const text = `${longestMs.toFixed(2)} ms (${longestCpuMs.toFixed(2)})`;
  longestMs = 0;
  longestCpuMs = 0;
  return text;
}

function open(count: number): KernelRule {
  const sql = isGroups
    ? 'SELECT device, count(*) AS n, avg(temperature) AS t FROM s GROUP BY device, TUMBLINGWINDOW(hh, 1)'
    : `SELECT device, temperature, humidity FROM s GROUP BY COUNTWINDOW(${count * 2 + 1})`;
  return openRule([stream], sql, {});
}

/** Rows of a thousand groups each. */
const groupRows = (from: number): Buffer =>
  textOf(
    Array.from({ length: chunkRows }, (_row, k) => ({
      device: `device-${(from + k) * 7919}`,
      temperature: ((k * 37) % 1000) / 10,
    })),
  );

function fill(rule: KernelRule, count: number): void {
  if (isGroups) {
    for (let i = 0; i < count; i += chunkRows) rule.feed('s', groupRows(i), begin);
    return;
  }
  for (let i = 0; i < count; i += chunkRows) rule.feed('s', count < chunkRows ? firstRows(count) : chunk, begin);
}

function firstRows(count: number): Buffer {
  return Buffer.from(`${chunk.toString().split('\n').slice(0, count).join('\n')}\n`);
}

interface Written {
  readonly state: readonly Buffer[];
  readonly rows: ReturnType<SegmentChain['written']>;
}

/** Rows that come while groups are written: to some that are, and some that aren't. */
function rowsBetween(rule: KernelRule, count: number): void {
  const rows = groupRows(between);
  const before = process.cpuUsage();
  rule.feed('s', rows, begin);
  const { user, system } = process.cpuUsage(before);
  longestFeedMs = Math.max(longestFeedMs, (user + system) / 1000);
  between = (between + 97_000) % count;
}

let between = 0;
let longestFeedMs = 0;

async function checkpoint(
  rule: KernelRule,
  count: number,
  chain: SegmentChain,
  files: CheckpointFiles,
  epoch: number,
): Promise<Written> {
  takeLongest();
  const state = new StateCopy();
  const before = process.cpuUsage();
  const began = performance.now();
  const snapshot = timed(() =>
    takeSnapshot(rule.kernel, [rule.node('window')], chain.next(), (slice) => state.add(slice)),
  ) as Snapshot;
  state.end();
  chain.taken(snapshot);
  const cut = takeLongest();
  const own =
    snapshot.pages === 0
      ? undefined
      : await files.writeSegment(epoch, (pieces) => {
          if (isGroups) rowsBetween(rule, count);
          return timed(() => snapshot.write(sliceBytes, (bytes) => pieces.add(bytes))) === 'more';
        });
  timed(() => snapshot.close());
  const rows = chain.written(snapshot, own);
  const head = { rule: 'r', epoch, at: begin, stateBytes: state.bytes, sources: {}, sinks: {}, ...(rows && { rows }) };
  await files.write(head, state.pieces);
  await files.publish(epoch);
  const { user, system } = process.cpuUsage(before);
  if (isGroups) console.log(`  longest batch of 1,000 rows meanwhile (${longestFeedMs.toFixed(2)})`);
  longestFeedMs = 0;
  console.log(
    `  ${epoch === 1 ? 'all' : 'since'}: at once ${cut}, longest slice ${takeLongest()}, ` +
      `${((state.bytes + (own?.bytes ?? 0)) / 1e6).toFixed(2)} MB in ${(performance.now() - began).toFixed(0)} ms, ` +
      `${((user + system) / 1000).toFixed(0)} ms of the processor`,
  );
  return { state: state.pieces, rows };
}

async function takeUp(count: number, files: CheckpointFiles, { state, rows }: Written): Promise<void> {
  takeLongest();
  const rule = open(count);
  const work = (call: (kernel: Kernel) => void) => timed(() => call(rule.kernel));
  const began = performance.now();
  const before = process.cpuUsage();
  const loadedSnapshot = rows && (await readRows(files, rows, work));
  const slice = takeLongest();
  const { failed } = timed(() => rule.kernel.loadNode(rule.node('window'), stateReader(state), loadedSnapshot));
  if (failed.length > 0) throw new Error(failed[0]!.text);
  loadedSnapshot?.close();
  const { user, system } = process.cpuUsage(before);
  console.log(
    `  taken up in ${(performance.now() - began).toFixed(0)} ms (${((user + system) / 1000).toFixed(0)}): ` +
      `longest slice ${slice}, at once ${takeLongest()}`,
  );
  rule.close();
}

for (const count of sizes) {
  const files = new CheckpointFiles(join(base, String(count)));
  const rule = open(count);
  fill(rule, count);
  console.log(
    `${count.toLocaleString('en')} ${isGroups ? 'groups' : 'rows'}, ` +
      `${(rule.kernel.memory().inUse / 1e6).toFixed(1)} MB of memory`,
  );
  const chain = new SegmentChain();
  await checkpoint(rule, count, chain, files, 1);
  fill(rule, Math.ceil(count / 100));
  const written = await checkpoint(rule, count, chain, files, 2);
  rule.close();
  await takeUp(count, files, written);
}
rmSync(base, { recursive: true, force: true });
