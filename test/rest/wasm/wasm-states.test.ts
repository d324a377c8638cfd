/**
 * Aggregates and functions that look back of WebAssembly plugins, whose states the engine keeps: what comes in and out,
 * and what guests get wrong.
 */
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withManifest } from '../../../host/plugins/wasm/exports/embed.js';
import { startServer } from '../../support/harness.js';
import { RowsThrough } from '../../support/rest/rows-through.js';

const server = await startServer();
test.after(async () => {
  await server.stop();
});
const rule = new RowsThrough(server);

const states = readFileSync(new URL('../../guests/states.wasm', import.meta.url));

test('states of groups go from batch to batch', async () => {
  const answer = await server.request('POST', '/plugins/wasm', { name: 'states', bytecode: states.toString('base64') });
  assert.is(answer.status, 201, answer.text);
  const rows = Array.from({ length: 5000 }, (_, i) => ({ k: i % 3, a: i, b: i % 7, t: 'abcdefghij'[i % 10] }));
  const results = await rule.results(
    'SELECT k, total(a, b) AS sum, sum(a * b) AS same, total(a, b) FILTER (WHERE a < 100) AS few FROM s GROUP BY ' +
      'k, COUNTWINDOW(5000)',
    rows,
  );
  assert.is(results.length, 3);
  for (const { sum, same, few } of results as { sum: number; same: number; few: number }[]) {
    assert.is(sum, same);
    assert.ok(few < sum);
  }
});

test('a function that looks back has a state for each partition', async () => {
  const rows = [1, 2, 3, 4, 5, 6].map((v) => ({ v, k: v % 2, t: 'uvwxyz'[v - 1] }));
  assert.equal(
    await rule.results(
      'SELECT running(v) AS all, running(v) OVER (PARTITION BY k) AS own, trail(t) OVER (PARTITION BY k WHEN v ' +
        '!= 3) AS seen FROM s',
      rows,
    ),
    [
      { all: 1, own: 1, seen: 'u' },
      { all: 3, own: 2, seen: 'v' },
      { all: 6, own: 4, seen: 'u' },
      { all: 10, own: 6, seen: 'vx' },
      { all: 15, own: 9, seen: 'uy' },
      { all: 21, own: 12, seen: 'vxz' },
    ],
  );
});

/** Rows of a group for each list of values, in turn. */
const inTurn = (...groups: unknown[][]) =>
  groups[0]!.flatMap((_value, i) => groups.map((values, k) => ({ k, v: values[i] })));

test(
  'a group in which a call traps, fails or goes on for ever is an error that names the function, and the others ' +
    'are whole',
  async () => {
    const of = (values: number[], having = '') =>
      rule.results(`SELECT k, sick(v) AS r FROM s GROUP BY k, COUNTWINDOW(8) ${having}`, inTurn(values, [1, 2, 3, 4]));
    const ends: [number, string][] = [
      [13, 'unreachable'],
      [14, '14 is bad luck'],
      [15, 'the call took more fuel than it may'],
      [200, 'unreachable'],
      [201, 'its state: it keeps it to itself'],
      [202, 'its state: the result lies outside of its memory'],
      [300, 'unreachable'],
      [301, 'it has forgotten'],
      [400, 'unreachable'],
    ];
    for (const [value, reason] of ends) {
      assert.equal(await of([0, value, 0, 0]), [`function sick of states: ${reason}`], String(value));
    }
    assert.equal(await of([0, 13, 13, 14], 'HAVING k = 1'), [{ k: 1, r: 10 }]);
    assert.equal(await of([0, 0, 0, 401]), [{ k: 0 }, { k: 1, r: 10 }]);
    // A state that is not given, or can't be read, begins anew.
    assert.equal(await of([0, 0, 0, 203]), [
      { k: 0, r: 0 },
      { k: 1, r: 10 },
    ]);
    assert.equal(await of([0, 0, 0, 302]), [
      { k: 0, r: 0 },
      { k: 1, r: 10 },
    ]);
  },
);

test('a row whose call is cut off costs neither the rows nor the states of others', async () => {
  const select = 'SELECT k, sick_run(v) OVER (PARTITION BY k) AS r FROM s';
  const failed = (reason: string) => `function sick_run of states: ${reason}`;
  assert.equal(await rule.results(select, inTurn([1, 13, 14, 4, 15, 5], [2, 3, 13, 4, 5, 6])), [
    { k: 0, r: 1 },
    { k: 1, r: 2 },
    failed('unreachable'),
    { k: 1, r: 5 },
    failed('14 is bad luck'),
    failed('unreachable'),
    { k: 0, r: 5 },
    { k: 1, r: 9 },
    failed('the call took more fuel than it may'),
    { k: 1, r: 14 },
    { k: 0, r: 10 },
    { k: 1, r: 20 },
  ]);
  const kept = failed('its state: it keeps it to itself');
  assert.equal(await rule.results(select, inTurn([201, 0], [1, 2])), [kept, { k: 1, r: 1 }, kept, { k: 1, r: 3 }]);
});

