/** Joins with scan tables in a kernel: a statement, rows of streams and tables in, rows out. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule, type RuleWishes } from './rule-kernel.js';

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

test('a row of the stream meets what the table holds when it comes', () => {
  const { feed, taken } = open('SELECT s.v, t.name FROM s LEFT JOIN t ON s.id = t.id');
  feed('s', [{ id: 2, v: 'before' }]);
  feed('t', places);
  feed('s', [
    { id: 2, v: 'both' },
    { id: 7, v: 'none' },
  ]);
  assert.equal(taken(), [
    [{ v: 'before' }],
    [
      { v: 'both', name: 'two' },
      { v: 'both', name: 'dos' },
    ],
    [{ v: 'none' }],
  ]);
});

test('* brings the columns of the stream before those of the table, a column in both is that of the stream', () => {
  const { feed, taken } = open('SELECT * FROM s INNER JOIN t ON s.id = t.place');
  feed('t', [{ place: 1, id: 'of the table', name: 'one' }]);
  feed('s', [{ id: 1 }, { id: 2 }]);
  assert.equal(taken(), [[{ id: 1, place: 1, name: 'one' }]]);
});

test('* of one of them brings that one only', () => {
  const { feed, taken } = open('SELECT t.*, s.v AS w FROM s INNER JOIN t ON s.id = t.id');
  feed('t', [{ id: 1, v: 'table' }]);
  feed('s', [{ id: 1, v: 'stream' }]);
  assert.equal(taken(), [[{ id: 1, v: 'table', w: 'stream' }]]);
});

test('aggregates without a window are about the rows that one row of the stream met', () => {
  const { feed, taken } = open('SELECT count(*) AS n, collect(name) AS names FROM s LEFT JOIN t ON s.id = t.id');
  feed('t', places);
  feed('s', [{ id: 2 }, { id: 5 }]);
  assert.equal(taken(), [[{ n: 2, names: ['two', 'dos'] }], [{ n: 1, names: [null] }]]);
});

test('HAVING, ORDER BY and LIMIT work on the rows that one row of the stream met', () => {
  const { feed, taken } = open(
    'SELECT name FROM s INNER JOIN t ON s.id = t.id WHERE t.name != "x" ORDER BY name LIMIT 1',
  );
  feed('t', [...places, { id: 2, name: 'x' }, { id: 2, name: 'a' }]);
  feed('s', [{ id: 2 }]);
  assert.equal(taken(), [[{ name: 'a' }]]);
  const counted = open('SELECT count(*) AS n FROM s INNER JOIN t ON s.id = t.id HAVING count(*) > 1');
  counted.feed('t', places);
  counted.feed('s', [{ id: 1 }, { id: 2 }]);
  assert.equal(counted.taken(), [[{ n: 2 }]]);
});

test('groups of a window see the joined rows, and the end of the window', () => {
  const { feed, taken, kernel } = open(
    `SELECT t.name AS k, sum(s.v) AS total, window_end() AS e FROM s INNER JOIN t ON s.id = t.id
      WHERE s.v > 0 GROUP BY t.name, TUMBLINGWINDOW(ss, 10)`,
  );
  feed('t', places.slice(0, 2));
  feed(
    's',
    [
      { id: 1, v: 5 },
      { id: 2, v: 7 },
      { id: 1, v: -3 },
      { id: 1, v: 6 },
    ],
    1000,
  );
  kernel.tick(10_000);
  assert.equal(taken(), [
    [
      { k: 'one', total: 11, e: 10_000 },
      { k: 'two', total: 7, e: 10_000 },
    ],
  ]);
});

test('a window meets what the table holds when it ends, not when its rows come', () => {
  const { feed, taken } = open('SELECT s.v, name FROM s LEFT JOIN t ON s.id = t.id GROUP BY COUNTWINDOW(2)');
  feed('s', [{ id: 1, v: 'first' }]);
  feed('t', places);
  feed('s', [{ id: 9, v: 'second' }]);
  assert.equal(taken(), [[{ v: 'first', name: 'one' }, { v: 'second' }]]);
});

test('several streams without a window: each row is alone with the tables', () => {
  const { feed, taken } = open(
    'SELECT s.v, r.v AS w, name FROM s FULL JOIN r ON s.id = r.id LEFT JOIN t ON t.id = s.id OR t.id = r.id',
  );
  feed('t', places.slice(0, 2));
  feed('s', [{ id: 1, v: 'a' }]);
  feed('r', [{ id: 2, v: 'b' }]);
  assert.equal(taken(), [[{ v: 'a', name: 'one' }], [{ w: 'b', name: 'two' }]]);
});

test('a table may be joined twice under aliases, and to another table', () => {
  const { feed, taken } = open(
    `SELECT a.name AS x, b.name AS y, u.boss FROM s INNER JOIN t AS a ON s.id = a.id INNER JOIN t AS b ON s.other = b.id
      LEFT JOIN u ON u.of = b.name`,
  );
  feed('t', places.slice(0, 2));
  feed('u', [
    { of: 'one', boss: 'old' },
    { of: 'two', boss: 'new' },
  ]);
  feed('s', [
    { id: 1, other: 2 },
    { id: 2, other: 1 },
  ]);
  assert.equal(taken(), [[{ x: 'one', y: 'two', boss: 'new' }], [{ x: 'two', y: 'one' }]]);
});

test('event time: rows of the stream are put in order first; tables have no time', () => {
  const { feed, taken } = open('SELECT s.v, name FROM s INNER JOIN t ON s.id = t.id', {
    options: { isEventTime: true, lateToleranceMs: 1000 },
  });
  feed('t', places.slice(0, 2));
  feed('s', [
    { id: 2, v: 'later', ts: 5000 },
    { id: 1, v: 'earlier', ts: 4500 },
    { id: 1, v: 'end', ts: 9000 },
  ]);
  assert.equal(taken(), [[{ v: 'earlier', name: 'one' }], [{ v: 'later', name: 'two' }]]);
});

test('event time: the watermark is that of the streams, a table that brings nothing holds up no window', () => {
  const { feed, taken } = open(
    'SELECT s.v, r.v AS w, name FROM s INNER JOIN r ON s.id = r.id LEFT JOIN t ON s.id = t.id GROUP BY TUMBLINGWINDOW(ss, 10)',
    { options: { isEventTime: true, lateToleranceMs: 0 } },
  );
  feed('s', [{ id: 1, v: 'a', ts: 1000 }]);
  feed('r', [{ id: 1, v: 'b', ts: 2000 }]);
  feed('s', [{ ts: 20_000 }]);
  assert.equal(taken(), []);
  feed('r', [{ ts: 20_000 }]);
  assert.equal(taken(), [[{ v: 'a', w: 'b' }]]);
});

test('the end of a table sends nothing that the sink still gathers', () => {
  const { feed, end, taken } = open('SELECT s.v, name FROM s INNER JOIN t ON s.id = t.id', { props: { batchSize: 2 } });
  feed('t', places);
  feed('s', [{ id: 1, v: 'a' }]);
  end('t');
  assert.equal(taken(), []);
  feed('s', [{ id: 1, v: 'b' }]);
  assert.is(taken().flat().length, 2);
});

test('an error in ON fails the message of its row and no other', () => {
  const { feed, taken } = open('SELECT s.v FROM s INNER JOIN t ON s.id = t.id');
  feed('t', places);
  feed('s', [
    { id: 'text', v: 1 },
    { id: 1, v: 2 },
  ]);
  const [failed, good, ...more] = taken();
  assert.match(String(failed), /text/);
  assert.equal(good, [{ v: 2 }]);
  assert.equal(more, []);
});

test('a payload that does not decode is reported and is no row of the table', () => {
  const { feed, taken } = open('SELECT s.v, name FROM s INNER JOIN t ON s.id = t.id');
  feed('t', Buffer.from('{"id":1,"name":"one"}\n{"id":1,\n'));
  const [error, ...more] = taken();
  assert.type(error, 'string');
  assert.equal(more, []);
  feed('s', [{ id: 1, v: 'a' }]);
  assert.equal(taken(), [[{ v: 'a', name: 'one' }]]);
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
  feed('s', [{ id: -1, v: 'a' }]);
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

test.run();
