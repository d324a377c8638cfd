import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { AggregatePlan } from '../../../kernels/nodes/window.js';
import { col, type NodePlan, type WindowPlan } from '../../../kernels/plan/ir.js';
import { type Value, ValueError } from '../../../kernels/values/value.js';
import {
  naiveEventTime,
  naiveWindows,
  partOf,
  type Row,
  releasesOf,
  type Sent,
} from '../../support/kernel/naive-windows.js';
import { type Message, WindowKernel } from '../../support/kernel/window-kernel.js';

type WindowNode = Extract<NodePlan, { kind: 'window' }>;

const kernel = new WindowKernel(10);
const columns = 7;
const timeColumn = col(columns);
const toValues = (row: Row): Value[] => [row.k, row.v, row.id, row.isIn, row.starts, row.ends, row.ts];

const aggs: AggregatePlan[] = [
  { fn: 'countAll', args: [] },
  { fn: 'sum', args: [col(1)] },
  { fn: 'min', args: [col(1)] },
  { fn: 'lastValue', args: [col(2)] },
];
/** Keeps all values of a window, which takes other ways than aggregates of fixed size. */
const collecting: AggregatePlan[] = [...aggs.slice(0, 3), { fn: 'collect', args: [col(2)] }];

type RowPart = Omit<Row, 'ts' | 'id'> & { step: number };

function inTime(parts: RowPart[]): Row[] {
  let ts = 61_000;
  return parts.map(({ step, ...rest }, id): Row => {
    ts = Math.max(1, ts + step);
    return { ...rest, id, ts };
  });
}

const rowsArbitrary = fc
  .array(
    fc.record({
      step: fc.oneof(
        fc.integer({ min: 0, max: 900 }),
        fc.integer({ min: 0, max: 7000 }),
        fc.integer({ min: -3000, max: 0 }),
      ),
      k: fc.constantFrom<Row['k']>('a', 'b', 'a long key of more than 16 bytes', 1, '1', null),
      v: fc.option(fc.integer({ min: -5, max: 20 }), { nil: null }),
      isIn: fc.boolean(),
      starts: fc.boolean(),
      ends: fc.boolean(),
    }),
    { maxLength: 60, size: 'max' },
  )
  .map(inTime);

/** So many rows that windows hold hundreds of them, with pauses in which all leave. */
const manyRows = fc
  .array(
    fc.record({
      step: fc.oneof(
        { weight: 60, arbitrary: fc.integer({ min: 0, max: 200 }) },
        { weight: 4, arbitrary: fc.integer({ min: -1500, max: 3000 }) },
        { weight: 1, arbitrary: fc.constantFrom(15_000, 40_000) },
      ),
      k: fc.oneof(
        {
          weight: 3,
          arbitrary: fc.constantFrom<Row['k']>('a', 'b', '', 'a long key of more than 16 bytes', 1, '1', null),
        },
        { weight: 1, arbitrary: fc.integer({ min: 0, max: 40 }).map((n): Row['k'] => `key ${n}`) },
      ),
      v: fc.option(fc.integer({ min: -5, max: 20 }), { nil: null }),
      isIn: fc.integer({ min: 0, max: 5 }).map((n) => n > 0),
      starts: fc.integer({ min: 0, max: 40 }).map((n) => n < 3),
      ends: fc.boolean(),
    }),
    { minLength: 80, maxLength: 300, size: 'max' },
  )
  .map(inTime);

const timed = fc.constantFrom<WindowPlan>(
  { kind: 'tumbling', unitMs: 1000, lengthMs: 2000 },
  { kind: 'tumbling', unitMs: 1000, lengthMs: 7000 },
  { kind: 'hopping', unitMs: 1000, lengthMs: 6000, hopMs: 2000 },
  { kind: 'hopping', unitMs: 1000, lengthMs: 5000, hopMs: 2000 },
  { kind: 'hopping', unitMs: 1000, lengthMs: 2000, hopMs: 5000 },
  { kind: 'sliding', lengthMs: 3000, delayMs: 0 },
  { kind: 'sliding', lengthMs: 3000, delayMs: 0, trigger: col(4) },
  { kind: 'sliding', lengthMs: 2000, delayMs: 1500, trigger: col(4) },
  { kind: 'session', unitMs: 1000, maxMs: 5000, timeoutMs: 2000 },
  { kind: 'session', unitMs: 1000, maxMs: 2000, timeoutMs: 4000 },
  { kind: 'state', begin: col(4), emit: col(5) },
  { kind: 'state', begin: col(4) },
  { kind: 'state', begin: col(4), emit: col(5), partition: [col(0)] },
  { kind: 'state', begin: col(4), partition: [col(0)] },
  { kind: 'row' },
);
const partition = [col(0)];
const partitioned = fc.constantFrom<WindowPlan>(
  { kind: 'session', unitMs: 1000, maxMs: 5000, timeoutMs: 2000, partition },
  { kind: 'session', unitMs: 1000, maxMs: 2000, timeoutMs: 4000, partition },
  { kind: 'sliding', lengthMs: 3000, delayMs: 0, partition },
  { kind: 'sliding', lengthMs: 3000, delayMs: 0, trigger: col(4), partition },
  { kind: 'sliding', lengthMs: 2000, delayMs: 1500, trigger: col(4), partition },
  { kind: 'sliding', lengthMs: 0, delayMs: 2000, partition },
  { kind: 'count', length: 3, step: 3, partition },
  { kind: 'count', length: 4, step: 2, partition },
);
const counted = fc
  .record({ length: fc.integer({ min: 1, max: 7 }), step: fc.integer({ min: 1, max: 7 }) })
  .map(({ length, step }): WindowPlan => ({ kind: 'count', length, step }));
