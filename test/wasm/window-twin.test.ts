import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type AggregatePlan, col, type NodePlan, type WindowPlan } from '../../kernels/ir.js';
import type { Value } from '../../kernels/value.js';
import { naiveEventTime, naiveWindows, type Row, releasesOf, type Sent } from './naive-windows.js';
import { type Message, WindowKernel } from './window-kernel.js';

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
  .map((parts) => {
    let ts = 61_000;
    return parts.map(({ step, ...rest }, id): Row => {
      ts = Math.max(1, ts + step);
      return { ...rest, id, ts };
    });
  });

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
  { kind: 'state', begin: col(4), emit: col(5), partition: col(0) },
  { kind: 'state', begin: col(4), partition: col(0) },
  { kind: 'row' },
);
const counted = fc
  .record({ length: fc.integer({ min: 1, max: 7 }), step: fc.integer({ min: 1, max: 7 }) })
  .map(({ length, step }): WindowPlan => ({ kind: 'count', length, step }));
const windowArbitrary = fc.oneof({ weight: 12, arbitrary: timed }, { weight: 2, arbitrary: counted });

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

test('every kind of window sends what its definition says, in event time', () => {
  fc.assert(
    fc.property(
      rowsArbitrary,
      windowArbitrary,
      fc.boolean(),
      fc.boolean(),
      fc.boolean(),
      fc.boolean(),
      fc.boolean(),
      fc.constantFrom(0, 1000, 2500),
      fc.array(fc.integer({ min: 1, max: 25 }), { minLength: 1, maxLength: 4 }),
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
          sendEmpty,
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
        const expected = naiveWindows(window, naive.released, naive.watermark, sendEmpty, releases);
        assert.is(dropped, naive.dropped);
        const width = groups ? 5 : 2;
        assert.equal(
          got.map((message) => message.rows.map((row) => row.slice(0, width))),
          expected.map((one) => (groups ? grouped(one, hasKey, collects) : listed(one))),
        );
        if (window.kind === 'count') return;
        const times = got.flatMap((message) => message.rows.slice(0, 1).map((row) => row.slice(width, width + 2)));
        const sentTimes = expected
          .filter((one) => groups || one.rows.length > 0)
          .map((one) => [BigInt(one.start), BigInt(one.end)]);
        assert.equal(times, sentTimes);
      },
    ),
    { numRuns: 1500 },
  );
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

for (const window of [
  { kind: 'sliding', lengthMs: 3000, delayMs: 1000 },
  { kind: 'state', begin: col(4), emit: col(5), partition: col(0) },
] satisfies WindowPlan[]) {
  test(`${window.kind} windows of random input give all memory back`, () => {
    const { plan, order } = groups(window);
    const run = () => {
      const top = kernel.add(order, { isLast: false });
      const node = kernel.add(plan, { parent: top });
      for (const rows of fc.sample(rowsArbitrary, { seed: 7, numRuns: 20 })) {
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
  const { plan } = groups({ kind: 'state', begin: col(4), emit: col(5), partition: col(0) });
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
