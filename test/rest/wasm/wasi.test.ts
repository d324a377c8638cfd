/** Guests of the system interface (WASI) in rules: what they are given of the machine, and what they are not. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer } from '../../support/harness.js';
import { compileText } from '../../support/plugins/modules.js';
import { RowsThrough } from '../../support/rest/rows-through.js';

const server = await startServer({ env: { KUIPER__BASIC__CONSOLELOG: 'true' } });
test.after(async () => {
  await server.stop();
});
const rule = new RowsThrough(server);

const guest = fileURLToPath(new URL('../../../examples/plugins/rust/report/report.wasm', import.meta.url));

async function install(name: string, bytes: Uint8Array, more: object = {}) {
  const bytecode = Buffer.from(bytes).toString('base64');
  return server.request('POST', '/plugins/wasm', { name, bytecode, ...more });
}

test('a guest made by Rust has neither files nor time nor chance, its output goes to the log', async () => {
  assert.is((await install('report', readFileSync(guest))).status, 201);
  const select =
    'SELECT greet(n) AS g, now_ms() < 1000000000 AS t, distinct_of(n) AS d, opens(n) AS o, sleeps(n) AS s FROM s';
  assert.equal(await rule.results(select, [{ n: 100 }]), [{ g: 101, t: true, d: 7, o: 0, s: 100 }]);
  await eventually('output in the log', async () => server.output().includes('wasm plugin report: hello 100'));
  assert.match(server.output(), /wasm plugin report: no name/);
});

test('what is granted in the request, a guest has; ending itself is an error of the row', async () => {
  const wasi = { clock: true, random: true, env: { WHO: 'plant 7' }, args: ['-v'] };
  const body = { name: 'report', bytecode: readFileSync(guest).toString('base64'), wasi };
  assert.is((await server.request('PUT', '/plugins/wasm/report', body)).status, 200);
  assert.equal((await server.request('GET', '/plugins/wasm/report')).json.wasi, wasi);
  assert.equal(
    await rule.results('SELECT now_ms() > 1700000000000 AS t, name_length() AS l, quits(n) AS q FROM s', [
      { n: 0 },
      { n: 3 },
    ]),
    [{ t: true, l: 7, q: 0 }, 'function quits of report: it has ended itself with exit code 3'],
  );
});

test('a program is run once, then its functions are called', async () => {
  const bytes = await compileText(
    `@external("wasi_snapshot_preview1", "proc_exit") declare function exit(code: i32): void;
    let ready = 0;
    export function _start(): void { ready = 42; exit(0); }
    export function answer(): i32 { return ready; }`,
  );
  assert.is((await install('program', bytes)).status, 201);
  assert.equal(await rule.results('SELECT answer() AS r FROM s', [{ v: 1 }]), [{ r: 42 }]);
});

test('wild pointers, endless output and floods of calls are errors of the guest', async () => {
  const bytes = await compileText(
    `@external("wasi_snapshot_preview1", "fd_write") declare function write(fd: i32, parts: i32, n: i32, out: i32): i32;
    @external("wasi_snapshot_preview1", "random_get") declare function random(at: i32, n: i32): i32;
    @external("wasi_snapshot_preview1", "poll_oneoff") declare function poll(a: i32, b: i32, n: i32, out: i32): i32;
    @external("wasi_snapshot_preview1", "path_open") declare function open(a: i32, b: i32, c: i32, d: i32, e: i32, \
f: i64, g: i64, h: i32, i: i32): i32;
    memory.grow(1);
    export function wild(what: i32): i32 {
      if (what == 0) return write(1, -8, 1, 0);
      if (what == 1) return write(7, 0, 1, 0);
      if (what == 2) return write(1, 0, -1, 0);
      if (what == 3) return random(0, -1);
      if (what == 4) return random(65000, 100000);
      if (what == 5) return poll(0, 0, 100000, 0);
      if (what == 6) return open(3, 0, 0, 1, 0, 0, 0, 0, 0);
      while (true) { store<i32>(0, 0); store<i32>(4, 60000); write(1, 0, 1, 8); }
      return 0;
    }`,
  );
  assert.is((await install('wild', bytes)).status, 201);
  const rows = [0, 1, 2, 3, 4, 5, 6, 7].map((v) => ({ v }));
  assert.equal(await rule.results('SELECT wild(v) AS r FROM s', rows), [
    ...[21, 8, 28, 28, 21, 28, 44].map((r) => ({ r })),
    'function wild of wild: the call took more fuel than it may',
  ]);
});

test('grants that nobody knows are refused, as is a newer interface', async () => {
  const bytes = await compileText('export function nothing(a: i32): i32 { return a; }');
  for (const [wasi, message] of [
    [{ files: '/etc' }, /wasi.*files is not known/],
    [{ env: { A: 5 } }, /wasi\.env\.A must be a text/],
    [{ clock: 'soon' }, /wasi.*clock/],
    ['all', /wasi must be an object/],
  ] as const) {
    const answer = await install('x', bytes, { wasi });
    assert.is(answer.status, 400);
    assert.match(answer.json.message, message);
  }
  const other = await compileText(
    `@external("wasi_snapshot_preview1", "sock_open") declare function f(): i32;
    @external("wasi:cli/run", "run") declare function g(): i32;
    export function h(): i32 { return f() + g(); }`,
  );
  const { json } = await install('x', other);
  assert.match(json.message, /wasi:cli\/run\.run, wasi_snapshot_preview1\.sock_open/, json.message);
});

test.run();
