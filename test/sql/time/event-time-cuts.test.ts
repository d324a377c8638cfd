/**
 * Windows of event time over rows whose times are often equal and often out of order: they send the same however the
 * input is cut into batches, row by row or thousands at once, as it is after an outage or when a file is read again
 * from a checkpoint.
 */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule } from '../../support/engine/rule-kernel.js';

const numRuns = Math.ceil(Number(process.env.HAUMEA_STATE_RUNS ?? 150) / 5);
const stepMs = 100;
const begin = 1_700_000_000_000;

/** A row comes so many steps after the one before, and lies so many behind. */
interface Coming {
  readonly stream: number;
  readonly after: number;
  readonly behind: number;
}

const coming = (streams: number, size: number): fc.Arbitrary<Coming[]> =>
  fc.array(
    fc.record({
      stream: fc.nat({ max: streams - 1 }),
      after: fc.constantFrom(0, 0, 0, 0, 1, 1, 2, 2, 15),
      behind: fc.constantFrom(0, 0, 0, 1, 2, 3, 4),
    }),
    { minLength: size, maxLength: size },
  );

const windows = [
  'SLIDINGWINDOW(ms, 500)',
  'SLIDINGWINDOW(ms, 500) OVER (WHEN id % 3 = 0)',
  'SLIDINGWINDOW(ms, 300, 200)',
  'TUMBLINGWINDOW(ms, 500)',
  'HOPPINGWINDOW(ms, 600, 200)',
  'SESSIONWINDOW(ss, 10, 1)',
  'STATEWINDOW(id % 4 = 0, id % 7 = 3)',
  'SLIDINGWINDOW(ms, 500) OVER (PARTITION BY id % 3)',
  'SLIDINGWINDOW(ms, 300, 200) OVER (PARTITION BY id % 3)',
  'SESSIONWINDOW(ms, 2000, 300) OVER (PARTITION BY id % 5)',
];
const wholes = [
  'id, ts',
  'count(*) AS n, sum(id) AS total, max(id) AS high, last_value(id, true) AS last',
  'id, lag(id) AS x',
];

function run(
  sql: string,
  streams: number,
  toleranceMs: number,
  given: readonly Coming[],
  cuts: readonly number[],
): unknown {
  const names = ['a', 'b'].slice(0, streams);
  const rule = openRule(
    names.map((name) => `CREATE STREAM ${name} (id BIGINT, ts BIGINT) WITH (TIMESTAMP="ts")`),
    sql,
    { options: { isEventTime: true, lateToleranceMs: toleranceMs, maxFutureSkewMs: 0 } },
  );
  let time = begin;
  const rows = given.map(({ stream, after, behind }, id) => {
    time += after * stepMs;
    return { stream, row: { id, ts: time - behind * stepMs } };
  });
  let cut = 0;
  for (let at = 0; at < rows.length; ) {
    const { stream } = rows[at]!;
    const most = cuts[cut++ % cuts.length]!;
    let end = at;
    while (end < rows.length && end - at < most && rows[end]!.stream === stream) end++;
    const part = rows.slice(at, end).map(({ row }) => row);
    rule.feed(names[stream]!, part, begin);
    at = end;
  }
  const sent = rule.taken();
  rule.close();
  return sent;
}

const cutsOf = (most: number) => fc.array(fc.integer({ min: 1, max: most }), { minLength: 1, maxLength: 20 });

for (const window of windows) {
  test(`${window} of one stream: however its rows are cut`, () => {
    let sent = 0;
    fc.assert(
      fc.property(
        fc.constantFrom(...wholes),
        fc.constantFrom(0, 100, 200, 300),
        coming(1, 60),
        cutsOf(30),
        (select, toleranceMs, given, cuts) => {
          const sql = `SELECT ${select} FROM a GROUP BY ${window}`;
          const expected = run(sql, 1, toleranceMs, given, [1]);
          sent += (expected as unknown[]).length;
          assert.equal(run(sql, 1, toleranceMs, given, cuts), expected);
        },
      ),
      { numRuns },
    );
    assert.ok(sent > numRuns);
  });
}

test('sliding windows of two streams that are joined: however their rows are cut', () => {
  let sent = 0;
  fc.assert(
    fc.property(fc.constantFrom(0, 100, 300), coming(2, 60), cutsOf(30), (toleranceMs, given, cuts) => {
      const sql = 'SELECT a.id AS a, b.id AS b FROM a FULL JOIN b ON a.ts = b.ts GROUP BY SLIDINGWINDOW(ms, 300)';
      const expected = run(sql, 2, toleranceMs, given, [1]);
      sent += (expected as unknown[]).length;
      assert.equal(run(sql, 2, toleranceMs, given, cuts), expected);
    }),
    { numRuns },
  );
  assert.ok(sent > numRuns);
});

test(
  'sliding windows: of thousands of rows that are released at once those of the same time are in the windows of ' +
    'all of them',
  () => {
    const size = 7000;
    const isLast = (i: number) => i === size - 1;
    const given = Array.from({ length: size }, (_, i) => ({
      stream: 0,
      after: isLast(i) ? 10_000 : Number(i % 3 === 0),
      behind: isLast(i) ? 0 : (i * 7) % 4,
    }));
    for (const where of ['', 'WHERE id % 5 <> 0 ']) {
      const sql = `SELECT count(*) AS n, window_end() AS until FROM a ${where}GROUP BY SLIDINGWINDOW(ms, 500)`;
      // All wait for the last.
      const sent = (run(sql, 1, 300_000, given, [1500, 300]) as { n: number; until: number }[][]).flat();
      assert.ok(sent.length > 5000);
      const counts = new Map<number, number>();
      for (const { n, until } of sent) {
        assert.is(counts.get(until) ?? n, n, `at ${until}`);
        counts.set(until, n);
      }
    }
  },
);

test.run();
