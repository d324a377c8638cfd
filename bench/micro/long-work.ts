/**
 * How long large results hold the kernel: the longest call of it, in time of the processor, as the data plane makes
 * them (work that takes long is done in pieces of 5 ms) and with all work done at once; and all time for the result. A
 * rule beside waits no longer than the longest call. The same of checkpoints of large groups, written in slices while
 * rows come.
 *
 *     npx tsx bench/micro/long-work.ts [part of a name …]
 */
import type { Kernel } from '../../kernels/api.js';
import { createKernel } from '../../kernels/index.js';
import type { Snapshot } from '../../kernels/snapshot-api.js';
import { hasDeferred, workOn } from '../../kernels/state/deferred.js';
import { openLoadedSnapshot } from '../../kernels/state/snapshot.js';
import { openRule, readerOf, textOf } from '../../test/support/engine/rule-kernel.js';
import { kernelUnderTest } from '../../test/support/kernel/drive.js';

interface Job {
  readonly sql: string;
  readonly rows: number;
  /** Key of a row by its number. */
  readonly keys: number;
  /** Rows per millisecond of event time; without it the window is one of the clock. */
  readonly perMs?: number;
  /**
   * A row that brings the result about, so many times, for stream `to`, with one before that does not; without it the
   * clock does.
   */
  readonly last?: { readonly to: string; readonly row: object; readonly before?: object; readonly times?: number };
  /** Late rows are waited for so long. */
  readonly lateMs?: number;
}

const firstMs = 1_700_000_000_000;
const jobs: Record<string, Job> = {
  'rows of a tumbling window, row by row': {
    sql: 'SELECT * FROM s GROUP BY TUMBLINGWINDOW(mi, 1)',
    rows: 5_000_000,
    keys: 1000,
  },
  'groups of a tumbling window': {
    sql: 'SELECT k, count(*) AS c, avg(v) AS m FROM s GROUP BY k, TUMBLINGWINDOW(mi, 1)',
    rows: 2_000_000,
    keys: 2_000_000,
  },
  'rows of a tumbling window, in order': {
    sql: 'SELECT k, v FROM s GROUP BY TUMBLINGWINDOW(mi, 1) ORDER BY v DESC, k',
    rows: 1_000_000,
    keys: 1000,
  },
  'join of 3,000 by 3,000 rows without a key': {
    sql: 'SELECT s.k AS a, r.k AS b FROM s INNER JOIN r ON s.v + r.v < 100 GROUP BY TUMBLINGWINDOW(mi, 1)',
    rows: 3000,
    keys: 3000,
  },
  'join of 3,000 by 3,000 rows with one key': {
    sql: 'SELECT s.v AS a, r.v AS b FROM s INNER JOIN r ON s.k = r.k GROUP BY TUMBLINGWINDOW(mi, 1)',
    rows: 3000,
    keys: 1,
  },
  'rows of a hopping window': {
    sql: 'SELECT * FROM s GROUP BY HOPPINGWINDOW(mi, 3, 1)',
    rows: 1_000_000,
    keys: 1000,
  },
  'groups of a hopping window, joined from panes': {
    sql: 'SELECT k, count(*) AS c, avg(v) AS m FROM s GROUP BY k, HOPPINGWINDOW(mi, 3, 1)',
    rows: 500_000,
    keys: 500_000,
  },
  'groups of a hopping window, of its rows': {
    sql: 'SELECT k, count(*) AS c, median(v) AS m FROM s GROUP BY k, HOPPINGWINDOW(mi, 3, 1)',
    rows: 500_000,
    keys: 500_000,
  },
  'rows of a hopping window, in order': {
    sql: 'SELECT k, v FROM s GROUP BY HOPPINGWINDOW(mi, 3, 1) ORDER BY v DESC, k',
    rows: 1_000_000,
    keys: 1000,
  },
  'groups of a sliding window': {
    sql: 'SELECT k, count(*) AS c, avg(v) AS m FROM s GROUP BY k, SLIDINGWINDOW(mi, 3) OVER (WHEN v = -1)',
    rows: 200_000,
    keys: 200_000,
    last: { to: 's', row: { k: 'key', v: -1 } },
  },
  'a counting window that has used its front up': {
    sql: 'SELECT k, count(*) AS c, avg(v) AS m FROM s GROUP BY k, COUNTWINDOW(1000000, 1)',
    rows: 999_999,
    keys: 1000,
    last: { to: 's', row: { k: 'key', v: -1 }, times: 3 },
  },
  'groups of a sliding window, of its rows': {
    sql: 'SELECT k, count(*) AS c, median(v) AS m FROM s GROUP BY k, SLIDINGWINDOW(mi, 3) OVER (WHEN v = -1)',
    rows: 200_000,
    keys: 200_000,
    last: { to: 's', row: { k: 'key', v: -1 } },
  },
  'rows of a sliding window': {
    sql: 'SELECT * FROM s GROUP BY SLIDINGWINDOW(mi, 3) OVER (WHEN v = -1)',
    rows: 1_000_000,
    keys: 1000,
    last: { to: 's', row: { k: 'key', v: -1 } },
  },
  'rows of a counting window that overlaps': {
    sql: 'SELECT * FROM s GROUP BY COUNTWINDOW(1000000, 1000)',
    rows: 999_999,
    keys: 1000,
    last: { to: 's', row: { k: 'key', v: -1 } },
  },
  'groups of a derived table that is joined': {
    sql:
      'SELECT d.k AS k, d.c AS c FROM (SELECT k, count(*) AS c, avg(v) AS m FROM s GROUP BY k, ' +
      'TUMBLINGWINDOW(mi, 1)) AS d ' +
      'LEFT JOIN r AS q ON d.k = q.k GROUP BY TUMBLINGWINDOW(hh, 1)',
    rows: 500_000,
    keys: 500_000,
  },
  'a sliding window of one group whose values change their kind': {
    sql: 'SELECT count(*) AS c, avg(v) AS m FROM s GROUP BY SLIDINGWINDOW(mi, 3)',
    rows: 1_000_000,
    keys: 1000,
    last: { to: 's', row: { k: 'key', v: null }, times: 3 },
  },
  'groups of a partition of a sliding window': {
    sql:
      'SELECT p, k, count(*) AS c, avg(v) AS m FROM s GROUP BY p, k, SLIDINGWINDOW(mi, 3) OVER (PARTITION BY p ' +
      'WHEN v = -1)',
    rows: 200_000,
    keys: 200_000,
    last: { to: 's', row: { k: 'key', v: -1 } },
  },
  'rows that a watermark releases': {
    sql: 'SELECT * FROM s GROUP BY TUMBLINGWINDOW(hh, 1)',
    rows: 1_000_000,
    keys: 1000,
    perMs: 100,
    lateMs: 60_000,
    last: { to: 's', row: { k: 'key', v: -1, ts: firstMs + 100_000 } },
  },
  'partners of a row within an interval of time': {
    sql: 'SELECT s.v AS a, r.v AS b FROM s INNER JOIN r ON s.k = r.k AND s.ts BETWEEN r.ts - 100000 AND r.ts',
    rows: 1_000_000,
    keys: 1,
    perMs: 100,
    last: {
      to: 'r',
      before: { k: 'another', v: -1, ts: firstMs + 9998 },
      row: { k: 'key 0', v: -1, ts: firstMs + 9999 },
    },
  },
};

