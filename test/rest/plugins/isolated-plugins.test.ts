/**
 * Plugins on threads of their own: the same rows as without, guests that do not come back, new code while rules run.
 */
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Code } from '../../../host/plugins/wasm/binary/code.js';
import { Op } from '../../../host/plugins/wasm/binary/opcodes.js';
import { withManifest } from '../../../host/plugins/wasm/exports/embed.js';
import { eventually, startServer } from '../../support/harness.js';
import { moduleOf } from '../../support/plugins/modules.js';
import { Neighbour } from '../../support/rest/neighbour.js';
import { RowsThrough } from '../../support/rest/rows-through.js';

// Fuel that lasts for hours: what does not end is ended by its time alone.
const server = await startServer({
  env: {
    KUIPER__PLUGIN__WASM__CALLFUEL: '1000000000000000',
    KUIPER__PLUGIN__WASM__BATCHFUEL: '1000000000000000',
    KUIPER__PLUGIN__WASM__ISOLATETIMEOUT: '2s',
  },
});
test.after(async () => {
  await server.stop();
});
const rule = new RowsThrough(server);
const neighbour = await Neighbour.start(server);
const guest = (name: string) => readFileSync(new URL(`../../guests/${name}.wasm`, import.meta.url));

async function put(name: string, bytes: Uint8Array, isolate: boolean, more: object = {}): Promise<void> {
  const body = { name, bytecode: Buffer.from(bytes).toString('base64'), isolate, ...more };
  const isThere = (await server.request('GET', `/plugins/wasm/${name}`)).status === 200;
  const answer = await server.request(isThere ? 'PUT' : 'POST', `/plugins/wasm${isThere ? `/${name}` : ''}`, body);
  assert.is(answer.status, isThere ? 200 : 201, answer.text);
}

const explained = async () => (await server.request('GET', `/rules/${rule.last}/explain`)).text;

/** A function `step` that adds to its argument. */
const steps = (by: number) =>
  moduleOf({
    types: [{ params: ['i64'], results: ['i64'] }],
    functions: [{ type: 0, export: 'step', code: [...new Code().get(0).i64(by).op(Op.i64Add).take()] }],
  });