const windowArbitrary = fc.oneof({ weight: 12, arbitrary: timed }, { weight: 2, arbitrary: counted });

/** In which rows are in many windows, or windows of many rows. */
const longWindows = fc.oneof(
  fc.constantFrom<WindowPlan>(
    { kind: 'hopping', unitMs: 1000, lengthMs: 30_000, hopMs: 1000 },
    { kind: 'hopping', unitMs: 1000, lengthMs: 7000, hopMs: 3000 },
    { kind: 'hopping', unitMs: 1000, lengthMs: 31_000, hopMs: 2000 },
    { kind: 'hopping', unitMs: 1000, lengthMs: 25_000, hopMs: 3000 },
    { kind: 'hopping', unitMs: 1000, lengthMs: 3000, hopMs: 5000 },
    { kind: 'sliding', lengthMs: 10_000, delayMs: 0 },
    { kind: 'sliding', lengthMs: 30_000, delayMs: 0 },
    { kind: 'sliding', lengthMs: 20_000, delayMs: 0, trigger: col(4) },
    { kind: 'sliding', lengthMs: 15_000, delayMs: 2000 },
    { kind: 'sliding', lengthMs: 20_000, delayMs: 7000, trigger: col(4) },
  ),
  fc
    .record({ length: fc.integer({ min: 60, max: 200 }), step: fc.integer({ min: 1, max: 40 }) })
    .map(({ length, step }): WindowPlan => ({ kind: 'count', length, step })),
);

const longPartitioned = fc.constantFrom<WindowPlan>(
  { kind: 'sliding', lengthMs: 30_000, delayMs: 0, partition },
  { kind: 'sliding', lengthMs: 20_000, delayMs: 0, trigger: col(4), partition },
  { kind: 'sliding', lengthMs: 20_000, delayMs: 7000, trigger: col(4), partition },
  { kind: 'session', unitMs: 1000, maxMs: 8000, timeoutMs: 1000, partition },
  { kind: 'count', length: 30, step: 4, partition },
  { kind: 'count', length: 40, step: 1, partition },
);

function cut<T>(items: T[], sizes: number[]): T[][] {
  const parts: T[][] = [];
  let at = 0;
  for (let i = 0; at < items.length; i++) {
    const size = sizes[i % sizes.length] ?? 1;
    parts.push(items.slice(at, at + size));
    at += size;
  }
  return parts;
}

/** What a message of groups looks like. */
function grouped({ rows }: Sent, hasKey: boolean, collects: boolean): Value[][] {
  if (rows.length === 0) return [[undefined, undefined, undefined, undefined, collects ? null : undefined]];
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const name = !hasKey ? '' : row.k === null ? 'null' : `=${row.k}`;
    groups.set(name, [...(groups.get(name) ?? []), row]);
  }
  return [...groups.values()].map((group) => {
    const values = group.map((row) => row.v).filter((v): v is number => v !== null);
    return [
      (group[0] as Row).k,
      BigInt(group.length),
      values.length > 0 ? values.reduce((a, b) => a + b) : null,
      values.length > 0 ? Math.min(...values) : null,
      collects ? group.map((row) => row.id) : (group.at(-1) as Row).id,
    ];
  });
}

const listed = ({ rows }: Sent): Value[][] => rows.map((row) => [row.k, row.id]);

/** What came of each partition, in its order. */
function byPart(messages: readonly (readonly [string | null, unknown])[]): unknown {
  const parts = new Map<string | null, unknown[]>();
  for (const [part, message] of messages) parts.set(part, [...(parts.get(part) ?? []), message]);
  return [...parts].sort(([a], [b]) => String(a).localeCompare(String(b)));
}

