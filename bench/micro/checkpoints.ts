/**
 * What a checkpoint costs: the pause for the copy, the processor time and the time of the file, for states of several sizes.
 *
 *     npx tsx bench/micro/checkpoints.ts [folder]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CheckpointFiles } from '../../host/run/plane/checkpoint/files.js';
import { StateCopy } from '../../host/run/plane/checkpoint/state-copy.js';
import { openRule } from '../../test/sql/rule-kernel.js';

const stream = 'CREATE STREAM s () WITH (DATASOURCE="s", TYPE="memory")';
const begin = 1_700_000_000_000;
const sizes = [100, 40_000, 400_000, 4_000_000];
const rounds = 5;
const base = mkdtempSync(join(process.argv[2] ?? tmpdir(), 'haumea-checkpoints-'));

for (const count of sizes) {
  const rule = openRule([stream], `SELECT device, temperature, humidity FROM s GROUP BY COUNTWINDOW(${count + 1})`, {});
  for (let i = 0; i < count; i += 1000) {
    const rows = Array.from({ length: Math.min(1000, count - i) }, (_row, k) => ({
      device: `device-${(i + k) % 10_000}`,
      temperature: (((i + k) * 37) % 1000) / 10,
      humidity: 40 + ((i + k) % 50),
    }));
    rule.feed('s', rows, begin);
  }
  const files = new CheckpointFiles(join(base, String(count)));
  let pauseMs = Number.POSITIVE_INFINITY;
  let fileMs = Number.POSITIVE_INFINITY;
  let cpuMs = Number.POSITIVE_INFINITY;
  let bytes = 0;
  for (let epoch = 1; epoch <= rounds; epoch++) {
    const copy = new StateCopy();
    const began = performance.now();
    rule.kernel.saveNode(rule.node('window'), (slice) => copy.add(slice));
    copy.end();
    pauseMs = Math.min(pauseMs, performance.now() - began);
    bytes = copy.bytes;
    const before = process.cpuUsage();
    const writing = performance.now();
    const head = { rule: 'r', epoch, at: begin, stateBytes: bytes, sources: {}, sinks: {} };
    await files.write(head, copy.pieces);
    await files.publish(epoch);
    fileMs = Math.min(fileMs, performance.now() - writing);
    const { user, system } = process.cpuUsage(before);
    cpuMs = Math.min(cpuMs, (user + system) / 1000);
  }
  console.log(
    `${(bytes / 1e6).toFixed(2)} MB of state: pause ${pauseMs.toFixed(2)} ms (${((pauseMs / bytes) * 1e6).toFixed(1)} ms a MB), ` +
      `file ${fileMs.toFixed(1)} ms, ${cpuMs.toFixed(1)} ms of the processor`,
  );
  rule.close();
}
rmSync(base, { recursive: true, force: true });
