/** Random statements over streams and tables, and rows that arrive for them in pieces: what state is tested with. */
import fc from 'fast-check';
import type { RuleWishes } from '../engine/rule-kernel.js';

export interface Arrival {
  name: string;
  /** Bytes as they come: rows as lines, the last of which may end in a later arrival. */
  bytes: Buffer;
  /** Milliseconds since the arrival before. */
  waitMs: number;
  /** The state goes to another kernel afterwards. */
  moves: boolean;
}

export interface StateCase {
  statements: string[];
  sql: string;
  wishes: RuleWishes;
  arrivals: Arrival[];
  /** The state goes to another kernel before the timers that are left run. */
  movesAtLast: boolean;
  /** Bytes that the other kernel gets at once. */
  portion: number;
}

const begin = 1_700_000_000_000;

/** Calls of all aggregates; a test looks whether one is missing. */
export const aggregates = [
  'count(*)',
  'count(a)',
  'sum(a)',
  'sum(b)',
  'avg(a)',
  'avg(n)',
  'min(a)',
  'max(b)',
  'min(b)',
  'last_value(b, true)',
  'last_value(o, false)',
  'collect(a)',
  'collect(*)',
  'merge_agg(o)',
  'deduplicate(b, true)',
  'deduplicate(a, false)',
  'median(a)',
  'stddev(n)',
  'stddevs(a)',
  'var(n)',
  'vars(a)',
  'percentile_cont(a, 0.5)',
  'percentile_disc(n, 0.9)',
  'percentile_approx(a, 0.5)',
  'sum(a) FILTER (WHERE n > 2)',
  'collect(b) FILTER (WHERE a > 0)',
  'max(upper(b))',
];

export const windows = fc.oneof(
  fc.integer({ min: 1, max: 12 }).map((n) => `TUMBLINGWINDOW(ss, ${n})`),
  fc
    .record({ hop: fc.integer({ min: 1, max: 4 }), hops: fc.constantFrom(1, 1.5, 2, 3, 5) })
    .map(({ hop, hops }) => `HOPPINGWINDOW(ms, ${hop * hops * 1000}, ${hop * 1000})`),
  fc.integer({ min: 1, max: 8 }).map((n) => `SLIDINGWINDOW(ss, ${n})`),
  fc.integer({ min: 1, max: 8 }).map((n) => `SLIDINGWINDOW(ss, ${n}) OVER (WHEN a > 1)`),
  fc
    .record({ n: fc.integer({ min: 1, max: 8 }), delay: fc.integer({ min: 1, max: 4 }) })
    .map(({ n, delay }) => `SLIDINGWINDOW(ss, ${n}, ${delay})`),
  fc
    .record({ most: fc.integer({ min: 3, max: 15 }), timeout: fc.integer({ min: 1, max: 3 }) })
    .map(({ most, timeout }) => `SESSIONWINDOW(ss, ${most}, ${timeout})`),
  fc.integer({ min: 1, max: 9 }).map((n) => `COUNTWINDOW(${n})`),
  fc
    .record({ n: fc.integer({ min: 2, max: 9 }), step: fc.integer({ min: 1, max: 9 }) })
    .map(({ n, step }) => `COUNTWINDOW(${n}, ${Math.min(n, step)})`),
  fc.constantFrom(
    'STATEWINDOW(a > 2, a < 0)',
    'STATEWINDOW(n = 1)',
    'STATEWINDOW(a > 1, n > 3) OVER (PARTITION BY b)',
    'STATEWINDOW(n = 2) OVER (PARTITION BY k, b)',
    'SESSIONWINDOW(ss, 6, 2) OVER (PARTITION BY b)',
    'SESSIONWINDOW(ss, 3, 4) OVER (PARTITION BY k, n)',
    'SLIDINGWINDOW(ss, 5) OVER (PARTITION BY k)',
    'SLIDINGWINDOW(ss, 3) OVER (PARTITION BY b WHEN a > 1)',
    'SLIDINGWINDOW(ss, 2, 3) OVER (PARTITION BY k)',
    'COUNTWINDOW(3) OVER (PARTITION BY b)',
    'COUNTWINDOW(4, 1) OVER (PARTITION BY k, b)',
  ),
);

/** Of many rows, or many of which a row is in. */
export const longWindows = fc.constantFrom(
  'SLIDINGWINDOW(mi, 20)',
  'SLIDINGWINDOW(mi, 20) OVER (WHEN a > 5)',
  'SLIDINGWINDOW(mi, 20, 1)',
  'HOPPINGWINDOW(ss, 600, 20)',
  'HOPPINGWINDOW(ss, 610, 20)',
  'COUNTWINDOW(90, 1)',
  'COUNTWINDOW(90, 7)',
  'SLIDINGWINDOW(mi, 20) OVER (PARTITION BY k)',
  'SLIDINGWINDOW(mi, 20, 1) OVER (PARTITION BY k WHEN a > 5)',
  'COUNTWINDOW(60, 1) OVER (PARTITION BY k)',
);

