/**
 * Windows of each key (OVER (PARTITION BY …)): what a row costs, a key that is new, and all keys ending at once; bytes
 * of a key; how long it takes to save and to load them. Time of the processor.
 *
 *     npx tsx bench/micro/partitions.ts [KEYS] [PART_OF_NAME]
 */

import { createKernel } from '../../kernels/index.js';
import { hasDeferred, workOn } from '../../kernels/state/deferred.js';
import { openRule } from '../../test/support/engine/rule-kernel.js';
import { kernelUnderTest } from '../../test/support/kernel/drive.js';

const keys = Number(process.argv[2] ?? 100_000);
const only = process.argv[3] ?? '';
const batchRows = 1000;
const rounds = 5;
const select = 'SELECT device, count(*) AS n, avg(temp) AS t FROM s';
const statements: Record<string, string> = {
  'no window': 'SELECT device FROM s WHERE temp < -1',
  tumbling: `${select} GROUP BY device, TUMBLINGWINDOW(mi, 60)`,
  session: `${select} GROUP BY device, SESSIONWINDOW(mi, 600, 1) OVER (PARTITION BY device)`,
  'session, event time': `${select} GROUP BY device, SESSIONWINDOW(mi, 600, 1) OVER (PARTITION BY device)`,
  count: `${select} GROUP BY device, COUNTWINDOW(1000) OVER (PARTITION BY device)`,
  sliding: `${select} GROUP BY device, SLIDINGWINDOW(mi, 10) OVER (PARTITION BY device)`,
};

/** Milliseconds of the processor. */
function timed(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

for (const [name, sql] of Object.entries(statements)) {
  if (!name.includes(only)) continue;
  const kernel = createKernel({ onOutput() {}, onPacket() {}, onAcknowledge() {}, call() {} }, kernelUnderTest, {
    longRows: 8192,
  });
  const isEventTime = name.includes('event time');
  const ddl =
    'CREATE STREAM s (device STRING, temp FLOAT, ts BIGINT) WITH (TYPE="memory", DATASOURCE="s", TIMESTAMP="ts")';
  const rule = openRule([ddl], sql, { kernel, options: { isEventTime, lateToleranceMs: 0, maxFutureSkewMs: 0 } });
  const used = () => kernel.memory().inUse - kernel.memory().workspace;
  const empty = used();
  let now = 1_700_000_000_000;
  const round = (): number => {
    const batches = Array.from({ length: Math.ceil(keys / batchRows) }, (_, b) => {
      const ids = Array.from({ length: batchRows }, (_, i) => ((b * batchRows + i) * 7919) % keys);
      const lines = ids.map((id) => `{"device":"device ${id}","temp":${1 + (id % 50)},"ts":${now + 10 * (b + 1)}}\n`);
      return Buffer.from(lines.join(''));
    });
    return timed(() => {
      for (const bytes of batches) {
        now += 10;
        kernel.tick(now);
        rule.feed('s', bytes, now);
      }
    });
  };
  const perRow = (ms: number): string => `${((ms * 1e6) / keys).toFixed(0)} ns`;
  const first = round();
  const later = Array.from({ length: rounds }, round);
  const kept = used() - empty;
  let state: Uint8Array = new Uint8Array();
  const saving = timed(() => {
    state = rule.save();
  });
  const loading = timed(() => void rule.load(state));
  now += 3_600_000;
  const calls: number[] = [];
  if (isEventTime) calls.push(timed(() => rule.feed('s', [{ device: 'last', temp: 1, ts: now }], now)));
  for (; kernel.nextDeadline() <= now || hasDeferred(kernel); now++) {
    calls.push(timed(() => (kernel.nextDeadline() <= now ? kernel.tick(now) : void workOn(kernel, 5))));
  }
  const sum = calls.reduce((all, one) => all + one, 0);
  console.log(
    `${name.padEnd(20)} ${perRow(Math.min(...later))} a row, ${perRow(first)} of a new key, ` +
      `${(kept / keys).toFixed(0)} bytes a key; ` +
      `saved in ${saving.toFixed(0)} ms, loaded in ${loading.toFixed(0)} ms; ` +
      `end in ${sum.toFixed(0)} ms, ${Math.max(0, ...calls).toFixed(1)} ms the longest call; ` +
      `${((used() - empty) / keys).toFixed(1)} bytes a key left`,
  );
  rule.close();
}
