/**
 * How long large results hold the kernel: the longest call of it, in time of the processor, as the data plane makes them (work that takes long
 * is done in pieces of 5 ms) and with all work done at once; and all time for the result. A rule beside waits no longer than the longest call.
 *
 *     npx tsx bench/micro/long-work.ts [part of a name …]
 */
import type { Kernel } from '../../kernels/api.js';
import { hasDeferred, workOn } from '../../kernels/deferred.js';
import { createKernel } from '../../kernels/index.js';
import { openRule, textOf } from '../../test/sql/rule-kernel.js';
import { kernelUnderTest } from '../../test/wasm/drive.js';

interface Job {
  readonly sql: string;
  readonly rows: number;
  /** Key of a row by its number. */
  readonly keys: number;
}

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
};

const pieceMs = 5;
/** As the data plane has it. */
const longRows = 8192;
const chunkRows = 10_000;

/** The longest call and the sum of all after the rows have come, ms of the processor. */
function run(
  { sql, rows, keys }: Job,
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
    streams.map((name) => `CREATE STREAM ${name} () WITH (DATASOURCE="${name}", TYPE="memory")`),
    sql,
    { kernel, props: { sendSingle: true } },
  );
  kernel.tick(60_000);
  for (let from = 0; from < rows; from += chunkRows) {
    const chunk = Array.from({ length: Math.min(chunkRows, rows - from) }, (_, i) => ({
      k: `key ${((from + i) * 7919) % keys}`,
      v: ((from + i) * 31) % 9973,
    }));
    for (const name of streams) rule.feed(name, textOf(chunk), 60_001);
  }
  let longest = 0;
  let all = 0;
  let calls = 0;
  const timed = (call: () => void): void => {
    const before = process.cpuUsage();
    call();
    const { user, system } = process.cpuUsage(before);
    longest = Math.max(longest, (user + system) / 1000);
    all += (user + system) / 1000;
    calls++;
  };
  timed(() => kernel.tick(120_000));
  while (hasDeferred(kernel)) timed(() => workOn(kernel, pieceMs));
  return { longest, all, calls, bytes };
}

const wanted = process.argv.slice(2);
for (const [name, job] of Object.entries(jobs)) {
  if (wanted.length > 0 && !wanted.some((part) => name.includes(part))) continue;
  for (const inPieces of [false, true]) {
    const { longest, all, calls, bytes } = run(job, inPieces);
    const how = inPieces ? 'in pieces' : 'at once';
    console.log(
      `${name}: ${how}: longest call ${longest.toFixed(1)} ms, ${calls} calls, ${all.toFixed(0)} ms, ${(bytes / 1e6).toFixed(1)} MB`,
    );
  }
}