function checkAgainstDefinitions(
  anyRows: fc.Arbitrary<Row[]>,
  anyWindow: fc.Arbitrary<WindowPlan>,
  options: { numRuns: number; mostInBatch: number },
): void {
  fc.assert(
    fc.property(
      anyRows,
      anyWindow,
      fc.boolean(),
      fc.boolean(),
      fc.boolean(),
      fc.boolean(),
      fc.boolean(),
      fc.constantFrom(0, 1000, 2500),
      fc.array(fc.integer({ min: 1, max: options.mostInBatch }), { minLength: 1, maxLength: 4 }),
      (rows, window, isGrouped, hasKey, collects, hasWhere, sendEmpty, lateToleranceMs, sizes) => {
        const order: Extract<NodePlan, { kind: 'eventTime' }> = {
          kind: 'eventTime',
          input: { source: 0 },
          timestamp: col(6),
          lateToleranceMs,
          columns,
          name: 'watermark',
        };
        const groups = isGrouped || window.kind === 'row';
        const hasParts = 'partition' in window && window.partition !== undefined && window.kind !== 'state';
        const sendsEmpty = sendEmpty && !hasParts;
        const plan: WindowNode = {
          kind: 'window',
          input: { node: 0 },
          program: null,
          window,
          isEventTime: true,
          timestamp: timeColumn,
          grouped: groups,
          keys: groups && hasKey ? [col(0)] : [],
          keep: groups ? [col(0)] : [col(0), col(2)],
          aggs: groups ? (collects ? collecting : aggs) : [],
          sendEmpty: sendsEmpty,
          name: 'window',
          ...(hasWhere ? { where: col(3) } : {}),
        };
        const top = kernel.add(order, { isLast: false });
        const node = kernel.add(plan, { parent: top });
        kernel.width = groups ? 8 : 5;
        const got: Message[] = [];
        const parts = cut(rows, sizes);
        for (const part of parts) got.push(...kernel.push(top, part.map(toValues), { kind: 'eventTime' }));
        const dropped = Number(kernel.call('eventTimeDropped', top));
        kernel.remove(node);
        kernel.remove(top, 'eventTime');

        const all = hasWhere ? rows : rows.map((row) => ({ ...row, isIn: true }));
        const withTriggers =
          window.kind === 'sliding' && window.trigger === undefined
            ? all.map((row) => ({ ...row, starts: true }))
            : all;
        const naive = naiveEventTime(withTriggers, lateToleranceMs);
        const releases = lateToleranceMs > 0 ? releasesOf(cut(withTriggers, sizes), lateToleranceMs) : undefined;
        const expected = naiveWindows(window, naive.released, naive.watermark, sendsEmpty, releases);
        assert.is(dropped, naive.dropped);
        const width = groups ? 5 : 2;
        const contents = got.map((message) => message.rows.map((row) => row.slice(0, width)));
        const expectedContents = expected.map((one) => (groups ? grouped(one, hasKey, collects) : listed(one)));
        if (hasParts) {
          // Of which partition a message is its first row says; partitions stand in the order of their rows, not of
          // their messages.
          const withTimes = got.map(({ rows: [row] }, i) => [row?.slice(width, width + 2), contents[i]]);
          const isTimed = window.kind !== 'count';
          assert.equal(
            byPart(
              got.map(({ rows: [row] }, i) => [
                partOf({ k: row?.[0] as Row['k'] }),
                isTimed ? withTimes[i] : contents[i],
              ]),
            ),
            byPart(
              expected.map((one, i) => [
                partOf(one.rows[0] as Row),
                isTimed ? [[BigInt(one.start), BigInt(one.end)], expectedContents[i]] : expectedContents[i],
              ]),
            ),
          );
          return;
        }
        assert.equal(contents, expectedContents);
        if (window.kind === 'count') return;
        const times = got.flatMap((message) => message.rows.slice(0, 1).map((row) => row.slice(width, width + 2)));
        const sentTimes = expected
          .filter((one) => groups || one.rows.length > 0)
          .map((one) => [BigInt(one.start), BigInt(one.end)]);
        assert.equal(times, sentTimes);
      },
    ),
    { numRuns: options.numRuns },
  );
}

test('every kind of window sends what its definition says, in event time', () => {
  checkAgainstDefinitions(rowsArbitrary, windowArbitrary, { numRuns: 1500, mostInBatch: 25 });
});

test('each partition has the windows that its rows would have if they were alone', () => {
  checkAgainstDefinitions(rowsArbitrary, partitioned, { numRuns: 1000, mostInBatch: 25 });
});

test('each partition of many rows has the windows that its rows would have if they were alone', () => {
  checkAgainstDefinitions(manyRows, longPartitioned, { numRuns: 60, mostInBatch: 120 });
});

test('windows of many rows and rows in many windows are sent as their definitions say', () => {
  checkAgainstDefinitions(manyRows, longWindows, { numRuns: 60, mostInBatch: 120 });
});