const text = fc.constantFrom('', 'a', 'bb', 'é', 'a text that is longer than sixteen bytes', 'x'.repeat(300));
const row = fc.record(
  {
    a: fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: -3, max: 9 }) as fc.Arbitrary<unknown> },
      { weight: 3, arbitrary: fc.double({ min: -10, max: 10, noNaN: true }) as fc.Arbitrary<unknown> },
      { weight: 1, arbitrary: fc.constantFrom<unknown>(null, 0.1, 1e300) },
    ),
    n: fc.integer({ min: 0, max: 5 }),
    b: fc.oneof(
      { weight: 12, arbitrary: text },
      { weight: 1, arbitrary: fc.constantFrom<unknown>(null, 5, true, ['z']) },
    ),
    k: fc.constantFrom(1, 2),
    o: fc.constantFrom<unknown>({ x: 1 }, { x: 'text', y: [1, { z: null }] }, {}, null),
  },
  { requiredKeys: ['k'] },
);

const seldom = fc.integer({ min: 0, max: 6 }).map((n) => n === 6);

interface Piece {
  name: string;
  rows: { row: object; ageMs: number }[];
  waitMs: number;
  cut: number;
  moves: [boolean, boolean];
}

function pieces(names: readonly string[], mostRows: number): fc.Arbitrary<Piece[]> {
  return fc.array(
    fc.record({
      name: fc.constantFrom(...names),
      rows: fc.array(
        fc.record({
          row,
          // Behind the newest: within the tolerance or too late; before it: time goes on.
          ageMs: fc.oneof(fc.constant(0), fc.integer({ min: -3000, max: 2000 }), fc.constantFrom(-20_000, 60_000)),
        }),
        { maxLength: mostRows, size: 'max' },
      ),
      waitMs: fc.constantFrom(0, 1, 500, 1000, 2500, 7000),
      cut: fc.integer({ min: 0, max: 100 }),
      moves: fc.tuple(seldom, seldom),
    }),
    { minLength: 1, maxLength: 14, size: 'max' },
  );
}

/** Bytes of the pieces: each in two arrivals, cut anywhere. */
function arrivalsOf(given: readonly Piece[]): Arrival[] {
  let now = begin;
  let newest = begin;
  return given.flatMap(({ name, rows, waitMs, cut, moves }) => {
    now += waitMs;
    newest = Math.max(newest, now);
    const lines = rows.map(({ row, ageMs }) => {
      newest = Math.max(newest, newest - ageMs);
      return `${JSON.stringify({ ...row, ts: newest - Math.max(ageMs, 0) })}\n`;
    });
    const bytes = Buffer.from(lines.join(''));
    const at = Math.floor((bytes.length * cut) / 100);
    return [
      { name, bytes: bytes.subarray(0, at), waitMs, moves: moves[0] },
      { name, bytes: bytes.subarray(at), waitMs: 0, moves: moves[1] },
    ];
  });
}

export const tail = fc.record({
  where: fc.constantFrom('', '', 'WHERE a > 0', 'WHERE b != "bb"', 'WHERE a / n > 0'),
  having: fc.constantFrom('', '', 'HAVING count(*) > 1'),
  order: fc.constantFrom('', 'ORDER BY a', 'ORDER BY a DESC, b'),
  limit: fc.constantFrom('', '', 'LIMIT 2'),
});

const grouped = fc
  .record({
    list: fc.uniqueArray(fc.constantFrom(...aggregates), { minLength: 1, maxLength: 5 }),
    keys: fc.constantFrom([], ['b'], ['k'], ['b', 'k'], ['a']),
    window: windows,
    tail,
  })
  .map(({ list, keys, window, tail: { where, having, limit } }) => {
    const columns = [
      ...keys,
      ...list.map((aggregate, i) => named(aggregate, i)),
      'window_start() AS ws',
      'window_end() AS we',
    ];
    return {
      names: ['s'],
      sql: `SELECT ${columns.join(', ')} FROM s ${where} GROUP BY ${[...keys, window].join(', ')} ${having} ${limit}`,
    };
  });

