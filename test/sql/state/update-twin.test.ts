/**
 * Statements that are changed while rows flow: whatever columns come and go around them, functions, aggregates and rows
 * that both statements have go on as if nothing had been, to the byte. `HAUMEA_STATE_RUNS` sets how many cases are
 * tried.
 */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { callHost } from '../../../host/functions/registry.js';
import type { Kernel } from '../../../kernels/api.js';
import { createKernel } from '../../../kernels/index.js';
import { openLoadedSnapshot } from '../../../kernels/state/snapshot.js';
import { type KernelRule, openRule, readerOf } from '../../support/engine/rule-kernel.js';
import { kernelUnderTest } from '../../support/kernel/drive.js';
import { checkOf, headCheckOf, slicesOf } from '../../support/kernel/slices.js';
import { beginOfCases, casesOf, longWindows, type StateCase, windows } from '../../support/sql/state-cases.js';

const numRuns = Number(process.env.HAUMEA_STATE_RUNS ?? 150);
const afterwards = [1000, 4000, 20_000, 60_000];

/** What statements select, and the rest of them. */
interface Family {
  readonly calls: readonly string[];
  /** Around the columns. */
  readonly rest: fc.Arbitrary<string>;
  readonly names?: readonly string[];
  readonly mostRows?: number;
  readonly isTimed?: boolean;
}

const where = fc.constantFrom('', 'WHERE n > 0', 'WHERE k = 1');

/** None of these fails: a row in which a new function fails is missing in those behind it. */
const lookingBack = [
  'lag(a)',
  'lag(b, 2, "none", false) OVER (PARTITION BY k)',
  'lag(o, 3) OVER (WHEN n > 1)',
  'latest(b, "none") OVER (PARTITION BY n)',
  'had_changed(true, a, b)',
  'changed_col(false, o) OVER (PARTITION BY b)',
  'acc_sum(n)',
  'acc_sum(n) OVER (PARTITION BY k)',
  'acc_count(b) OVER (PARTITION BY k)',
  'acc_max_by(b, n)',
  'acc_collect(b) OVER (PARTITION BY k)',
  'acc_distinct_collect(b) OVER (PARTITION BY k)',
  'inc_collect(b) OVER (PARTITION BY k)',
  'lag(acc_sum(n))',
  'lag(lag(b)) OVER (WHEN had_changed(true, k))',
  'upper(cast(k, "string"))',
  'n',
  'o',
];

/** Sums of whole numbers are the same in whatever order they are made. */
const mergeable = [
  'count(a)',
  'sum(n)',
  'avg(n)',
  'min(n)',
  'max(k)',
  'last_value(b, true)',
  'last_value(o, false)',
  'percentile_approx(n, 0.5)',
  'sum(n) FILTER (WHERE k > 1)',
  'b',
  'o',
  'acc_sum(count(*))',
  'lag(max(n))',
];
const aggregates = [
  ...mergeable,
  'collect(a)',
  'collect(*)',
  'deduplicate(b, true)',
  'median(n)',
  'collect(b) FILTER (WHERE n > 0)',
];
const isHopping = (window: string) => window.startsWith('HOPPING');
const keys = fc.constantFrom('', 'k, ', 'b, ', 'b, k, ');
const grouping = (window: fc.Arbitrary<string>) =>
  fc.tuple(where, keys, window).map(([filter, by, shown]) => `FROM s ${filter} GROUP BY ${by}${shown}`);

