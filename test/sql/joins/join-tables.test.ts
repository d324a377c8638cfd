/** What scan tables hold in a kernel, and what becomes of it; `cases/joins/tables.case` has what comes out. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule, type RuleWishes } from '../../support/engine/rule-kernel.js';

const definitions = [
  'CREATE STREAM s () WITH (DATASOURCE="s", TYPE="memory", TIMESTAMP="ts")',
  'CREATE STREAM r () WITH (DATASOURCE="r", TYPE="memory", TIMESTAMP="ts")',
  'CREATE TABLE t () WITH (DATASOURCE="t")',
  'CREATE TABLE u () WITH (DATASOURCE="u", TYPE="memory")',
];
const open = (sql: string, wishes?: RuleWishes) => openRule(definitions, sql, wishes);

const places = [
  { id: 1, name: 'one' },
  { id: 2, name: 'two' },
  { id: 2, name: 'dos' },
];

test('the end of a table sends nothing that the sink still gathers', () => {
  const { feed, end, taken } = open('SELECT s.v, name FROM s INNER JOIN t ON s.id = t.id', { props: { batchSize: 2 } });
  feed('t', places);
  feed('s', [{ id: 1, v: 'a' }]);
  end('t');
  assert.equal(taken(), []);
  feed('s', [{ id: 1, v: 'b' }]);
  assert.is(taken().flat().length, 2);
});

test('what a rule holds of a table is bounded by RETAIN_SIZE, counted, and free with the rule', () => {
  const statements = [
    ...definitions.slice(0, 2),
    'CREATE TABLE t () WITH (DATASOURCE="t", TYPE="memory", RETAIN_SIZE="100")',
  ];
  const text = 'x'.repeat(200);
  const rule = openRule(statements, 'SELECT s.v, t.name FROM s INNER JOIN t ON s.id = t.id');
  const { kernel } = rule;
  const rows = (from: number) => Array.from({ length: 1000 }, (_, i) => ({ id: from + i, name: `${text}${from + i}` }));
  const held = (): number => kernel.counters(rule.node('join')).memoryBytes;
  rule.feed('t', rows(0));
  const first = held();
  assert.ok(first > 100 * text.length, `${first} bytes are counted`);
  assert.ok(first < 1000 * text.length, `${first} bytes are less than all rows take`);
  for (let i = 1; i < 20; i++) rule.feed('t', rows(1000 * i));
  assert.ok(held() <= first * 2, `${held()} bytes after 20,000 rows, ${first} after 1,000`);
  rule.close();
  const life = (): number => {
    const again = openRule(statements, 'SELECT s.v, t.name FROM s INNER JOIN t ON s.id = t.id', { kernel });
    again.feed('t', rows(0));
    again.feed('s', [{ id: 1 }, { id: 950 }]);
    again.close();
    return kernel.memory().inUse;
  };
  const after = life();
  assert.is(life(), after);
});

test('a table that outgrows the memory loses rows, which are counted with the reason', () => {
  const { feed, taken, kernel, node } = open('SELECT s.v, name FROM s LEFT JOIN t ON s.id = t.id', {
    limits: { maxMemoryBytes: 16 << 20 },
  });
  const text = 'x'.repeat(4000);
  for (let i = 0; i < 9000; i += 100) {
    feed(
      't',
      Array.from({ length: 100 }, (_, k) => ({ id: i + k, name: text })),
    );
  }
  const { exceptions, lastException } = kernel.counters(node('join'));
  assert.ok(exceptions > 0);
  assert.match(lastException, /memory/);
  const held = kernel.tableRows(node('join'), 1, 2).length;
  assert.is(held + exceptions, 9000);
  // The join has no room for a long row more, whose error says so.
  feed('s', [{ id: -1, v: 'y'.repeat(600_000) }]);
  assert.match(String(taken().at(-1)), /memory/);
});

test('the rows of a table can be read, oldest first, exactly', () => {
  const { feed, kernel, node } = open('SELECT s.v, t.list, t.n FROM s INNER JOIN t ON s.id = t.id');
  feed('t', [
    { id: 1, n: 2.5, list: [1, { b: 'ü"' }] },
    { id: 'x', n: null, other: 1 },
  ]);
  assert.equal(kernel.tableRows(node('join'), 1, 3), [
    ['1', '[1,{"b":"ü\\""}]', '2.5'],
    ['"x"', null, 'null'],
  ]);
});

test(
  'messages of one row are looked up in a table: texts of all lengths, no value, a key that cannot be ' + 'compared',
  () => {
    const kept = ['CREATE TABLE k () WITH (DATASOURCE="k", TYPE="memory", RETAIN_SIZE="41")', ...definitions];
    const { feed, taken } = openRule(kept, 'SELECT s.id, s.v, k.n FROM s LEFT JOIN k ON s.id = k.id');
    const rows = Array.from({ length: 41 }, (_, n) => ({ id: 'abcdefghijklmnopqrstuvwxyz'.repeat(2).slice(0, n), n }));
    const expected = rows.map(({ id, n }) => [{ id, v: `${id}.`, n }]);
    const lookUp = (): (object[] | string)[] => {
      feed(
        's',
        rows.map(({ id }) => ({ id, v: `${id}.` })),
      );
      return taken();
    };
    feed('k', rows);
    assert.equal(lookUp(), expected);
    assert.equal(lookUp(), expected);
    feed('s', [{ id: null, v: 1 }, { v: 2 }]);
    assert.equal(taken(), [[{ id: null, v: 1 }], [{ v: 2 }]]);
    feed('k', [{ id: 7, n: 'a number' }]);
    assert.ok(lookUp().every((message) => typeof message === 'string'));
    feed('s', [{ id: 7, v: 3 }]);
    assert.type(taken()[0], 'string');
    feed('k', rows);
    assert.equal(lookUp(), expected);
  },
);

test.run();