/** Aggregates whose states can be joined, in windows in which that saves work. */
const longGrouped = fc
  .record({
    list: fc.uniqueArray(
      fc.constantFrom(
        ...['count(*)', 'sum(a)', 'avg(n)', 'min(a)', 'max(b)', 'last_value(b, true)', 'percentile_approx(a, 0.5)'],
        ...['avg(a) FILTER (WHERE n > 2)', 'max(upper(b)) FILTER (WHERE a > 0)', 'last_value(o, false)', 'stddev(n)'],
      ),
      { minLength: 1, maxLength: 4 },
    ),
    keys: fc.constantFrom([], ['b'], ['k'], ['b', 'k']),
    window: longWindows,
    tail,
  })
  .map(({ list, keys, window, tail: { where, having } }) => ({
    names: ['s'],
    sql:
      `SELECT ${[...keys, 'n', ...list.map(named), 'window_start() AS ws'].join(', ')} ` +
      `FROM s ${where} GROUP BY ${[...keys, window].join(', ')} ${having}`,
    mostRows: 60,
  }));

function named(aggregate: string, i: number): string {
  const [call, filter] = aggregate.split(' FILTER ');
  return filter === undefined ? `${call} AS x${i}` : `${call} FILTER ${filter} AS x${i}`;
}

const plainRows = fc
  .record({ what: fc.constantFrom('*', 'a, b, o', 'upper(b) AS u, a + 1 AS p'), window: windows, tail })
  .map(({ what, window, tail: { where, order, limit } }) => ({
    names: ['s'],
    sql: `SELECT ${what} FROM s ${where} GROUP BY ${window} ${order} ${limit}`,
  }));

const unwindowed = fc
  .record({ what: fc.constantFrom('*', 'a, b', 'a + n AS x, o->y AS y'), tail })
  .map(({ what, tail: { where } }) => ({ names: ['s'], sql: `SELECT ${what} FROM s ${where}` }));

/** Calls of functions that look back. */
const lookingBack = [
  'lag(a)',
  'lag(a / n)',
  'acc_sum(a / n) OVER (PARTITION BY k)',
  'latest(b, "none") OVER (PARTITION BY a / n)',
  'lag(b, 2, "none", false) OVER (PARTITION BY k)',
  'lag(o, 3) OVER (WHEN n > 1)',
  'latest(b, "none") OVER (PARTITION BY n)',
  'latest(o)',
  'had_changed(true, a, b)',
  'changed_col(false, o) OVER (PARTITION BY b)',
  'acc_sum(n)',
  'acc_avg(n, n > 3, n = 0) OVER (PARTITION BY b, k)',
  'acc_max_by(b, n)',
  'acc_collect(b) OVER (PARTITION BY k)',
  'acc_distinct_collect(b) OVER (PARTITION BY k)',
  'acc_map_agg(b, o)',
  'inc_collect(b) OVER (PARTITION BY k)',
  'inc_collect(o)',
  'inc_merge_agg(o)',
  'lag(lag(b)) OVER (WHEN had_changed(true, k))',
];

const looksBack = fc
  .record({
    list: fc.uniqueArray(fc.constantFrom(...lookingBack), { minLength: 1, maxLength: 4 }),
    window: fc.option(windows),
    tail,
  })
  .map(({ list, window, tail: { where, order, limit } }) => {
    const columns = [
      ...list.map((call, i) => `${call} AS x${i}`),
      'row_number() AS r',
      'changed_cols("c_", true, b, o)',
      'changed_cols("all_", false, *)',
      'changed_cols("d_", false, a / n)',
    ];
    const grouping = window === null ? '' : `GROUP BY ${window}`;
    return { names: ['s'], sql: `SELECT ${columns.join(', ')} FROM s ${where} ${grouping} ${order} ${limit}` };
  });

const looksBackAtGroups = fc
  .record({ keys: fc.constantFrom([], ['b'], ['b', 'k']), window: windows, tail })
  .map(({ keys, window, tail: { where, having } }) => ({
    names: ['s'],
    sql:
      'SELECT lag(count(*)) AS x, acc_sum(count(a) / count(n)) AS v, latest(collect(b)) OVER (PARTITION BY ' +
      'window_end() % 5) AS y, acc_sum(count(a)) AS z ' +
      `FROM s ${where} GROUP BY ${[...keys, window].join(', ')} ${having}`,
  }));

const types = fc.constantFrom('INNER', 'LEFT', 'RIGHT', 'FULL');
const joined = fc
  .record({ type: types, window: windows, isGrouped: fc.boolean(), tail })
  .map(({ type, window, isGrouped, tail: { limit } }) => ({
    names: ['s', 'r'],
    sql: isGrouped
      ? `SELECT s.b AS b, count(*) AS c, sum(r.a) AS x FROM s ${type} JOIN r ON s.b = r.b GROUP BY s.b, ` +
        `${plain(window)}`
      : `SELECT s.a AS sa, r.a AS ra, s.b AS b FROM s ${type} JOIN r ON s.k = r.k AND s.n > r.n GROUP BY ` +
        `${plain(window)} ${limit}`,
  }));

