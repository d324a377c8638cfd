/**
 * Lookups beside a naive model: random changes of tables, by insert, update, upsert and delete, rows of a stream
 * between them, joins by the key and by other columns, with conditions. `HAUMEA_LOOKUP_RUNS` sets how many cases are
 * tried.
 */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule } from '../../support/engine/rule-kernel.js';

const numRuns = Number(process.env.HAUMEA_LOOKUP_RUNS ?? 150);

type Row = Record<string, unknown>;

const scalar = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 6 }) as fc.Arbitrary<unknown> },
  { weight: 2, arbitrary: fc.constantFrom<unknown>('1', '2', 'a text longer than sixteen bytes') },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(true, false, 1.5, null) },
);
const nested = fc.constantFrom<unknown>({ x: [1, { y: 'z' }] }, [], 'plain');
const tableRow = fc.record(
  {
    id: scalar,
    g: scalar,
    n: fc.integer({ min: 0, max: 9 }),
    o: nested,
    extra: fc.string({ maxLength: 30 }),
    _op: fc.constantFrom('insert', 'update', 'upsert', 'delete', 'delete'),
  },
  { requiredKeys: ['n'] },
);
const streamRow = fc.record({ id: scalar, g: scalar, n: fc.integer({ min: 0, max: 9 }) }, { requiredKeys: ['n'] });

const step = fc.oneof(
  fc.record({ table: fc.constantFrom('t', 'u'), rows: fc.array(tableRow, { maxLength: 12 }) }),
  fc.record({ table: fc.constant(undefined), rows: fc.array(streamRow, { maxLength: 12 }) }),
);

interface Join {
  table: 't' | 'u';
  type: 'INNER' | 'LEFT';
  /** Pairs of columns: of the table, and of the stream. */
  keys: [string, string][];
  and: boolean;
}

const join = (table: 't' | 'u'): fc.Arbitrary<Join> =>
  fc.record({
    table: fc.constant(table),
    type: fc.constantFrom('INNER', 'LEFT'),
    keys: fc.constantFrom<[string, string][]>(
      [['id', 'id']],
      [['g', 'g']],
      [['id', 'g']],
      [
        ['g', 'g'],
        ['id', 'id'],
      ],
      [
        ['g', 'id'],
        ['n', 'n'],
      ],
    ),
    and: fc.boolean(),
  });

const given = fc.record({
  joins: fc.oneof(fc.tuple(join('t')), fc.tuple(join('t'), join('u'))),
  steps: fc.array(step, { minLength: 2, maxLength: 14 }),
  isWindowed: fc.boolean(),
});

/** What the tables hold, in the order in which rows were set. */
class Model {
  readonly tables = new Map<string, Row[]>([
    ['t', []],
    ['u', []],
  ]);

  change(table: string, row: Row): void {
    const rows = this.tables.get(table)!;
    if (row.id === undefined || row.id === null) return;
    const others = rows.filter((other) => other.id !== row.id);
    this.tables.set(table, row._op === 'delete' ? others : [...others, row]);
  }

  /** Pairs of a row: in each the row of the stream, then those of the tables. */
  joined(row: Row, joins: readonly Join[]): (Row | undefined)[][] {
    let tuples: (Row | undefined)[][] = [[row]];
    for (const { table, type, keys, and } of joins) {
      tuples = tuples.flatMap((tuple) => {
        const found = this.tables.get(table)!.filter((other) => {
          const isEqual = keys.every(([a, b]) => row[b] !== undefined && row[b] !== null && other[a] === row[b]);
          return isEqual && (!and || (other.n as number) < (row.n as number));
        });
        if (found.length === 0) return type === 'LEFT' ? [[...tuple, undefined]] : [];
        return found.map((other) => [...tuple, other]);
      });
    }
    return tuples;
  }
}

function sqlOf(joins: readonly Join[], isWindowed: boolean): string {
  const clauses = joins.map(({ table, type, keys, and }) => {
    const on = keys.map(([a, b]) => `s.${b} = ${table}.${a}`);
    if (and) on.push(`${table}.n < s.n`);
    return `${type} JOIN ${table} ON ${on.join(' AND ')}`;
  });
  const columns = joins.map(({ table }) => `${table}.id AS ${table}_id, ${table}.o AS ${table}_o`);
  const window = isWindowed ? ' GROUP BY COUNTWINDOW(3)' : '';
  return `SELECT s.n AS n, ${columns.join(', ')} FROM s ${clauses.join(' ')}${window}`;
}

function shown([row, ...others]: (Row | undefined)[], joins: readonly Join[]): Row {
  const out: Row = { n: row!.n };
  others.forEach((other, i) => {
    for (const name of ['id', 'o']) {
      const value = other?.[name];
      if (value !== undefined && value !== null) out[`${joins[i]!.table}_${name}`] = value;
    }
  });
  return out;
}

