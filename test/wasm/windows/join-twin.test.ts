import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { JoinStep } from '../../../kernels/nodes/join.js';
import { type Condition, onId, openJoin, text } from '../../support/kernel/join-drive.js';
import { Mismatch, type NaiveStep, naiveJoin, type Row } from '../../support/kernel/naive-join.js';

interface Arrival {
  branch: number;
  row: Row & { ts: number };
}

interface Case {
  branches: number;
  steps: NaiveStep[];
  arrivals: Arrival[];
  chunk: number;
}

const type = fc.constantFrom<JoinStep['type']>('inner', 'left', 'right', 'full', 'cross');
const condition = fc.constantFrom<Condition>('id', 'id and v', 'v and id', 'id + 1');

/** Ids of one kind most of the time, since a mixture fails nearly every message. */
const pool = fc.oneof(
  { weight: 3, arbitrary: fc.constant<unknown[]>([0, 1, 2, -0.5, 1e15, 3]) },
  { weight: 3, arbitrary: fc.constant<unknown[]>(['', 'a', 'b', 'aa', 'a longer text than sixteen bytes']) },
  { weight: 1, arbitrary: fc.constant<unknown[]>([true, false]) },
  { weight: 1, arbitrary: fc.constant<unknown[]>([1, 'a', true, { x: 1 }, [1]]) },
);

const cases: fc.Arbitrary<Case> = fc
  .record({
    branches: fc.constantFrom(2, 2, 3),
    ids: pool,
    mixesValues: fc.boolean(),
    chunk: fc.constantFrom(7, 64, 1 << 16),
  })
  .chain(({ branches, ids, mixesValues, chunk }) => {
    const id = fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom(...ids) },
      { weight: 1, arbitrary: fc.constantFrom(null, undefined) },
    );
    const value = mixesValues
      ? fc.constantFrom<unknown>(1, 3, 'x', null, undefined)
      : fc.constantFrom<unknown>(1, 2, 3, 4, null);
    const row = fc.record({ id, v: value, ts: fc.integer({ min: 0, max: 9999 }) });
    const step = (i: number) =>
      fc.record({ type, condition, leftBranch: i === 0 ? fc.constant(0) : fc.constantFrom(0, 1) });
    return fc.record({
      branches: fc.constant(branches),
      steps: fc.tuple(...Array.from({ length: branches - 1 }, (_, i) => step(i))),
      arrivals: fc.array(fc.record({ branch: fc.integer({ min: 0, max: branches - 1 }), row }), {
        maxLength: 60,
        size: 'max',
      }),
      chunk: fc.constant(chunk),
    });
  });

/** Messages of the kernel for the arrivals, in one window. */
function run(given: Case, withKeys: boolean, eventTime: boolean): (object[] | string)[] {
  const steps = given.steps.map(({ type: kind, condition: wish, leftBranch }, i) =>
    onId(kind, { branch: i + 1, leftBranch, withKey: withKeys, condition: wish }),
  );
  const { branches, chunk } = given;
  const { driver, kernel, streams, taken } = openJoin(steps, { branches, eventTime, toleranceMs: 10_000 });
  for (const { branch, row } of given.arrivals) {
    driver.feed(streams[branch] as number, text([row]), 100, chunk);
  }
  if (eventTime) for (const stream of streams) driver.feed(stream, text([{ ts: 40_000 }]), 100);
  else kernel.tick(10_000);
  return taken();
}

/** What the twin says: no message without rows, an error as null. */
function expected({ branches, steps, arrivals }: Case, eventTime: boolean): object[] | null | undefined {
  const order = arrivals.slice();
  if (eventTime) order.sort((a, b) => a.row.ts - b.row.ts);
  const rows = Array.from({ length: branches }, (_, b) =>
    order.filter(({ branch }) => branch === b).map(({ row }) => row),
  );
  try {
    const joined = naiveJoin(rows, steps);
    if (joined.length === 0) return undefined;
    const named = joined.map((tuple) =>
      Object.fromEntries(
        tuple.flatMap((row, b) =>
          row === null
            ? []
            : [
                [`id${b}`, row.id],
                [`v${b}`, row.v],
              ],
        ),
      ),
    );
    return JSON.parse(JSON.stringify(named));
  } catch (error) {
    if (error instanceof Mismatch) return null;
    throw error;
  }
}

for (const eventTime of [false, true]) {
  test(`joins by loops and by hash give what the plain joins give (${eventTime ? 'event' : 'processing'} time)`, () => {
    fc.assert(
      fc.property(cases, (given) => {
        const byHash = run(given, true, eventTime);
        assert.equal(byHash, run(given, false, eventTime));
        const wanted = expected(given, eventTime);
        if (wanted === undefined) assert.equal(byHash, []);
        else if (wanted === null)
          assert.equal(
            byHash.map((message) => typeof message),
            ['string'],
          );
        else assert.equal(byHash, [wanted]);
      }),
      { numRuns: 150 },
    );
  });
}

test.run();