/** Groups that are written while a row comes between two slices. */
const checkpoints: Record<string, { readonly sql: string; readonly rows: number; readonly text?: number }> = {
  'checkpoint of one group with a median of 2,000,000 values': {
    sql: 'SELECT median(v) AS m FROM s GROUP BY TUMBLINGWINDOW(hh, 1)',
    rows: 2_000_000,
  },
  'checkpoint of one group with a list of 1,000,000 values': {
    sql: 'SELECT collect(v) AS l FROM s GROUP BY TUMBLINGWINDOW(hh, 1)',
    rows: 1_000_000,
  },
  'checkpoint of one group with a text of 4 MB': {
    sql: 'SELECT last_value(t, true) AS t FROM s GROUP BY TUMBLINGWINDOW(hh, 1)',
    rows: 1,
    text: 4_000_000,
  },
};

const pieceMs = 5;
/** Rows that one piece of work takes, as in the data plane. */
const longRows = 8192;
const chunkRows = 10_000;

/** The longest call and the sum of all after the rows have come, ms of the processor. */
function run(
  { sql, rows, keys, perMs, last, lateMs = 0 }: Job,
  inPieces: boolean,
): { longest: number; all: number; calls: number; bytes: number } {
  let bytes = 0;
  const kernel: Kernel = createKernel(
    { onOutput: (chunk) => (bytes += chunk.bytes.length), onPacket: () => {}, onAcknowledge: () => {}, call: () => {} },
    kernelUnderTest,
    inPieces ? { longRows } : {},
  );
  const streams = sql.includes('JOIN') ? ['s', 'r'] : ['s'];
  const rule = openRule(
    streams.map((name) => `CREATE STREAM ${name} () WITH (DATASOURCE="${name}", TYPE="memory", TIMESTAMP="ts")`),
    sql,
    {
      kernel,
      props: { sendSingle: true },
      options: { isEventTime: perMs !== undefined, lateToleranceMs: lateMs, maxFutureSkewMs: 0 },
    },
  );
  kernel.tick(60_000);
  for (let from = 0; from < rows; from += chunkRows) {
    const chunk = Array.from({ length: Math.min(chunkRows, rows - from) }, (_, i) => ({
      k: `key ${((from + i) * 7919) % keys}`,
      v: ((from + i) * 31) % 9973,
      ...(perMs === undefined ? {} : { ts: firstMs + Math.floor((from + i) / perMs) }),
    }));
    for (const name of last === undefined ? streams : ['s']) rule.feed(name, textOf(chunk), 60_001);
  }
  if (last?.before !== undefined) rule.feed(last.to, [last.before], 60_001);
  while (hasDeferred(kernel)) workOn(kernel, pieceMs);
  const calls = new Calls();
  if (last === undefined) calls.time(() => kernel.tick(120_000));
  for (let i = 0; i < (last?.times ?? 1) && last !== undefined; i++) {
    calls.time(() => rule.feed(last.to, [last.row], 61_000));
    while (hasDeferred(kernel)) calls.time(() => workOn(kernel, pieceMs));
  }
  while (hasDeferred(kernel)) calls.time(() => workOn(kernel, pieceMs));
  return { ...calls, bytes };
}