const families: readonly Family[] = [
  { calls: lookingBack, rest: where.map((filter) => `FROM s ${filter}`) },
  {
    calls: lookingBack,
    rest: fc.tuple(where, windows).map(([filter, window]) => `FROM s ${filter} GROUP BY ${window}`),
  },
  { calls: aggregates, rest: grouping(windows.filter((window) => !isHopping(window))) },
  { calls: mergeable, rest: grouping(windows) },
  { calls: mergeable, rest: grouping(longWindows), mostRows: 60 },
  {
    calls: ['a', 'b', 'o', 'n', 'upper(cast(k, "string"))'],
    rest: windows.map((window) => `FROM s GROUP BY ${window}`),
  },
  {
    calls: ['s.a', 's.b', 'r.a', 'r.o', 'r.n'],
    rest: fc
      .constantFrom('INNER', 'LEFT', 'FULL')
      .map((type) => `FROM s ${type} JOIN r ON s.k = r.k AND r.ts BETWEEN s.ts - 2000 AND s.ts + 3000`),
    names: ['s', 'r'],
    isTimed: true,
  },
  {
    calls: ['s.a', 's.b', 'r.a', 'r.o', 'r.n', 'acc_sum(r.n)'],
    rest: fc.constantFrom('ASOF', 'ASOF LEFT').map((type) => `FROM s ${type} JOIN r ON s.k = r.k`),
    names: ['s', 'r'],
  },
  {
    calls: ['s.a', 's.b', 't.b', 't.o', 't.n'],
    rest: fc.constantFrom('INNER', 'LEFT').map((type) => `FROM s ${type} JOIN t ON s.k = t.k`),
    names: ['s', 't'],
  },
  {
    calls: ['n', 'b', 'o', 'last_hit_count()', 'acc_sum(n)', 'lag(k)'],
    rest: fc.constantFrom('FROM s WHERE n > 0 AND last_hit_count() < 9', 'FROM s WHERE n > 0'),
  },
  {
    calls: ['n', 'b', 'o', 'count(*)'],
    rest: windows.map((window) => `FROM s GROUP BY k, ${window} HAVING count(*) > 1 AND last_agg_hit_count() < 5`),
  },
  {
    calls: ['n', 'b', 'o', 'dedup_trigger(ts - 500, ts, ts, 60000)'],
    rest: fc.constant('FROM s'),
  },
  { calls: ['n', 'b', 'o', 'k'], rest: fc.constantFrom('FROM s WHERE isnull(delay(n * 300, a)) = false') },
  {
    calls: ['acc_sum(m)', 'lag(b)', 'm', 'b', 'c'],
    rest: windows
      .filter((window) => !window.startsWith('STATE') && !window.includes('WHEN'))
      .map((window) => `FROM (SELECT k, b, count(*) AS m, max(a) AS c FROM s GROUP BY k, b, ${window}) AS d`),
  },
];

interface Update {
  readonly given: StateCase;
  readonly after: string;
  /** Names of the columns that both statements have. */
  readonly common: readonly string[];
  /** So many arrivals come before the update. */
  readonly at: number;
  readonly isApart: boolean;
}

const updates: fc.Arbitrary<Update> = fc
  .constantFrom(...families)
  .chain(({ calls, rest, names = ['s'], mostRows, isTimed }) => {
    const columns = fc.shuffledSubarray([...calls.keys()], { minLength: 1, maxLength: Math.min(6, calls.length) });
    return fc.record({ before: columns, after: columns, rest }).chain(({ before, after, rest: end }) => {
      // With an aggregate a window gives a row for each group, without one its rows.
      const all = calls.includes('count(a)') ? 'count(*) AS x, ' : '';
      const sql = (list: readonly number[]) => `SELECT ${all}${list.map((i) => named(calls[i]!, i)).join(', ')} ${end}`;
      const statement = {
        names: [...names],
        sql: sql(before),
        ...(mostRows && { mostRows }),
        ...(isTimed && { isTimed }),
      };
      return fc
        .record({ given: casesOf(fc.constant(statement)), at: fc.nat({ max: 27 }), isApart: fc.boolean() })
        .map(({ given, at, isApart }) => ({
          given: { ...given, wishes: { ...given.wishes, props: {} } },
          after: sql(after),
          common: ['x', ...before.filter((i) => after.includes(i)).map((i) => `x${i}`)],
          at: given.arrivals.length === 0 ? 0 : at % given.arrivals.length,
          isApart,
        }));
    });
  });

function named(call: string, i: number): string {
  const [plain, filter] = call.split(' FILTER ');
  return filter === undefined ? `${call} AS x${i}` : `${plain} FILTER ${filter} AS x${i}`;
}

let output: string[] = [];
let chains = 0;
const kernelNew = (): Kernel =>
  createKernel(
    {
      onOutput: ({ bytes }) => output.push(...Buffer.from(bytes).toString().trimEnd().split('\n')),
      onPacket: () => {},
      onAcknowledge: () => {},
      call: callHost,
    },
    kernelUnderTest,
  );
let used = 0;
let shared = kernelNew();
/** A new kernel takes more time than a case. */
const kernel = (): Kernel => {
  if (++used % 200 === 0) shared = kernelNew();
  return shared;
};

function bytesOf(of: Kernel): number {
  const { inUse, workspace } = of.memory();
  return inUse - workspace;
}

