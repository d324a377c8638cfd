/**
 * Functions of WebAssembly plugins in rules: numbers in, a number out, and that a bad module costs its own rows only.
 */
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Code } from '../../../host/plugins/wasm/binary/code.js';
import { Op } from '../../../host/plugins/wasm/binary/opcodes.js';
import type { Signature } from '../../../host/plugins/wasm/binary/types.js';
import { ByteWriter } from '../../../host/plugins/wasm/binary/writer.js';
import { eventually, startServer } from '../../support/harness.js';
import { moduleOf } from '../../support/plugins/modules.js';
import { RowsThrough } from '../../support/rest/rows-through.js';

const server = await startServer();
test.after(async () => {
  await server.stop();
});
const rule = new RowsThrough(server);

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

/** A module of test/guests. */
const guest = (name: string) => readFileSync(new URL(`../../guests/${name}.wasm`, import.meta.url));

const gives: Signature = { params: [], results: ['i32'] };
const takes: Signature = { params: ['i32'], results: ['i32'] };
const nothing: Signature = { params: [], results: [] };

/** A module with one function. */
const one = (name: string, type: Signature, code: Code): Uint8Array =>
  moduleOf({ types: [type], functions: [{ type: 0, export: name, code: [...code.take()] }] });

/** A function `step` that adds to its argument. */
const steps = (by: number): Uint8Array => one('step', takes, new Code().get(0).i32(by).op(Op.i32Add));

async function install(name: string, bytes: Uint8Array): Promise<void> {
  const answer = await server.request('POST', '/plugins/wasm', { name, bytecode: base64(bytes) });
  assert.is(answer.status, 201, answer.text);
}

test('each exported function over numbers is called by its name', async () => {
  await install('numbers', guest('numbers'));
  assert.equal(
    await rule.results(
      'SELECT whole(a, b) AS w, LONG(b) AS l, half(c) AS h, single(a) > 0.6 AS s, seven() AS n FROM s',
      [
        { a: 2, b: 21, c: 5 },
        { a: 2.0, b: 9007199254740992, c: 0.5 },
      ],
    ),
    [{ w: 42, l: 22, h: 2.5, s: true, n: 7 }, 'function whole: argument 2 does not fit i32'],
  );
});

test('arguments that do not fit are errors of their rows, null goes through', async () => {
  const rows = [{ a: 1.5 }, { a: 3e9 }, { a: 'x' }, { a: null }, {}, { a: 4 }];
  assert.equal(await rule.results('SELECT whole(a, 10) AS r FROM s', rows), [
    'function whole: argument 1 is no whole number, which i32 needs',
    'function whole: argument 1 does not fit i32',
    'function whole: argument 1 is no number for i32',
    {},
    {},
    { r: 40 },
  ]);
});

test('calls that trap, do not end, recurse for ever or fill the memory are errors of their rows', async () => {
  await install('sick', guest('sick'));
  const rows = await rule.results(
    'SELECT sick(v) AS r FROM s',
    [0, 1, 2, 3, 4, 5, 6].map((v) => ({ v })),
  );
  assert.equal([rows[0], rows[6]], [{ r: 0 }, { r: 6 }]);
  const reasons = rows.map((row) => (typeof row === 'string' ? row : ''));
  assert.match(reasons[1] ?? '', /function sick of sick: unreachable/);
  assert.match(reasons[2] ?? '', /more fuel than it may/);
  assert.match(reasons[3] ?? '', /stack|fuel/);
  assert.equal(rows[4], { r: 1024 }, 'pages of 64 KiB');
  assert.match(reasons[5] ?? '', /divide by zero/);
});

test('a module that has to be ended again and again ends its rules, and those alone', async () => {
  // Several batches: within one little is left after the first that does not end.
  const rows = Array.from({ length: 5000 }, () => ({ v: 2 }));
  await rule.results('SELECT sick(v) AS r FROM s', rows, { restartStrategy: { attempts: 0 } });
  const { json } = await server.request('GET', `/rules/${rule.last}/status`);
  assert.match(json.status, /by error/);
  assert.match(json.message, /wasm plugin sick had to be ended 10 times/);
  assert.equal(await rule.results('SELECT seven() AS r FROM s', [{ v: 1 }]), [{ r: 7 }]);
});

test('running rules go on with a module that takes the place of theirs, and fail when it is deleted', async () => {
  await install('step', steps(1));
  const sql = 'CREATE STREAM ticks (v BIGINT) WITH (TYPE="memory", DATASOURCE="ticks", FORMAT="json")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  const from = 'CREATE STREAM clock () WITH (TYPE="simulator", CONF_KEY="fast")';
  const key = { data: [{ v: 1 }], interval: '5ms', loop: true };
  assert.is((await server.request('PUT', '/metadata/sources/simulator/confKeys/fast', key)).status, 200);
  assert.is((await server.request('POST', '/streams', { sql: from })).status, 201);
  const made = await server.request('POST', '/rules', {
    id: 'stepping',
    sql: 'SELECT step(v) AS r FROM clock WHERE step(v) = 101',
    actions: [{ nop: {} }],
  });
  assert.is(made.status, 201, made.text);
  const status = async () => (await server.request('GET', '/rules/stepping/status')).json;
  await eventually('rows', async () => (await status()).source_clock_0_records_in_total > 3);
  assert.is((await status()).sink_nop_0_0_records_in_total, 0);
  const bytecode = base64(steps(100));
  assert.is((await server.request('PUT', '/plugins/wasm/step', { name: 'step', bytecode })).status, 200);
  await eventually('rows of the new module', async () => (await status()).sink_nop_0_0_records_in_total > 3);
  assert.is((await server.request('DELETE', '/plugins/wasm/step')).status, 200);
  await eventually('errors', async () =>
    JSON.stringify(await status()).includes('wasm plugin step is not there any more'),
  );
  await server.request('DELETE', '/rules/stepping');
});