/** The longest call and the sum of all, ms of the processor. */
class Calls {
  longest = 0;
  all = 0;
  calls = 0;

  time(call: () => void): void {
    const before = process.cpuUsage();
    call();
    const { user, system } = process.cpuUsage(before);
    this.longest = Math.max(this.longest, (user + system) / 1000);
    this.all += (user + system) / 1000;
    this.calls++;
  }
}

const sliceBytes = 256 << 10;

function checkpoint({ sql, rows, text = 0 }: (typeof checkpoints)[string]): Record<string, Calls> {
  const rule = openRule(['CREATE STREAM s () WITH (DATASOURCE="s", TYPE="memory")'], sql, {
    kernel: createKernel(
      { onOutput: () => {}, onPacket: () => {}, onAcknowledge: () => {}, call: () => {} },
      kernelUnderTest,
      { longRows },
    ),
  });
  const last = { v: 0.5, t: 'x'.repeat(text) };
  for (let from = 0; from < rows - 1; from += chunkRows) {
    const more = Array.from({ length: Math.min(chunkRows, rows - 1 - from) }, (_, i) => ({ v: (from + i) / 8 }));
    rule.feed('s', textOf(more), 60_001);
  }
  rule.feed('s', [last], 60_001);
  const [taken, row, slices] = [new Calls(), new Calls(), new Calls()];
  const written: Buffer[] = [];
  taken.time(() => rule.save());
  let snapshot: Snapshot | undefined;
  const begun = new Calls();
  begun.time(() => {
    snapshot = rule.snapshot({ chain: 1, segment: 0, serial: 0, small: 16_384 }).snapshot;
  });
  for (let isMore = true; isMore; ) {
    row.time(() => rule.feed('s', [{ v: 1, t: 'short' }], 60_002));
    slices.time(() => {
      isMore = snapshot?.write(sliceBytes, (bytes) => written.push(Buffer.from(bytes))) === 'more';
    });
  }
  const loaded = new Calls();
  const loadedSnapshot = openLoadedSnapshot(rule.kernel, {
    least: 0,
    count: snapshot?.serial ?? 0,
    sets: snapshot?.sets ?? [],
  });
  const read = readerOf(Buffer.concat(written));
  for (let isMore = true; isMore; ) loaded.time(() => (isMore = loadedSnapshot.fill(1, read)));
  loadedSnapshot.close();
  snapshot?.close();
  rule.close();
  return { 'saved at once': taken, 'snapshot begun': begun, 'a row between': row, slices, 'taken up': loaded };
}

const wanted = process.argv.slice(2);
for (const [name, job] of Object.entries(jobs)) {
  if (wanted.length > 0 && !wanted.some((part) => name.includes(part))) continue;
  for (const inPieces of [false, true]) {
    const { longest, all, calls, bytes } = run(job, inPieces);
    const how = inPieces ? 'in pieces' : 'at once';
    console.log(
      `${name}: ${how}: longest call ${longest.toFixed(1)} ms, ${calls} calls, ${all.toFixed(0)} ms, ` +
        `${(bytes / 1e6).toFixed(1)} MB`,
    );
  }
}
for (const [name, given] of Object.entries(checkpoints)) {
  if (wanted.length > 0 && !wanted.some((part) => name.includes(part))) continue;
  for (const [what, { longest, calls, all }] of Object.entries(checkpoint(given))) {
    console.log(`${name}: ${what}: longest call ${longest.toFixed(1)} ms, ${calls} calls, ${all.toFixed(0)} ms`);
  }
}
