/** Programs of plugins as sources and sinks: lines that they print, lines that they read, and what ends them. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer } from '../../support/harness.js';
import { compileText } from '../../support/plugins/modules.js';

const server = await startServer({
  env: {
    KUIPER__BASIC__CONSOLELOG: 'true',
    KUIPER__PLUGIN__WASM__ISOLATETIMEOUT: '2500ms',
    KUIPER__PLUGIN__WASM__MAXMEMORYBYTES: String(4 << 20),
  },
});
test.after(async () => {
  await server.stop();
});

const system = `
@external("wasi_snapshot_preview1", "fd_write") declare function fd_write(fd: i32, parts: i32, n: i32, out: i32): i32;
@external("wasi_snapshot_preview1", "fd_read") declare function fd_read(fd: i32, parts: i32, n: i32, out: i32): i32;
@external("wasi_snapshot_preview1", "poll_oneoff") declare function poll(from: i32, to: i32, n: i32, out: i32): i32;
@external("wasi_snapshot_preview1", "proc_exit") declare function exit(code: i32): void;
@external("wasi_snapshot_preview1", "args_sizes_get") declare function sizes(n: i32, bytes: i32): i32;
memory.grow(2);
const digits = 40000;
function print(fd: i32, at: i32, length: i32): void {
  store<i32>(30000, at); store<i32>(30004, length);
  fd_write(fd, 30000, 1, 30008);
}
/** Writes {"n":N} and a line feed; returns the length. */
function row(at: i32, n: i32): i32 {
  store<u32>(at, 0x226e227b); store<u8>(at + 4, 0x3a);
  let count = 0, rest = n;
  do { store<u8>(digits + count++, 48 + rest % 10); rest /= 10; } while (rest > 0);
  for (let i = 0; i < count; i++) store<u8>(at + 5 + i, load<u8>(digits + count - 1 - i));
  store<u16>(at + 5 + count, 0x0a7d);
  return 7 + count;
}
function sleep(ms: i64): void {
  memory.fill(31000, 0, 48);
  store<i64>(31024, ms * 1000000);
  poll(31000, 31100, 1, 31200);
}
function read(at: i32, most: i32): i32 {
  store<i32>(30000, at); store<i32>(30004, most);
  fd_read(0, 30000, 1, 30008);
  return load<i32>(30008);
}
`;

async function install(name: string, text: string): Promise<void> {
  const bytecode = Buffer.from(await compileText(system + text)).toString('base64');
  const made = await server
    .request('PUT', `/plugins/wasm/${name}`, { name, bytecode })
    .then(async (answer) =>
      answer.status === 404 ? server.request('POST', '/plugins/wasm', { name, bytecode }) : answer,
    );
  assert.ok(made.status < 300, made.text);
}

async function source(name: string, plugin: string, args: readonly string[] = []): Promise<void> {
  await server.request('PUT', `/metadata/sources/wasm/confKeys/${name}`, { args });
  const sql = `CREATE STREAM ${name} () WITH (TYPE="wasm", DATASOURCE="${plugin}", FORMAT="json", CONF_KEY="${name}")`;
  const made = await server.request('POST', '/streams', { sql });
  assert.is(made.status, 201, made.text);
}

async function rule(id: string, sql: string, action: object): Promise<void> {
  const made = await server.request('POST', '/rules', {
    id,
    sql,
    actions: [action],
    options: { forceExitTimeout: '2s' },
  });
  assert.is(made.status, 201, made.text);
}

/** The log, without the signs before quotes. */
const output = () => server.output().replaceAll('\\', '');
const status = async (id: string) => (await server.request('GET', `/rules/${id}/status`)).json;
/** A program that the machine leaves without a turn for too long is started again, and prints its rows once more. */
const allOut = (id: string, stream: string, least: number) =>
  eventually('all rows', async () => {
    const now = await status(id);
    const out = now.sink_wasm_0_0_records_out_total;
    return out >= least && out === now[`source_${stream}_0_records_in_total`];
  });
const drop = (id: string) => server.request('DELETE', `/rules/${id}`);

test('what a program prints are rows; one that ends is started again, with its exit code in the status', async () => {
  await install(
    'counter',
    `export function _start(): void {
    sizes(30016, 30020);
    for (let i = 1; i <= 1000; i++) print(1, 1000, row(1000, i));
    print(2, 1000, row(1000, load<i32>(30016)));
    exit(3);
  }`,
  );
  const { json } = await server.request('GET', '/plugins/wasm/counter');
  assert.is(json.program, true);
  await source('counted', 'counter', ['-v', '2']);
  await rule('sums', 'SELECT count(*) AS rows, sum(n) AS total FROM counted GROUP BY COUNTWINDOW(1000)', { nop: {} });
  await eventually('two runs', async () => (await status('sums')).source_counted_0_records_in_total >= 2000);
  const { source_counted_0_last_exception: last, source_counted_0_connection_last_disconnected_message: reason } =
    await status('sums');
  assert.match(`${last} ${reason}`, /wasm plugin counter: it has ended itself with exit code 3/);
  assert.match(output(), /wasm plugin counter: \{"n":3\}/);
  assert.is((await status('sums')).sink_nop_0_0_records_out_total >= 2, true);
  await drop('sums');
});

test('a program that floods waits for slow sinks, and no row is missing', async () => {
  await install(
    'flood',
    `export function _start(): void {
    for (let i = 0; ; i++) print(1, 1000, row(1000, i));
  }`,
  );
  await source('flooded', 'flood');
  await rule('gaps', 'SELECT n - lag(n) AS step FROM flooded WHERE n - lag(n) != 1', { nop: {} });
  await eventually('rows', async () => (await status('gaps')).source_flooded_0_records_in_total > 100_000);
  const now = await status('gaps');
  assert.is(now.sink_nop_0_0_records_in_total, 0);
  assert.is(now.source_flooded_0_exceptions_total, 0);
  await drop('gaps');
});

test('a program reads what rules make, and gets again what it had not dealt with when it trapped', async () => {
  await install(
    'reader',
    `export function _start(): void {
    let lines = 0, hasSeven = false;
    while (true) {
      const length = read(1000, 20000);
      if (length == 0) break;
      for (let i = 0; i < length; i++) {
        if (load<u8>(1000 + i) == 10) lines++;
        hasSeven = hasSeven || load<u8>(1000 + i) == 0x37;
      }
      print(2, 1000, length);
      if (hasSeven) unreachable();
    }
    print(1, 1000, row(1000, lines));
  }`,
  );
  await install(
    'ten',
    `export function _start(): void {
    for (let i = 0; i < 10; i++) { print(1, 1000, row(1000, i)); sleep(30); }
    sleep(3600000);
  }`,
  );
  await source('tens', 'ten');
  await rule('read', 'SELECT n FROM tens', { wasm: { plugin: 'reader', sendSingle: true } });
  await eventually('the trap', async () => /unreachable/.test((await status('read')).sink_wasm_0_0_last_exception));
  await install(
    'reader',
    `export function _start(): void {
    while (true) {
      const length = read(1000, 20000);
      if (length == 0) break;
      print(2, 1000, length);
    }
    print(2, 1000, row(1000, 4711));
  }`,
  );
  await allOut('read', 'tens', 10);
  const lines = Array.from({ length: 10 }, (_, n) => `wasm plugin reader: {"n":${n}}`);
  await eventually('lines in the log', async () => lines.every((line) => output().includes(line)));
  await drop('read');
  await eventually('an orderly end', async () => /wasm plugin reader: \{"n":4711\}/.test(output()));
});

test('a program that computes for ever, or takes too much memory, is ended and started again', async () => {
  await install('endless', 'let x = 1; export function _start(): void { while (true) x = x * 3 + 1; }');
  await source('never', 'endless');
  await rule('hangs', 'SELECT * FROM never', { nop: {} });
  const reasonOf = async (id: string, stream: string) =>
    (await status(id))[`source_${stream}_0_connection_last_disconnected_message`];
  await eventually('the end of the loop', async () =>
    /neither read nor wrote for 2500 ms.*isolateTimeout/.test(await reasonOf('hangs', 'never')),
  );
  await drop('hangs');
  await install(
    'greedy',
    `export function _start(): void {
    while (memory.grow(16) >= 0) {}
    print(2, 1000, row(1000, memory.size()));
    unreachable();
  }`,
  );
  await source('much', 'greedy');
  await rule('grows', 'SELECT * FROM much', { nop: {} });
  await eventually('the trap', async () => /greedy: unreachable/.test(await reasonOf('grows', 'much')));
  await eventually('its size', async () => /greedy: \{"n":(\d+)\}/.test(output()));
  const [, pages] = /greedy: \{"n":(\d+)\}/.exec(output()) ?? [];
  assert.is.not(Number(pages) > 64, true, pages);
  await drop('grows');
});

test('a line without an end costs no more than the longest message, and the line behind it is a row', async () => {
  await install(
    'long',
    `export function _start(): void {
    memory.fill(50000, 0x78, 65536);
    for (let i = 0; i < 400; i++) print(1, 50000, 65536);
    store<u8>(1000, 10);
    print(1, 1000, 1);
    print(1, 1000, row(1000, 7));
    sleep(3600000);
  }`,
  );
  await source('longs', 'long');
  await rule('long', 'SELECT n FROM longs WHERE n = 7', { nop: {} });
  await eventually('the row behind it', async () => (await status('long')).sink_nop_0_0_records_in_total === 1);
  const now = await status('long');
  assert.is(now.source_longs_0_exceptions_total, 1);
  assert.match(now.source_longs_0_last_exception, /longer than|too long|exceeds|at most/);
  await drop('long');
});

test('a program that ends at once is started again and again, and the status says why there are no rows', async () => {
  await install('short', 'export function _start(): void { print(2, 1000, row(1000, 12)); }');
  await source('shorts', 'short');
  await rule('short', 'SELECT * FROM shorts', { nop: {} });
  await eventually('some starts', () => output().split('wasm plugin short: {"n":12}').length > 3);
  const now = await status('short');
  assert.match(now.status, /^running/i);
  assert.match(now.source_shorts_0_connection_last_disconnected_message, /wasm plugin short: it has ended/);
  assert.is(now.source_shorts_0_records_in_total, 0);
  await drop('short');
});

for (const [what, name, text, reason] of [
  ['ends at once', 'leaves', 'export function _start(): void {}', /it has ended/],
  [
    'hangs',
    'stuck',
    'let x = 1; export function _start(): void { read(1000, 100); while (true) x = x * 3 + 1; }',
    /neither read nor wrote for 2500 ms/,
  ],
] as const) {
  test(`a sink whose program ${what} counts no row as out, and gives all to the program that replaces it`, async () => {
    await install(name, text);
    await install(
      `rows_${name}`,
      'export function _start(): void { for (let i = 0; i < 5; i++) print(1, 1000, row(1000, i)); sleep(3600000); }',
    );
    await source(`to_${name}`, `rows_${name}`);
    await rule(name, `SELECT n FROM to_${name}`, { wasm: { plugin: name, sendSingle: true } });
    await eventually('the reason', async () => reason.test(JSON.stringify(await status(name))));
    assert.is((await status(name)).sink_wasm_0_0_records_out_total, 0);
    await install(
      name,
      `export function _start(): void {
      while (true) {
        const length = read(1000, 20000);
        if (length == 0) break;
        print(2, 1000, length);
      }
    }`,
    );
    await allOut(name, `to_${name}`, 5);
    const lines = Array.from({ length: 5 }, (_, n) => `wasm plugin ${name}: {"n":${n}}`);
    await eventually('lines in the log', () => lines.every((line) => output().includes(line)));
    await drop(name);
  });
}

test('a plugin without a program is refused by rules, and one that is gone is waited for', async () => {
  const bytecode = Buffer.from(await compileText('export function half(a: f64): f64 { return a / 2; }')).toString(
    'base64',
  );
  assert.is((await server.request('POST', '/plugins/wasm', { name: 'halves', bytecode })).status, 201);
  const sql = 'CREATE STREAM none () WITH (TYPE="wasm", DATASOURCE="halves", FORMAT="json")';
  const made = await server.request('POST', '/streams', { sql });
  assert.is(made.status, 201, made.text);
  await rule('none', 'SELECT * FROM none', { nop: {} });
  assert.match((await status('none')).message, /stream none: there is no wasm plugin halves with a program/);
  await rule('waits', 'SELECT * FROM tens', { nop: {} });
  await server.request('DELETE', '/plugins/wasm/ten');
  await eventually('the loss', async () =>
    /not there any more/.test((await status('waits')).source_tens_0_connection_last_disconnected_message),
  );
  await drop('waits');
});

test.run();