test('wasm_run names a function with its plugin, or alone', async () => {
  const rows = [{ a: 2, b: 3 }];
  const select = "SELECT wasm_run('numbers.whole', a, b) AS w, WASM_RUN('half', b) AS h FROM s";
  assert.equal(await rule.results(select, rows), [{ w: 6, h: 1.5 }]);
  const refusals: [string, RegExp][] = [
    ["wasm_run('sick.whole', a, b)", /wasm plugin sick has no function whole, it is of wasm plugin numbers/],
    ["wasm_run('numbers.none')", /no wasm plugin has a function "none"/],
    ["wasm_run('abs', a)", /no wasm plugin has a function "abs"/],
    ['wasm_run(a, b)', /first argument of wasm_run must be the function in the statement itself/],
    ["wasm_run('numbers.whole', a)", /function whole takes 2 arguments, not 1/],
    ['wasm_run()', /wasm_run takes at least 1 argument/],
  ];
  for (const [call, message] of refusals) {
    const sql = `SELECT ${call} AS r FROM ${rule.last}`;
    const answer = await server.request('POST', '/rules', { id: 'no', sql, actions: [{ nop: {} }] });
    assert.is(answer.status, 400, call);
    assert.match(answer.json.message, message);
  }
});

test('a plugin that is given less fuel may take less', async () => {
  const bytecode = base64(guest('turns'));
  const body = { name: 'turns', bytecode, limits: { callFuel: 100_000 } };
  assert.is((await server.request('POST', '/plugins/wasm', body)).status, 201);
  const select = 'SELECT turns(n) > 0 OR TRUE AS r FROM s';
  const rows = [{ n: 10 }, { n: 1_000_000 }];
  assert.equal(await rule.results(select, rows), [
    { r: true },
    'function turns of turns: the call took more fuel than it may',
  ]);
  assert.is((await server.request('PUT', '/plugins/wasm/turns', { name: 'turns', bytecode })).status, 200);
  assert.equal(await rule.results(select, rows), [{ r: true }, { r: true }]);
});

test('a start function that does not end is the end of the rule, not of the server', async () => {
  const code = new Code();
  code.loop(() => code.at(Op.br, 0));
  const bytes = moduleOf({
    types: [nothing, gives],
    sections: { 8: Uint8Array.of(0) },
    functions: [
      { type: 0, code: [...code.take()] },
      { type: 1, export: 'any', code: [...new Code().i32(1).take()] },
    ],
  });
  await install('endless', bytes);
  const select = 'SELECT any() AS r FROM s';
  await rule.results(select, [{ v: 1 }], { restartStrategy: { attempts: 0 } });
  const { json } = await server.request('GET', `/rules/${rule.last}/status`);
  assert.match(json.message, /wasm plugin endless: the start function failed: it took more fuel than it may/);
});

const start = Uint8Array.from(
  Buffer.from('0061736d01000000010801600000600000030201000801000a0901070003400c000b0b', 'hex'),
);

test('modules that cannot run are refused with what is wrong with them', async () => {
  const importing = (module: string, name: string) =>
    moduleOf(
      {
        types: [takes],
        sections: { 2: new ByteWriter().u32(1).name(module).name(name).byte(0).u32(0).take() },
        functions: [{ type: 0, export: 'w', code: [...new Code().i32(1).at(Op.call, 0).take()] }],
      },
      1,
    );
  const refusals: [Uint8Array, RegExp][] = [
    [Buffer.from('no module'), /invalid wasm module/],
    [one('ok', gives, new Code().i32(1)).subarray(0, 20), /invalid wasm module/],
    [importing('env', 'write'), /imports what is not given to plugins: env\.write/],
    [importing('__proto__', 'valueOf'), /imports what is not given to plugins: __proto__\.valueOf/],
    [importing('constructor', 'name'), /imports what is not given to plugins: constructor\.name/],
    [importing('haumea', 'fail'), /imports haumea\.fail as \(i32\).*, it is \(i32, i32\)/],
    [one('nothing', nothing, new Code()), /no functions that rules can call \(nothing: it gives no result\)/],
    [one('lower', gives, new Code().i32(1)), /lower is taken by a built-in function/],
    [start, /./],
  ];
  for (const [bytes, reason] of refusals) {
    const answer = await server.request('POST', '/plugins/wasm', { name: 'refused', bytecode: base64(bytes) });
    assert.is(answer.status, 400, answer.text);
    assert.match(answer.json.message, reason);
  }
});

test('a wrong number of arguments is refused when the rule is made', async () => {
  const answer = await server.request('POST', '/rules', {
    id: 'few',
    sql: `SELECT whole(v) AS r FROM ${rule.last}`,
    actions: [{ nop: {} }],
  });
  assert.is(answer.status, 400);
  assert.match(answer.text, /function whole takes 2 arguments, not 1/);
});

test.run();