const meta = Buffer.from(JSON.stringify({ topic: 't', rowkindField: '_op', keyField: 'id' }));

function framed(rows: readonly Row[]): Buffer {
  return Buffer.concat(
    rows.flatMap((row) => {
      const payload = Buffer.from(JSON.stringify(row));
      const head = Buffer.alloc(8);
      head.writeUInt32LE(payload.length, 0);
      head.writeUInt32LE(meta.length, 4);
      return [head, meta, payload];
    }),
  );
}

const tables = ['t', 'u'].map(
  (name) => `CREATE TABLE ${name} () WITH (DATASOURCE="${name}", TYPE="memory", KIND="lookup", KEY="id")`,
);

test('whatever tables go through, rows meet what they hold then', () => {
  fc.assert(
    fc.property(given, ({ joins, steps, isWindowed }) => {
      const all: readonly Join[] = joins;
      const rule = openRule(['CREATE STREAM s () WITH ()', ...tables], sqlOf(all, isWindowed), {
        declared: (name) => (name === 's' ? {} : { framing: 'frames' }),
      });
      const model = new Model();
      const read = all.map(({ table }) => table as string);
      let open: Row[] = [];
      for (const { table, rows } of steps) {
        if (table !== undefined) {
          for (const row of rows) model.change(table, row as Row);
          if (read.includes(table)) rule.feed(table, framed(rows as Row[]));
          continue;
        }
        const expected: Row[][] = [];
        for (const row of rows as Row[]) {
          open.push(row);
          if (isWindowed && open.length < 3) continue;
          const message = open.flatMap((one) => model.joined(one, all).map((tuple) => shown(tuple, all)));
          if (message.length > 0) expected.push(message);
          open = [];
        }
        rule.feed('s', rows);
        assert.equal(rule.taken(), expected);
      }
      rule.close();
    }),
    { numRuns },
  );
});

test('many keys of one shape and of many come and go, and no memory is left over', () => {
  const rule = openRule(
    ['CREATE STREAM s () WITH ()', tables[0]!],
    'SELECT s.id AS i, t.x FROM s INNER JOIN t ON s.id = t.id',
    {
      declared: (name) => (name === 's' ? {} : { framing: 'frames' }),
    },
  );
  const { kernel } = rule;
  const bytes = (): number => kernel.counters(rule.node('keyedTable')).memoryBytes;
  const before = bytes();
  const count = 20_000;
  const rowsOf = (x: string): Row[] =>
    Array.from({ length: count }, (_, id) => ({ id, x: `${x}${id}`, [`m${id % 5000}`]: 1 }));
  rule.feed('t', framed(rowsOf('a')));
  const full = bytes();
  rule.feed('t', framed(rowsOf('b')));
  assert.ok(bytes() <= full * 1.1, 'rows that are set again take no more room');
  rule.feed('s', [{ id: 0 }, { id: count - 1 }, { id: count }]);
  assert.equal(rule.taken(), [[{ i: 0, x: 'b0' }], [{ i: count - 1, x: `b${count - 1}` }]]);
  rule.feed('t', framed(Array.from({ length: count }, (_, id) => ({ id, _op: 'delete' }))));
  rule.feed('s', [{ id: 5 }]);
  assert.equal(rule.taken(), []);
  // Slots and buckets stay for the rows to come.
  assert.ok(bytes() - before < full / 2, `${bytes() - before} of ${full} bytes are left`);
  rule.close();
});

test('a row without a key, and a kind of change that there is not, are told and change nothing', () => {
  const rule = openRule(['CREATE STREAM s () WITH ()', tables[0]!], 'SELECT t.x FROM s INNER JOIN t ON s.id = t.id', {
    declared: (name) => (name === 's' ? {} : { framing: 'frames' }),
  });
  const table = rule.node('keyedTable');
  const last = (rows: Row[]): string => {
    rule.feed('t', framed(rows));
    return rule.kernel.counters(table).lastException;
  };
  assert.is(last([{ id: 1, x: 'a' }]), '');
  assert.is(last([{ x: 'b' }]), 'the row has no value for the key id');
  assert.is(last([{ id: [1], x: 'b' }]), 'the row has no value for the key id');
  assert.is(last([{ id: 1, _op: 'drop' }]), 'the kind of change in _op is none of insert, update, upsert, delete');
  assert.is(last([{ id: 1, _op: 5 }]), 'the kind of change in _op is none of insert, update, upsert, delete');
  assert.is(last([{ _op: 'delete' }]), 'the row has no value for the key id');
  assert.is(rule.kernel.counters(table).exceptions, 5);
  rule.feed('s', [{ id: 1 }]);
  assert.equal(rule.taken(), [[{ x: 'a' }]]);
  rule.close();
});

test.run();