/** The rows that come out, with the columns that both statements have alone. */
function run({ given, after, common, at, isApart }: Update, updates: boolean): string[] {
  output = [];
  const { statements, sql, wishes, arrivals, portion } = given;
  const place = kernel();
  const empty = bytesOf(place);
  const open = (text: string): KernelRule => openRule(statements, text, { ...wishes, kernel: place });
  let rule = open(sql);
  let now = beginOfCases;
  arrivals.forEach(({ name, bytes, waitMs }, i) => {
    now += waitMs;
    rule.kernel.tick(now);
    rule.feed(name, bytes, now);
    if (!updates || i !== at) return;
    const next = isApart ? apart(rule, () => open(after), portion) : whole(rule, () => open(after), portion);
    rule = next;
  });
  for (const waitMs of afterwards) {
    now += waitMs;
    rule.kernel.tick(now);
  }
  for (const name of new Set(arrivals.map((arrival) => arrival.name))) rule.end(name);
  rule.close();
  assert.is(bytesOf(place), empty);
  return output.map((message) => picked(message, common));
}

function whole(rule: KernelRule, open: () => KernelRule, portion: number): KernelRule {
  const state = rule.save();
  rule.close();
  const next = open();
  assert.equal(
    next.load(state, portion).failed.filter(({ reason }) => reason !== 'nothing' && reason !== 'other'),
    [],
  );
  return next;
}

/** As a checkpoint does it that has left rows and groups to a snapshot. */
function apart(rule: KernelRule, open: () => KernelRule, portion: number): KernelRule {
  const { state, snapshot } = rule.snapshot({ chain: ++chains, segment: 0, serial: 0, small: 0 });
  const slices: Buffer[] = [];
  while (snapshot.write(1 << 20, (bytes) => slices.push(Buffer.from(bytes))) === 'more') {}
  const { least, serial, sets } = snapshot;
  snapshot.close();
  const place = rule.kernel;
  rule.close();
  const loadedSnapshot = openLoadedSnapshot(place, { least, count: serial - least, sets });
  const read = readerOf(Buffer.concat(slices), portion);
  while (slices.length > 0 && loadedSnapshot.fill(2, read)) {}
  const next = open();
  const { failed } = next.loadWith(state, loadedSnapshot);
  loadedSnapshot.close();
  assert.equal(
    failed.filter(({ reason }) => reason !== 'nothing' && reason !== 'other'),
    [],
  );
  return next;
}

function picked(message: string, common: readonly string[]): string {
  const pick = (row: Record<string, unknown>) =>
    Object.fromEntries(common.flatMap((name) => (row[name] === undefined ? [] : [[name, row[name]]])));
  const value = JSON.parse(message);
  return JSON.stringify(Array.isArray(value) ? value.map(pick) : pick(value));
}

test('what both statements have goes on, whatever else comes and goes', () => {
  fc.assert(
    fc.property(updates, (update) => {
      assert.equal(run(update, true), run(update, false));
    }),
    { numRuns },
  );
});

const damages = fc.array(fc.record({ place: fc.nat(), change: fc.integer({ min: 1, max: 255 }) }), {
  minLength: 1,
  maxLength: 6,
});

test('wrong content of another statement, whose checks are right, is read without harm', () => {
  fc.assert(
    fc.property(updates, damages, ({ given, after, at }, list) => {
      const { statements, sql, wishes, arrivals, portion } = given;
      const place = kernel();
      const empty = bytesOf(place);
      const before = openRule(statements, sql, { ...wishes, kernel: place });
      let now = beginOfCases;
      for (const { name, bytes, waitMs } of arrivals.slice(0, at + 1)) {
        now += waitMs;
        before.kernel.tick(now);
        before.feed(name, bytes, now);
      }
      const state = Buffer.from(before.save());
      before.close();
      const filled = slicesOf(state).filter(({ payload }) => payload.length > 0);
      for (const { place: where, change } of list) {
        const { payload } = filled[where % filled.length]!;
        const byte = Math.floor(where / filled.length) % payload.length;
        payload[byte] = payload[byte]! ^ change;
      }
      slicesOf(state).forEach((slice, number) => {
        slice.bytes.writeUInt16LE(headCheckOf(slice.bytes, number), 6);
        slice.bytes.writeBigUInt64LE(checkOf(slice.payload, number), 8);
      });
      const next = openRule(statements, after, { ...wishes, kernel: place });
      next.load(state, portion);
      next.close();
      assert.is(bytesOf(place), empty);
    }),
    { numRuns },
  );
});

test.run();