/** A window of groups; what comes before it orders the rows. */
const groups = (window: WindowPlan): { plan: WindowNode; order: Extract<NodePlan, { kind: 'eventTime' }> } => ({
  plan: {
    kind: 'window',
    input: { node: 0 },
    program: null,
    window,
    isEventTime: true,
    timestamp: timeColumn,
    grouped: true,
    keys: [col(0)],
    keep: [col(0)],
    aggs,
    sendEmpty: false,
    name: 'w',
  },
  order: {
    kind: 'eventTime',
    input: { source: 0 },
    timestamp: col(6),
    lateToleranceMs: 2000,
    columns,
    name: 'watermark',
  },
});

test('a window fails as long as a row is in it whose WHERE or key failed, and no longer', () => {
  const failed: ValueError = new ValueError('wrong');
  fc.assert(
    fc.property(
      manyRows,
      longWindows.filter(({ kind }) => kind !== 'count'),
      fc.constantFrom('where', 'key'),
      fc.array(fc.integer({ min: 0, max: 299 }), { maxLength: 6 }),
      (rows, window, place, wrong) => {
        const { plan } = groups(window);
        const node = kernel.add({ ...plan, where: col(3) });
        kernel.width = 5;
        const sorted = rows.map((row) => ({ ...row, isIn: true })).sort((a, b) => a.ts - b.ts);
        const isWrong = (row: Row) => wrong.includes(row.id);
        const got: Message[] = [];
        for (const part of cut(sorted, [70])) {
          const values = part.map((row) => {
            const [k, v, id, isIn, ...rest] = toValues(row);
            return isWrong(row)
              ? [place === 'key' ? failed : k, v, id, place === 'where' ? failed : isIn, ...rest, BigInt(row.ts)]
              : [k, v, id, isIn, ...rest, BigInt(row.ts)];
          });
          got.push(...kernel.push(node, values));
        }
        kernel.remove(node);
        const all =
          window.kind === 'sliding' && window.trigger === undefined
            ? sorted.map((row) => ({ ...row, starts: true }))
            : sorted;
        const expected = naiveWindows(window, all, sorted.at(-1)?.ts ?? 0, false);
        assert.equal(
          got.map(({ rows, error }) => (error === null ? rows.map((row) => row.slice(0, 5)) : error)),
          expected.map((one) => (one.rows.some(isWrong) ? 'wrong' : grouped(one, true, false))),
        );
      },
    ),
    { numRuns: 40 },
  );
});

for (const window of [
  { kind: 'sliding', lengthMs: 3000, delayMs: 1000 },
  { kind: 'sliding', lengthMs: 20_000, delayMs: 0 },
  { kind: 'hopping', unitMs: 1000, lengthMs: 31_000, hopMs: 2000 },
  { kind: 'count', length: 100, step: 3 },
  { kind: 'state', begin: col(4), emit: col(5), partition: [col(0)] },
] satisfies WindowPlan[]) {
  test(`${JSON.stringify(window)}: all memory comes back`, () => {
    const { plan, order } = groups(window);
    const run = () => {
      const top = kernel.add(order, { isLast: false });
      const node = kernel.add(plan, { parent: top });
      for (const rows of fc.sample(fc.oneof(rowsArbitrary, manyRows), { seed: 7, numRuns: 12 })) {
        kernel.push(top, rows.map(toValues), { kind: 'eventTime' });
      }
      kernel.remove(node);
      kernel.remove(top, 'eventTime');
    };
    run();
    const before = kernel.bytesInUse;
    run();
    assert.is(kernel.bytesInUse, before);
  });
}

test('partitions whose windows are closed keep no memory, open ones are found among thousands', () => {
  const { plan } = groups({ kind: 'state', begin: col(4), emit: col(5), partition: [col(0)] });
  const node = kernel.add(plan);
  const row = (id: number, starts: boolean) =>
    toValues({ ts: 1000 + id, id, k: `key ${id}`, v: id, isIn: true, starts, ends: !starts });
  const ids = Array.from({ length: 1000 }, (_, i) => i);
  const round = () => {
    kernel.push(
      node,
      ids.map((id) => row(id, true)),
    );
    const opened = kernel.bytesInUse;
    const sent = kernel.push(
      node,
      ids.map((id) => row(id, false)),
    );
    return { opened, sent };
  };
  round();
  const before = kernel.bytesInUse;
  const { opened, sent } = round();
  assert.equal(
    sent.map(({ rows }) => rows[0]?.slice(0, 2)),
    ids.map((id) => [`key ${id}`, 2n]),
  );
  assert.ok(opened > before);
  assert.is(kernel.bytesInUse, before);
  kernel.remove(node);
});

test.run();