test('the request says that a plugin has a thread, its description and EXPLAIN of its rules show it', async () => {
  await put('numbers', guest('numbers'), true);
  assert.is((await server.request('GET', '/plugins/wasm/numbers')).json.isolate, true);
  assert.equal(await rule.results('SELECT long(a) AS r, half(a) AS h FROM s', [{ a: 41 }]), [{ h: 20.5, r: 42 }]);
  assert.match(await explained(), /"op":"?CallPlan.*long\(.*rows wait for its answers/);
  await put('numbers', guest('numbers'), false);
  assert.is((await server.request('GET', '/plugins/wasm/numbers')).json.isolate, false);
  assert.equal(await rule.results('SELECT long(a) AS r FROM s', [{ a: 41 }]), [{ r: 42 }]);
  assert.not.match(await explained(), /CallPlan/);
});

test(
  'rows are those without a thread: texts, times, lists, nulls, errors, batches, aggregates, development ' + 'kits',
  async () => {
    const statements: [string, object[]][] = [
      ['SELECT long(a) AS r FROM s', [{ a: 9007199254740992 }, { a: 1.5 }, { a: null }, {}, { a: 'x' }]],
      [
        'SELECT shout(a) AS r, glue(a, b) AS g FROM s',
        [{ a: 'été', b: 'x'.repeat(300) }, { a: '', b: '\u{1f600}' }, { a: 1 }],
      ],
      [
        `SELECT later(cast(t, "datetime"), 1.5) AS t, same_object(o) AS o, same_array(l) AS l, same_any(o->x) AS x,
         encode(same_bytes(cast(s, "bytea")), "base64") AS y FROM s`,
        [{ t: 1000, o: { x: 1, y: [true, null, 'z"'] }, l: [1, 2.5, {}], s: 'ab' }, { t: 'no time' }, {}],
      ],
      ['SELECT nulls_among(a, b) AS r FROM s', [{ a: 'x', b: 1 }, { a: null, b: 1 }, {}]],
      ['SELECT upper(shout(shout(a))) AS r FROM s WHERE SIZE_OF(a) > 1', [{ a: 'a' }, { a: 'bc' }]],
      ['SELECT sick_text(v) AS r FROM s', [0, 1, 2, 3, 4].map((v) => ({ v }))],
      [
        'SELECT k, longest(v) AS r FROM s GROUP BY k, COUNTWINDOW(4)',
        [0, 1, 2, 3].map((v) => ({ k: v % 2, v: 'x'.repeat(v) })),
      ],
    ];
    const known: unknown[] = [];
    for (const isolate of [false, true]) {
      await put('numbers', guest('numbers'), isolate);
      await put('texts', guest('texts'), isolate);
      for (const [i, [select, rows]] of statements.entries()) {
        const results = await rule.results(select, rows);
        if (!isolate) known.push(results);
        else assert.equal(results, known[i], select);
        assert.is(/CallPlan/.test(await explained()), isolate, select);
      }
    }
    assert.ok(known.every((results) => (results as unknown[]).length > 0));
  },
);

test('batches wait in their order while others are under way, none is lost', async () => {
  const rows = Array.from({ length: 30_000 }, (_, v) => ({ v }));
  const results = await rule.results('SELECT v, long(v) AS r FROM s', rows);
  assert.is(results.length, rows.length);
  assert.ok(results.every((row, i) => (row as { v: number; r: number }).v === i && (row as { r: number }).r === i + 1));
});

test('a guest that does not come back costs its batch, and its neighbour nothing', async () => {
  await put('sick', guest('sick'), true);
  const before = (await server.request('GET', '/rules/neighbour/status')).json;
  const rows = [{ v: 2 }, { v: 7 }];
  assert.equal(
    await rule.results('SELECT sick(v) AS r FROM s', rows),
    [0, 1].map(() => 'function sick of sick: it took longer than 2000 ms and was ended'),
  );
  assert.equal(await rule.results('SELECT sick(v) AS r FROM s', [{ v: 7 }]), [{ r: 7 }]);
  await neighbour.goesOn();
  const { json } = await server.request('GET', '/rules/neighbour/status');
  // Its row comes each 5 ms; while the guest hung for 2 s it has got its rows, all of them.
  assert.ok(json.source_clock_0_records_in_total - before.source_clock_0_records_in_total > 20);
  assert.is(json.sink_nop_0_0_records_in_total, json.source_clock_0_records_out_total);
  assert.is(json.sink_nop_0_0_exceptions_total, 0);
});

test('a function that looks back and hangs costs its call, and its state goes on without it', async () => {
  const looksBack = { init: 'state_init', step: 'sick_step', save: 'sick_save', load: 'sick_load' };
  const stuck = [{ name: 'stuck', args: ['bigint'], result: 'bigint', analytic: looksBack }];
  const manifest = JSON.stringify({ abi: 1, convention: 'pointers', functions: stuck });
  await put('stuck', withManifest(guest('states'), manifest), true);
  // 15 is an endless loop.
  const rows = Array.from({ length: 6000 }, (_, i) => ({ v: i === 3000 ? 15 : 1 }));
  const results = await rule.results('SELECT stuck(v) AS r FROM s', rows);
  assert.is(results.length, rows.length);
  const failed = results.filter((one) => typeof one === 'string');
  const sums = results.flatMap((one) => (typeof one === 'string' ? [] : [(one as { r: number }).r]));
  assert.ok(failed.length > 0 && sums.length > 0);
  assert.ok(failed.every((one) => one === 'function stuck of stuck: it took longer than 2000 ms and was ended'));
  assert.equal(
    sums,
    sums.map((_sum, i) => i + 1),
  );
  await neighbour.goesOn();
});

test('a guest that fills its memory has what it may have, on its thread as well', async () => {
  await put('sick', guest('sick'), true, { limits: { maxMemoryBytes: 1 << 20 } });
  assert.equal(await rule.results('SELECT sick(v) AS r FROM s', [{ v: 4 }, { v: 0 }]), [{ r: 16 }, { r: 0 }]);
  await neighbour.goesOn();
});

test('a module that has to be ended again and again ends its rules, and those alone', async () => {
  await put('sick', guest('sick'), true, { limits: { callFuel: 100_000, batchFuel: 400_000 } });
  const rows = Array.from({ length: 5000 }, () => ({ v: 2 }));
  await rule.results('SELECT sick(v) AS r FROM s', rows, { restartStrategy: { attempts: 0 } });
  const { json } = await server.request('GET', `/rules/${rule.last}/status`);
  assert.match(json.status, /by error/);
  assert.match(json.message, /wasm plugin sick had to be ended 10 times/);
  await neighbour.goesOn();
});

test('running rules go on with a module that takes the place of theirs, and fail when it is deleted', async () => {
  await put('step', steps(1), true);
  const made = await server.request('POST', '/rules', {
    id: 'stepping',
    sql: 'SELECT step(v) AS r FROM clock WHERE step(v) = 101',
    actions: [{ nop: {} }],
  });
  assert.is(made.status, 201, made.text);
  const status = async () => (await server.request('GET', '/rules/stepping/status')).json;
  await eventually('rows', async () => (await status()).source_clock_0_records_in_total > 3);
  assert.is((await status()).sink_nop_0_0_records_in_total, 0);
  await put('step', steps(100), true);
  await eventually('rows of the new module', async () => (await status()).sink_nop_0_0_records_in_total > 3);
  // Without a thread from its next start on; until then it waits for the new one as it did for the last.
  await put('step', steps(2), false);
  await put('step', steps(100), false);
  const { sink_nop_0_0_records_in_total: then } = await status();
  await eventually('rows as before', async () => (await status()).sink_nop_0_0_records_in_total > then + 3);
  assert.is((await server.request('POST', '/rules/stepping/restart')).status, 200);
  await eventually('rows after a start', async () => (await status()).sink_nop_0_0_records_in_total > 3);
  assert.not.match((await server.request('GET', '/rules/stepping/explain')).text, /CallPlan/);
  await put('step', steps(100), true);
  assert.is((await server.request('POST', '/rules/stepping/restart')).status, 200);
  await eventually('rows after a start', async () => (await status()).sink_nop_0_0_records_in_total > 3);
  assert.is((await server.request('DELETE', '/plugins/wasm/step')).status, 200);
  await eventually('errors', async () =>
    JSON.stringify(await status()).includes('wasm plugin step is not there any more'),
  );
  await server.request('DELETE', '/rules/stepping');
  await neighbour.goesOn();
});

test('what a plugin has as options is exported, the configuration decides where the request says nothing', async () => {
  const { text } = await server.request('GET', '/data/export');
  assert.match(text, /isolate\\?":true/);
});

test.run();
