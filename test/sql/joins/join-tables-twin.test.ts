/** Joins with scan tables against plain joins over arrays: SQL and rows in, rows out. */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule } from '../../support/engine/rule-kernel.js';
import { Mismatch, type NaiveStep, naiveJoin, type Row } from '../../support/kernel/naive-join.js';

interface Case {
  /** Sources in the order of the statement; those from `t` on are tables. */
  names: string[];
  steps: NaiveStep[];
  /** WHERE asks for more than 2 in the column v of these. */
  where: string[];
  retain: number;
  /** Rows of a window; 0: no window. */
  window: number;
  arrivals: { name: string; rows: Row[] }[];
}

const isTable = (name: string): boolean => name >= 't';

/** Ids of one kind most of the time, since a mixture fails nearly every message. */
const pool = fc.oneof(
  { weight: 4, arbitrary: fc.constant<unknown[]>([0, 1, 2, -0.5, 3]) },
  { weight: 3, arbitrary: fc.constant<unknown[]>(['', 'a', 'b', 'a longer text than sixteen bytes']) },
  { weight: 1, arbitrary: fc.constant<unknown[]>([1, 'a', true, { x: 1 }]) },
);

const sources = fc.constantFrom<string[]>(
  ['s', 't'],
  ['t', 's'],
  ['s', 't', 'u'],
  ['t', 's', 'u'],
  ['r', 's', 't'],
  ['t', 'r', 's'],
);

const cases: fc.Arbitrary<Case> = fc.record({ names: sources, ids: pool }).chain(({ names, ids }) => {
  const id = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...ids) },
    { weight: 1, arbitrary: fc.constantFrom(null, undefined) },
  );
  const row = fc.record({ id, v: fc.constantFrom<unknown>(1, 2, 3, 4, null) });
  const step = (i: number): fc.Arbitrary<NaiveStep> =>
    fc.record({
      type: fc.constantFrom('inner', 'left', 'right', 'full', 'cross'),
      condition: fc.constantFrom('id', 'id and v'),
      leftBranch: fc.integer({ min: 0, max: i }),
    });
  return fc.record({
    names: fc.constant(names),
    // What fails in ON and would not pass WHERE may be an error or not.
    where: ids.includes(true) ? fc.constant([]) : fc.subarray(names),
    steps: fc.tuple(...names.slice(1).map((_name, i) => step(i))),
    retain: fc.constantFrom(1, 3, 100),
    window: fc.constantFrom(0, 0, 2),
    arrivals: fc.array(fc.record({ name: fc.constantFrom(...names), rows: fc.array(row, { maxLength: 30 }) }), {
      maxLength: 12,
      size: 'max',
    }),
  });
});

function statementOf({ names, steps, where, window }: Case): string {
  const [from = '', ...joined] = names;
  const columns = names.map((name) => `${name}.id AS id_${name}, ${name}.v AS v_${name}`);
  const joins = joined.map((name, i) => {
    const { type, condition, leftBranch } = steps[i]!;
    const more = condition === 'id' ? '' : `AND ${name}.v > 2`;
    const on = type === 'cross' ? '' : ` ON ${names[leftBranch]}.id = ${name}.id ${more}`;
    return `${type.toUpperCase()} JOIN ${name}${on}`;
  });
  const condition = where.map((name) => `${name}.v > 2`).join(' AND ');
  const group = window === 0 ? '' : `GROUP BY COUNTWINDOW(${window})`;
  return `SELECT ${columns.join(', ')} FROM ${from} ${joins.join(' ')} ${condition && `WHERE ${condition}`} ${group}`;
}

/** What the twin says: the messages in order, an error as null. */
function expected({ names, steps, where, retain, window, arrivals }: Case): (object[] | null)[] {
  const kept = new Map<string, Row[]>(names.map((name) => [name, []]));
  const messages: (object[] | null)[] = [];
  let rows = 0;
  const send = (): void => {
    try {
      const all = naiveJoin(
        names.map((name) => kept.get(name)!),
        steps,
      );
      const joined = all.filter((tuple) => where.every((name) => Number(tuple[names.indexOf(name)]?.v ?? 0) > 2));
      const named = joined.map((tuple) =>
        Object.fromEntries(
          tuple.flatMap((row, i) =>
            row
              ? [
                  [`id_${names[i]}`, row.id],
                  [`v_${names[i]}`, row.v],
                ]
              : [],
          ),
        ),
      );
      if (named.length > 0) messages.push(JSON.parse(JSON.stringify(named)));
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error;
      messages.push(null);
    }
    rows = 0;
    for (const name of names) if (!isTable(name)) kept.set(name, []);
  };
  for (const { name, rows: come } of arrivals) {
    for (const row of come) {
      const list = [...kept.get(name)!, row];
      kept.set(name, isTable(name) ? list.slice(-retain) : list);
      if (!isTable(name) && ++rows >= window) send();
    }
  }
  return messages;
}

/** Computed columns that are null are left out. */
const withoutNulls = (messages: (object[] | null)[]) =>
  messages.map(
    (rows) => rows?.map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null))) ?? null,
  );

test('rows of streams and windows of them join what tables hold, as plain joins do', () => {
  fc.assert(
    fc.property(cases, (given) => {
      const { feed, taken, close } = openRule(
        ['r', 's', 't', 'u'].map((name) =>
          isTable(name)
            ? `CREATE TABLE ${name} () WITH (DATASOURCE="${name}", TYPE="memory", RETAIN_SIZE="${given.retain}")`
            : `CREATE STREAM ${name} () WITH (DATASOURCE="${name}", TYPE="memory")`,
        ),
        statementOf(given),
      );
      for (const { name, rows } of given.arrivals) feed(name, rows);
      const messages = taken().map((message) => (typeof message === 'string' ? null : message));
      assert.equal(withoutNulls(messages), withoutNulls(expected(given)));
      close();
    }),
    { numRuns: 200 },
  );
});

test.run();