/** Without conditions, whose columns would need the name of a stream. */
function plain(window: string): string {
  if (window.startsWith('STATE')) return 'STATEWINDOW(s.a > 2, r.a < 0)';
  return window.replace(/ OVER .*/, '');
}

const tabled = fc
  .record({ type: fc.constantFrom('INNER', 'LEFT'), window: fc.option(windows), more: fc.boolean() })
  .map(({ type, window, more }) => ({
    names: more ? ['s', 't', 'u'] : ['s', 't'],
    sql:
      `SELECT s.a AS a, t.o AS o, t.b AS b${more ? ', u.a AS ua' : ''} FROM s ${type} JOIN t ON s.k = t.k ` +
      `${more ? `${type} JOIN u ON t.b = u.b AND u.n > s.n` : ''} ` +
      `${window === null ? '' : `GROUP BY ${plain(window)}`}`,
  }));

/** Tables from `v` on are lookup tables. */
const looked = fc
  .record({
    type: fc.constantFrom('INNER', 'LEFT'),
    window: fc.option(windows),
    key: fc.constantFrom('k', 'n', 'b'),
    and: fc.constantFrom('', 'AND v.n > s.n', 'AND v.n = s.n'),
    more: fc.boolean(),
  })
  .map(({ type, window, key, and, more }) => ({
    names: more ? ['s', 'v', 'w'] : ['s', 'v'],
    sql:
      `SELECT s.a AS a, v.o AS o, v.b AS b${more ? ', w.a AS wa' : ''} FROM s ${type} JOIN v ON s.${key} = ` +
      `v.${key} ${and} ` +
      `${more ? `${type} JOIN w ON v.b = w.b` : ''} ${window === null ? '' : `GROUP BY ${plain(window)}`}`,
  }));

/** Windows whose results have the columns that the conditions of windows name. */
const inner = windows.map(
  (window) =>
    'SELECT k, b, x AS n, y AS a FROM ' +
    `(SELECT k, b, count(*) AS x, max(a) AS y FROM s GROUP BY k, b, ${window}) AS w`,
);
const union = 'SELECT k, b, n, a FROM s UNION ALL SELECT k, b, n + 1 AS n, a FROM r WHERE n > 1';

const derived = fc
  .record({ from: fc.oneof(inner, fc.constant(union)), window: windows, isGrouped: fc.boolean() })
  .map(({ from, window, isGrouped }) => ({
    names: from === union ? ['s', 'r'] : ['s'],
    sql: isGrouped
      ? `SELECT b, sum(n) AS x0, count(*) AS x1, last_value(a, true) AS x2 FROM (${from}) AS d GROUP BY b, ${window}`
      : `SELECT k, b, n, a FROM (${from}) AS d GROUP BY ${window}`,
  }));

const derivedJoins = fc
  .record({ from: fc.oneof(inner, fc.constant(union)), type: types, window: windows, isAsof: fc.boolean() })
  .map(({ from, type, window, isAsof }) => {
    const columns = 'SELECT d.b AS b, d.n AS n, q.a AS a, q.k AS k';
    const joined = `FROM (${from}) AS d ${isAsof ? 'ASOF LEFT' : type} JOIN s AS q ON d.k = q.k`;
    const grouping = isAsof ? '' : `GROUP BY ${plain(window).replace('s.a', 'd.a').replace('r.a', 'q.a')}`;
    return { names: from === union ? ['s', 'r'] : ['s'], sql: `${columns} ${joined} ${grouping}` };
  });

const within = fc
  .record({
    type: types,
    before: fc.integer({ min: -500, max: 4000 }),
    after: fc.integer({ min: 500, max: 4000 }),
    and: fc.constantFrom('', 'AND r.n > 2'),
    isDerived: fc.boolean(),
  })
  .map(({ type, before, after, and, isDerived }) => ({
    names: ['s', 'r'],
    isTimed: true,
    sql: isDerived
      ? 'SELECT d.n AS n, r.b AS b FROM (SELECT k, count(*) AS n, window_end() AS e FROM s GROUP BY k, ' +
        'TUMBLINGWINDOW(ss, 2)) AS d ' +
        `${type} JOIN r ON d.k = r.k AND r.ts BETWEEN d.e - ${before} AND d.e + ${after} ${and}`
      : 'SELECT s.a AS sa, s.b AS sb, r.a AS ra, r.o AS o, event_time() AS t FROM s ' +
        `${type} JOIN r ON s.k = r.k AND r.ts BETWEEN s.ts - ${before} AND s.ts + ${after} ${and}`,
  }));

