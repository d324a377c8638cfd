/**
 * Guests that do their worst where their instructions don't tell what it costs: another rule goes on, and so does the
 * server.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withManifest } from '../../../host/plugins/wasm/exports/embed.js';
import { startServer } from '../../support/harness.js';
import { compileText } from '../../support/plugins/modules.js';
import { Neighbour } from '../../support/rest/neighbour.js';
import { RowsThrough } from '../../support/rest/rows-through.js';

const server = await startServer();
test.after(async () => {
  await server.stop();
});
const rule = new RowsThrough(server);

const neighbour = await Neighbour.start(server);

/** Results of a function for 0, 1 and 2, of which 1 makes it do its worst. */
async function around(name: string): Promise<unknown[]> {
  return rule.results(
    `SELECT ${name}(v) AS r FROM s`,
    [0, 1, 2].map((v) => ({ v })),
  );
}

async function install(name: string, bytes: Uint8Array, limits: object = {}): Promise<void> {
  const body = { name, bytecode: Buffer.from(bytes).toString('base64'), limits };
  const answer = await server.request('POST', '/plugins/wasm', body);
  assert.is(answer.status, 201, answer.text);
}

const ofKit = (name: string, params: string, result: string) =>
  `@external("extism:host/env", "${name}") declare function ${name}(${params}): ${result};`;

test('what a guest has the engine copy and log costs it fuel', async () => {
  const text = `
    @external("haumea", "log") declare function say(at: usize, length: i32): void;
    memory.grow(1);
    export function lines(v: i32): i32 { while (v == 1) say(0, 4096); return v; }`;
  await install('lines', await compileText(text));
  const kit = `
    ${ofKit('alloc', 'size: u64', 'u64')} ${ofKit('var_set', 'name: u64, value: u64', 'void')}
    ${ofKit('var_get', 'name: u64', 'u64')} ${ofKit('log_error', 'at: u64', 'void')}
    export function kept(): i32 {
      const name = alloc(4), value = alloc(900_000);
      while (true) { var_set(name, value); }
      return 0;
    }
    export function told(): i32 { const at = alloc(100_000); while (true) log_error(at); return 0; }
    export function read(): i32 {
      const name = alloc(4);
      var_set(name, alloc(900_000));
      while (true) var_get(name);
      return 0;
    }`;
  await install('kept', await compileText(kit));
  const rows = await around('lines');
  assert.equal(rows, [{ r: 0 }, 'function lines of lines: the call took more fuel than it may', { r: 2 }]);
  for (const name of ['kept', 'told', 'read']) {
    const [row] = await rule.results(`SELECT ${name}() AS r FROM s`, [{}]);
    assert.is(row, `function ${name} of kept: the call took more fuel than it may`);
  }
  await neighbour.goesOn();
});

test('each line that a guest prints costs it fuel, not only the bytes', async () => {
  const text = `
    @external("wasi_snapshot_preview1", "fd_write")
    declare function fd_write(fd: i32, parts: usize, count: i32, written: usize): i32;
    memory.grow(2);
    memory.fill(1024, 10, 100_000);
    store<u32>(0, 1024);
    store<u32>(4, 100_000);
    export function printed(v: i32): i32 { if (v == 1) fd_write(1, 0, 1, 8); return v; }`;
  await install('printed', await compileText(text));
  const rows = await around('printed');
  assert.equal(rows, [{ r: 0 }, 'function printed of printed: the call took more fuel than it may', { r: 2 }]);
});

test('beginning anew after each row costs the batch what it takes', async () => {
  const text = `
    export function broken(v: i32): i32 { if (v > 0) unreachable(); return v; }
    let sum = 0; for (let i = 0; i < 10_000_000; i++) sum += i ^ sum;
    export function sumOf(): i32 { return sum; }`;
  await install('broken', await compileText(text), { callFuel: 1000 });
  const rows = await rule.results(
    'SELECT broken(v) AS r FROM s',
    Array.from({ length: 1000 }, () => ({ v: 1 })),
    { restartStrategy: { attempts: 0 } },
  );
  assert.match(String(rows[0]), /^function broken of broken: unreachable/);
  assert.match(String(rows[999]), /^function broken of broken: /);
  await neighbour.goesOn();
});

test('results that are JSON are read up to a length for all rows of a batch', async () => {
  const text = `
    let end: u32 = 0;
    export function haumea_alloc(size: i32): usize {
      const at = end == 0 ? 65536 : end;
      end = (at as u32) + (size as u32) + 8 & ~7;
      while (end > (memory.size() as u32) << 16) if (memory.grow(1) < 0) return 0;
      return at;
    }
    // White space that lies behind all else, as long as the memory goes.
    export function vast(v: i64): i64 {
      while (memory.size() < 900) memory.grow(1);
      return (memory.size() as i64 - 800) << 48 | 800 << 16;
    }`;
  const manifest = { abi: 1, functions: [{ name: 'vast', args: ['bigint'], result: 'any' }] };
  await install('vast', withManifest(await compileText(text), JSON.stringify(manifest)));
  const rows = await rule.results(
    'SELECT vast(v) AS r FROM s',
    Array.from({ length: 1000 }, (_, v) => ({ v })),
    { restartStrategy: { attempts: 0 } },
  );
  assert.is(rows.length, 1000);
  assert.ok(
    rows.every((row) => typeof row === 'string' && row.startsWith('function vast of vast: ')),
    String(rows[0]),
  );
  await neighbour.goesOn();
});

test.run();
