/** Functions in JavaScript: what scripts get, what rules get of them, and that a bad script costs its own rows only. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer } from '../../support/harness.js';
import { RowsThrough } from '../../support/rest/rows-through.js';

const server = await startServer();
test.after(async () => {
  await server.stop();
});
const rule = new RowsThrough(server);

async function script(id: string, text: string, isAgg = false): Promise<void> {
  const answer = await server.request('PUT', `/udf/javascript/${id}`, { id, script: text, isAgg });
  assert.is(answer.status, 200, answer.text);
}

test('a script gets the values of each row and gives one back', async () => {
  await script(
    'told',
    'function told(...values) { return values.map((v) => v === undefined ? "missing" : v === null ? "null" : ' +
      'typeof v + " " + v); }',
  );
  const rows = await rule.results('SELECT told(a, b, c, d) AS r FROM s', [
    { a: 1, b: 2.5, c: 'x' },
    { a: null, b: true, c: [1, 'y'], d: { e: 1 } },
  ]);
  assert.equal(rows, [
    { r: ['number 1', 'number 2.5', 'string x', 'missing'] },
    { r: ['null', 'boolean true', 'object 1,y', 'object [object Object]'] },
  ]);
});

test('numbers, texts, lists, objects, bytes and datetimes come back as what they are', async () => {
  await script('same', 'const same = (value) => value;');
  const rows = await rule.results(
    'SELECT same(i) AS i, same(f) AS f, same(t) AS t, same(l) AS l, same(o) AS o, same(cast(n, "datetime")) AS d ' +
      'FROM s',
    [{ i: 7, f: 1.25, t: 'é', l: [1, 2.5, null, 'x'], o: { a: { b: [true] } }, n: 1000 }],
  );
  assert.equal(rows.length, 1);
  const [row] = rows as Record<string, unknown>[];
  assert.is(row?.i, 7);
  assert.is(row?.f, 1.25);
  assert.is(row?.t, 'é');
  assert.equal(row?.l, [1, 2.5, null, 'x']);
  assert.equal(row?.o, { a: { b: [true] } });
  assert.is(row?.d, '1970-01-01T00:00:01Z');
});

test('an aggregate gets a list for each argument', async () => {
  await script(
    'spread',
    'function spread(values, factors) { return (Math.max(...values) - Math.min(...values)) * factors[0]; }',
    true,
  );
  const rows = await rule.results(
    'SELECT k, spread(v, f) AS r, spread(v, f) FILTER (WHERE v < 5) AS low FROM s GROUP BY k, COUNTWINDOW(4)',
    [
      { k: 'a', v: 1, f: 2 },
      { k: 'b', v: 3, f: 1 },
      { k: 'a', v: 4, f: 2 },
      { k: 'a', v: 7, f: 2 },
    ],
  );
  assert.equal(rows, [
    { k: 'a', r: 12, low: 6 },
    { k: 'b', r: 0, low: 0 },
  ]);
});

test('an aggregate makes one group of the rows of a window, also when it is the only one', async () => {
  const rows = [1, 5, 3].map((v) => ({ v, f: 2 }));
  assert.equal(await rule.results('SELECT spread(v, f) AS r FROM s GROUP BY COUNTWINDOW(3)', rows), [{ r: 8 }]);
});

test('what a script throws is an error of its row', async () => {
  await script(
    'picky',
    'function picky(v) { if (v === 2) throw new TypeError("no twos"); if (v === 3) throw "three"; return v; }',
  );
  const rows = await rule.results('SELECT picky(v) AS r FROM s', [{ v: 1 }, { v: 2 }, { v: 3 }, { v: 4 }]);
  assert.equal(rows[0], { r: 1 });
  assert.match(String(rows[1]), /function picky: TypeError: no twos/);
  assert.match(String(rows[2]), /function picky: thrown: three/);
  assert.equal(rows[3], { r: 4 });
});

test('a call that does not end, recursion without end and too much memory are errors of their rows', async () => {
  await script(
    'sick',
    `function deep() { return deep() + 1; }
    function sick(v) {
      if (v === 'loop') for (;;) {}
      if (v === 'deep') return deep();
      if (v === 'memory') { const all = []; for (;;) all.push(new Array(1000).fill(v)); }
      return v;
    }`,
  );
  const rows = await rule.results('SELECT sick(v) AS r FROM s', [
    { v: 'a' },
    { v: 'loop' },
    { v: 'b' },
    { v: 'deep' },
    { v: 'memory' },
    { v: 'c' },
  ]);
  assert.is(rows.length, 6);
  const [first, loop, second, deep, memory, last] = rows;
  assert.equal([first, second, last], [{ r: 'a' }, { r: 'b' }, { r: 'c' }]);
  assert.match(String(loop), /function sick: the call took more than \d+ ms/);
  assert.match(String(deep), /function sick: .*stack/);
  assert.match(String(memory), /function sick: /);
});

test('a script that has to be ended again and again ends its rules, and those alone', async () => {
  await script('endless', 'function endless() { for (;;) {} }');
  const rows = Array.from({ length: 40 }, (_, v) => ({ v }));
  await rule.results('SELECT endless(v) AS r FROM s', rows, { restartStrategy: { attempts: 0 } });
  const { json } = await server.request('GET', `/rules/${rule.last}/status`);
  assert.match(json.status, /by error/);
  assert.match(json.message, /javascript function endless had to be ended 10 times/);
  assert.equal(await rule.results('SELECT same(v) AS r FROM s', [{ v: 1 }]), [{ r: 1 }]);
});

test(
  'a rule that runs keeps the script it was started with, a restart takes the new one; a deleted one is ' + 'unknown',
  async () => {
    await script('version', 'function version() { return 1; }');
    assert.equal(await rule.results('SELECT version() AS r FROM s', [{ v: 1 }]), [{ r: 1 }]);
    await script('version', 'function version() { return 2; }');
    assert.equal(await rule.results('SELECT Version() AS r FROM s', [{ v: 1 }]), [{ r: 2 }]);
    assert.is((await server.request('DELETE', '/udf/javascript/version')).status, 200);
    const refused = await server.request('POST', '/rules/validate', {
      id: 'gone',
      sql: 'SELECT version() AS r FROM s1',
      actions: [{ nop: {} }],
    });
    assert.match(refused.text, /unknown function version/);
  },
);

test('a script that fails at once keeps its rule from starting', async () => {
  await script('broken', 'function broken() {}\nthrow new Error("not today");');
  await rule.results('SELECT broken() AS r FROM s', [{ v: 1 }], { restartStrategy: { attempts: 0 } });
  const { json } = await server.request('GET', `/rules/${rule.last}/status`);
  assert.match(json.status, /by error/);
  assert.match(json.message, /broken: Error: not today/);
});

test('scripts reach nothing outside, and their log lines are in the log', async () => {
  await script(
    'reach',
    'function reach() { log("seen", {a: 1}); return [typeof process, typeof require, typeof fetch, typeof std, ' +
      'typeof os].join(); }',
  );
  assert.equal(await rule.results('SELECT reach() AS r FROM s', [{ v: 1 }]), [
    { r: 'undefined,undefined,undefined,undefined,undefined' },
  ]);
  const log = () => readFileSync(join(server.data, 'log', 'stream.log'), 'utf8');
  await eventually(
    'the line',
    () => log().includes('javascript function reach: seen {\\"a\\":1}') || log().includes('seen {"a":1}'),
  );
});

test.run();