test('arguments that do not fit are errors, and nulls are passed over', async () => {
  const values = [1, 'x', null, 2.5, 3];
  const rows = values.map((v) => ({ v }));
  const misfit = (name: string, i: number, why: string) => `function ${name} of states: argument ${i} ${why}`;
  assert.equal(await rule.results('SELECT running(v) AS r FROM s', rows), [
    { r: 1 },
    misfit('running', 1, 'is a string, not a bigint'),
    {},
    misfit('running', 1, 'is no whole number, which a bigint needs'),
    { r: 4 },
  ]);
  const total = 'SELECT total(1, v) AS r FROM s GROUP BY COUNTWINDOW(2)';
  assert.equal(await rule.results(total, [{ v: 5 }, {}, { v: 1 }, { v: true }, { v: 'x' }, { v: 1 }]), [
    { r: 5 },
    { r: 2 },
    misfit('total', 2, 'is a string, not a bigint'),
  ]);
});

test('many rows of many groups: states that are longer than the room for them go out as well', async () => {
  const rows = Array.from({ length: 4000 }, (_, i) => ({ k: i % 700, v: `${i},`.repeat(20) }));
  const results = (await rule.results(
    'SELECT k, path(v) AS p, walk(v) AS w FROM s GROUP BY k, COUNTWINDOW(4000)',
    rows,
  )) as { k: number; p: string; w: string }[];
  assert.is(results.length, 700);
  for (const { k, p, w } of results) {
    const own = rows.filter((row) => row.k === k).map(({ v }) => v);
    assert.is(p, own.join(''));
    assert.is(w, p);
  }
});

test('a module of AssemblyScript keeps objects with numbers', async () => {
  const folder = '../../../examples/plugins/assemblyscript/';
  for (const name of ['reading', 'trend']) {
    const at = (file: string) => readFileSync(new URL(`${folder}${name}/${file}`, import.meta.url));
    const bytecode = Buffer.from(withManifest(at(`${name}.wasm`), at('manifest.json').toString())).toString('base64');
    const answer = await server.request('POST', '/plugins/wasm', { name, bytecode });
    assert.is(answer.status, 201, answer.text);
  }
  const rows = Array.from({ length: 3000 }, (_, i) => ({ k: i % 600, v: (i * 7919) % 1000 }));
  const select = 'SELECT spread(v) AS r, stddev(v) / avg(v + 0.0) AS same FROM s';
  const results = await rule.results(`${select} GROUP BY k, COUNTWINDOW(3000)`, rows);
  assert.is(results.length, 600);
  for (const { r, same } of results as { r: number; same: number }[])
    assert.ok(Math.abs(r - same) < 1e-9, `${r} ${same}`);
  const smooth = await rule.results('SELECT ema(v, 0.5) OVER (PARTITION BY k) AS r FROM s', rows);
  const naive = new Map<number, number>();
  for (const [i, { k, v }] of rows.entries()) {
    const before = naive.get(k);
    naive.set(k, before === undefined ? v : before + (v - before) * 0.5);
    assert.is((smooth[i] as { r: number }).r, naive.get(k), String(i));
  }
});

test('OVER and FILTER stand where they mean something', async () => {
  const refused = async (sql: string) => {
    const { status, text } = await server.request('POST', '/rules/validate', { id: 'v', sql, actions: [{ log: {} }] });
    assert.is(status, 422, text);
    return text;
  };
  await server.request('POST', '/streams', { sql: 'CREATE STREAM v () WITH (TYPE="memory", DATASOURCE="v")' });
  assert.match(await refused('SELECT total(a, a) OVER (PARTITION BY a) FROM v'), /OVER cannot follow total/);
  assert.match(await refused('SELECT running(a) FILTER (WHERE a > 1) FROM v'), /FILTER cannot follow running/);
  assert.match(await refused('SELECT a FROM v WHERE path(a) = "x"'), /the aggregate path is not allowed in WHERE/);
});