const matched = fc
  .record({
    rows: fc.constantFrom('ONE ROW', 'ALL ROWS'),
    skip: fc.constantFrom('PAST LAST ROW', 'TO NEXT ROW'),
    pattern: fc.constantFrom('A B+', 'A B*? C', '(A | B C)+ D?', 'PERMUTE(A, B, C)', 'A {- B* -} C', 'A NOT B WITHIN'),
    within: fc.constantFrom('', "WITHIN INTERVAL '3' SECOND"),
    b: fc.constantFrom('a > PREV(a)', 'n < LAST(A.n)', 'a < 4 AND b != FIRST(A.b)', 'count(B.a) < 3'),
  })
  .map(({ rows, skip, pattern, within, b }) => {
    const whole = pattern.endsWith('WITHIN') ? `${pattern} INTERVAL '2' SECOND` : pattern;
    const used = new Set(pattern.match(/\b[ABCD]\b/g) ?? []);
    const defines = Object.entries({ B: b, C: 'C.n <= 2', D: 'b IS NULL OR n > 3' });
    const defined = defines.filter(([name]) => used.has(name)).map(([name, condition]) => `${name} AS ${condition}`);
    return {
      names: ['s'],
      sql:
        'SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k MEASURES FIRST(A.b) AS f, LAST(B.o) AS l, count(*) AS c, ' +
        `collect(B.b) AS bs, MATCH_NUMBER() AS m, CLASSIFIER() AS v ${rows} PER MATCH AFTER MATCH SKIP ${skip} ` +
        `PATTERN (${whole}) ${within} DEFINE ${defined.join(', ')}) AS p`,
    };
  });

interface Statement {
  names: string[];
  sql: string;
  mostRows?: number;
  isTimed?: boolean;
}

const statements: fc.Arbitrary<Statement> = fc.oneof(
  { weight: 3, arbitrary: longGrouped },
  { weight: 6, arbitrary: grouped },
  { weight: 4, arbitrary: plainRows },
  { weight: 1, arbitrary: unwindowed },
  { weight: 4, arbitrary: looksBack },
  { weight: 2, arbitrary: looksBackAtGroups },
  { weight: 3, arbitrary: joined },
  { weight: 3, arbitrary: tabled },
  { weight: 3, arbitrary: looked },
  { weight: 3, arbitrary: derived },
  { weight: 3, arbitrary: derivedJoins },
  { weight: 3, arbitrary: within },
  { weight: 3, arbitrary: matched },
);

const props = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Record<string, unknown>>(
      { sendSingle: true },
      { batchSize: 3 },
      { lingerInterval: 1500 },
      { batchSize: 7, lingerInterval: 4000 },
    ),
  },
);

/** Cases of statements over streams, named before `t`, and tables. */
export function casesOf(statement: fc.Arbitrary<Statement>): fc.Arbitrary<StateCase> {
  return fc
    .record({
      statement,
      isEventTime: fc.boolean(),
      late: fc.constantFrom(0, 1000, 3000),
      retain: fc.constantFrom(2, 50),
    })
    .chain(({ statement: { names, sql, mostRows = 8, isTimed = false }, isEventTime, late, retain }) =>
      fc.record({
        statements: fc.constant(
          names.map((name) =>
            name < 't'
              ? `CREATE STREAM ${name} () WITH (DATASOURCE="${name}", TYPE="memory", TIMESTAMP="ts")`
              : name < 'v'
                ? `CREATE TABLE ${name} () WITH (DATASOURCE="${name}", TYPE="memory", RETAIN_SIZE="${retain}")`
                : `CREATE TABLE ${name} () WITH (DATASOURCE="${name}", TYPE="memory", KIND="lookup", KEY="n")`,
          ),
        ),
        sql: fc.constant(sql),
        wishes: props.map((given) => ({
          // Windows of counts know no event time.
          options: {
            isEventTime: isTimed || (isEventTime && !sql.includes('COUNTWINDOW')),
            lateToleranceMs: late,
            maxFutureSkewMs: 0,
          },
          props: given,
        })),
        arrivals: pieces(names, mostRows).map(arrivalsOf),
        movesAtLast: fc.boolean(),
        portion: fc.constantFrom(1, 100, 100_000),
      }),
    );
}

export const stateCases = casesOf(statements);

/** Those whose windows have many rows and groups that are joined. */
export const longCases = casesOf(longGrouped);

export const beginOfCases = begin;