test('exports that keep states are looked at when a module is installed', async () => {
  const install = async (functions: object[]) => {
    const manifest = JSON.stringify({ abi: 1, convention: 'pointers', functions });
    const bytecode = Buffer.from(withManifest(states, manifest)).toString('base64');
    const { status, text } = await server.request('POST', '/plugins/wasm', { name: 'other', bytecode });
    assert.is(status, 400, text);
    return text;
  };
  const own = { init: 'state_init', step: 'running_step', save: 'state_save', load: 'state_load' };
  const looksBack = { name: 'other_run', args: ['bigint'], result: 'bigint' };
  assert.match(
    await install([{ ...looksBack, analytic: { ...own, load: 'nothing' } }]),
    /functions\[0\]\.analytic\.load: the module exports no function nothing/,
  );
  assert.match(
    await install([{ ...looksBack, analytic: { ...own, save: 'state_load' } }]),
    /functions\[0\]\.analytic\.save: state_load is \(i32, i32\) -> i32, by the manifest it must be \(i32\) -> i64/,
  );
  assert.match(await install([{ ...looksBack, analytic: { ...own, saves: 'x' } }]), /analytic\.saves is not known/);
  assert.match(
    await install([{ ...looksBack, analytic: own, aggregate: true }]),
    /an aggregate or looks back, not both/,
  );
  const aggregate = { init: 'state_init', accumulate: 'total_accumulate', finish: 'total_finish' };
  const sum = { name: 'other_sum', args: ['bigint', 'bigint'], result: 'bigint' };
  assert.match(
    await install([{ ...sum, aggregate: { ...aggregate, save: 'state_save' } }]),
    /functions\[0\]\.aggregate: it has state_save, but no other_sum_load/,
  );
  assert.match(
    await install([{ ...sum, aggregate: { ...aggregate, merge: 'total_merge' } }]),
    /it has total_merge, which needs other_sum_save and other_sum_load/,
  );
});

test('on a thread of its own a plugin gets the rows of groups, and looks back as without it', async () => {
  const looking: [string, object[]][] = [
    [
      'SELECT v, running(v) AS all, running(v) OVER (PARTITION BY k) AS own, trail(t) OVER (PARTITION BY k WHEN v ' +
        '!= 3) AS seen FROM s',
      [1, 2, 3, 4, 5, 6].map((v) => ({ v, k: v % 2, t: 'uvwxyz'[v - 1] })),
    ],
    // A row that fails is not seen by functions behind it, nor by those that are made of it.
    [
      'SELECT sick_run(v) OVER (PARTITION BY k) AS r, lag(sick_run(v) OVER (PARTITION BY k)) AS l, acc_sum(v) AS a, ' +
        'running(running(v)) AS rr FROM s WHERE running(k) > 0',
      inTurn([1, 13, 14, 4, 15, 5, 201, 6], [2, 3, 13, 4, 5, 6, 7, 8]),
    ],
    [
      'SELECT running(v) AS r, running(k) OVER (PARTITION BY v) AS x FROM s',
      [{ v: 1 }, { v: 'x' }, {}, { v: [1] }, { v: 3 }],
    ],
    // Above a window a message waits as a whole, and fails as a whole.
    [
      'SELECT k, v, sick_run(v) OVER (PARTITION BY k) AS r FROM s GROUP BY COUNTWINDOW(3)',
      inTurn([1, 2, 13, 4, 5, 6], [1, 2, 3, 4, 5, 6]),
    ],
    ['SELECT k, running(sum(v)) AS r FROM s GROUP BY k, COUNTWINDOW(4)', inTurn([1, 2, 3, 4], [5, 6, 7, 8])],
    [
      'SELECT running(v) OVER (PARTITION BY k) AS r FROM s',
      Array.from({ length: 5000 }, (_, v) => ({ v, k: v % 700 })),
    ],
  ];
  const known = [];
  for (const [select, rows] of looking) known.push(await rule.results(select, rows));
  const body = { name: 'states', bytecode: states.toString('base64'), isolate: true };
  const { status, text } = await server.request('PUT', '/plugins/wasm/states', body);
  assert.is(status, 200, text);
  const rows = [1, 2, 3, 4].map((v) => ({ k: v % 2, v }));
  assert.equal(await rule.results('SELECT k, total(v, v) AS r FROM s GROUP BY k, COUNTWINDOW(4)', rows), [
    { k: 1, r: 10 },
    { k: 0, r: 20 },
  ]);
  for (const [i, [select, given]] of looking.entries()) {
    assert.ok((known[i] as unknown[]).length > 0);
    assert.equal(await rule.results(select, given), known[i], select);
    assert.match((await server.request('GET', `/rules/${rule.last}/explain`)).text, /CallPlan/);
  }
});

test.run();
