/** Fuel: modules compute what they did, and end where it is used up. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { WasmError } from '../../../host/plugins/wasm/binary/error.js';
import { inspect } from '../../../host/plugins/wasm/binary/inspect.js';
import { defaultLimits } from '../../../host/plugins/wasm/binary/limits.js';
import type { Signature } from '../../../host/plugins/wasm/binary/types.js';
import { fuelExport, meter, startExport } from '../../../host/plugins/wasm/passes/meter.js';
import { compileText, type HandMade, instanceOf, isValid, moduleOf } from '../../support/plugins/modules.js';

const nothing: Signature = { params: [], results: [] };
const i32ToI32: Signature = { params: ['i32'], results: ['i32'] };

interface Guest {
  readonly exports: Record<string, (...args: (number | bigint)[]) => number>;
  fuel: bigint;
}

function open(bytes: Uint8Array, imports: object = {}): Guest {
  const metered = meter(bytes);
  assert.ok(isValid(metered));
  const exports = instanceOf(metered, imports).exports as unknown as Guest['exports'];
  const fuel = exports[fuelExport] as unknown as { value: bigint };
  return {
    exports,
    get fuel() {
      return fuel.value;
    },
    set fuel(value) {
      fuel.value = value;
    },
  };
}

const handMade = (made: HandMade, importedFunctions = 0) => open(moduleOf(made, importedFunctions));

/** Fuel that a call takes. */
function use(guest: Guest, name: string, ...args: number[]): number {
  guest.fuel = 1n << 50n;
  guest.exports[name]?.(...args);
  return Number((1n << 50n) - guest.fuel);
}

/** A call with so much fuel: its result, or why it ended. */
function attempt(guest: Guest, fuel: number, name: string, ...args: number[]): number | string {
  guest.fuel = BigInt(fuel);
  try {
    return guest.exports[name]?.(...args) as number;
  } catch (error) {
    if (error instanceof RangeError) return 'stack';
    return guest.fuel < 0n ? 'fuel' : 'trap';
  }
}

// A loop that counts its parameter down: local.get 0, i32.const 1, i32.sub, local.tee 0, br_if 0.
const countDown = [0x03, 0x40, 0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b];

test('an endless loop ends when the fuel is used up', () => {
  const guest = handMade({
    types: [nothing],
    functions: [{ type: 0, export: 'f', code: [0x03, 0x40, 0x0c, 0, 0x0b] }],
  });
  assert.is(attempt(guest, 1_000_000, 'f'), 'fuel');
  assert.is(attempt(guest, 0, 'f'), 'fuel');
});

test('endless recursion ends by fuel or by the stack, and the instance goes on', async () => {
  const bytes = await compileText(`
    export function down(n: i32): i32 { return n <= 0 ? 0 : down(n - 1) + 1; }
    export function twice(n: i32): i32 { return n <= 0 ? 1 : twice(n - 1) + twice(n - 1); }`);
  const guest = open(bytes);
  assert.is(attempt(guest, 1_000_000, 'twice', 60), 'fuel');
  assert.is(attempt(guest, 1_000_000_000, 'down', 100_000_000), 'stack');
  assert.is(attempt(guest, 1_000_000, 'down', 100), 100);
});

test('a call takes the same fuel each time, and ends when it has one less', async () => {
  const bytes = await compileText(`
    export function work(n: i32): i32 {
      let sum = 0;
      for (let i = 0; i < n; i++) for (let j = 0; j < i; j++) if ((i ^ j) % 3 == 1) sum += i * j; else sum--;
      return sum;
    }`);
  const guest = open(bytes);
  const used = use(guest, 'work', 20);
  assert.is(use(guest, 'work', 20), used);
  const result = attempt(guest, used, 'work', 20);
  assert.is(result, (instanceOf(bytes).exports as Guest['exports']).work?.(20));
  assert.is(attempt(guest, used - 1, 'work', 20), 'fuel');
});

test('each turn of a loop costs its instructions', () => {
  const guest = handMade({
    types: [{ params: ['i32'], results: [] }],
    functions: [{ type: 0, export: 'f', code: countDown }],
  });
  // Five instructions, and four for the loop.
  assert.is(use(guest, 'f', 101) - use(guest, 'f', 1), 100 * 9);
});

test('of two branches the longer one counts, of nested loops each its own', async () => {
  const nops = (count: number) => new Array(count).fill([0x41, 0, 0x1a]).flat();
  // if (local 0) { 10 pairs } else { 3 pairs }, in a function that a loop keeps from being free.
  const branches = [0x20, 0, 0x04, 0x40, ...nops(10), 0x05, ...nops(3), 0x0b, ...countDown];
  const guest = handMade({
    types: [{ params: ['i32'], results: [] }],
    functions: [{ type: 0, export: 'f', code: branches }],
  });
  const once = use(guest, 'f', 1);
  const plain = handMade({
    types: [{ params: ['i32'], results: [] }],
    functions: [{ type: 0, export: 'f', code: countDown }],
  });
  assert.is(once - use(plain, 'f', 1), 2 + 20);
});

test('another trap is told from used up fuel', () => {
  const guest = handMade({
    types: [{ params: ['i32'], results: [] }],
    functions: [{ type: 0, export: 'f', code: [...countDown, 0x00] }],
  });
  assert.is(attempt(guest, 1_000, 'f', 3), 'trap');
  assert.is(attempt(guest, 1_000, 'f', 1_000), 'fuel');
});

test('functions that can not go on for long cost their callers, not the host', () => {
  const twoPlus = [0x20, 0, 0x41, 2, 0x6a];
  const guest = handMade({
    types: [i32ToI32],
    functions: [
      { type: 0, export: 'free', code: twoPlus },
      // A loop around a call of it: (loop (call free) (drop) count down) 0
      { type: 0, export: 'loop', code: [0x03, 0x40, 0x20, 0, 0x10, 0, 0x1a, ...countDown.slice(2, -1), 0x0b, 0x20, 0] },
    ],
  });
  assert.is(use(guest, 'free', 1), 0);
  assert.is(use(guest, 'loop', 11) - use(guest, 'loop', 1), 10 * (4 + 1 + (4 + 3) + 1 + 5));
});

test('short functions that call each other are bounded all the same', () => {
  // f0 is short; each calls the one before twice: without a bound the last would be 2^40 instructions.
  const functions = Array.from({ length: 40 }, (_, i) => ({
    type: 0,
    export: `f${i}`,
    code: i === 0 ? [0x20, 0] : [0x20, 0, 0x10, i - 1, 0x10, i - 1],
  }));
  assert.is(attempt(handMade({ types: [i32ToI32], functions }), 1_000_000, 'f39', 1), 'fuel');
});

test('fuel goes through calls, tables and tail calls', () => {
  const types = [i32ToI32, { params: ['i32'], results: [] } as Signature];
  const guest = handMade({
    types,
    functions: [
      { type: 0, export: 'direct', code: [...countDown, 0x41, 100, 0x10, 1] },
      // Calls itself for ever through the table.
      { type: 0, export: 'indirect', code: [...countDown, 0x41, 5, 0x41, 0, 0x11, 0, 0] },
      { type: 0, export: 'tail', code: [0x20, 0, 0x12, 2] },
      { type: 0, export: 'tailIndirect', code: [...countDown, 0x41, 5, 0x41, 1, 0x13, 0, 0] },
    ],
    sections: { 4: Uint8Array.of(1, 0x70, 0, 2), 9: Uint8Array.of(1, 0, 0x41, 0, 0x0b, 2, 1, 3) },
  });
  for (const name of ['tail', 'tailIndirect']) assert.is(attempt(guest, 100_000, name, 1), 'fuel');
  for (const name of ['direct', 'indirect']) assert.is(attempt(guest, 10_000, name, 1), 'fuel');
});

test('all ways out of a function put the fuel back', () => {
  // Several results; by return, by a jump out of the function, by a table of jumps, by its end.
  const pair: Signature = { params: ['i32'], results: ['i32', 'i64'] };
  const values = [0x41, 7, 0x42, 9];
  const ways: Record<string, number[]> = {
    return: [...values, 0x0f],
    branch: [...values, 0x0c, 0],
    nested: [0x02, 0x40, 0x02, 0x40, ...values, 0x0c, 2, 0x0b, 0x0b, ...values],
    returnInside: [0x02, 0x40, 0x41, 1, 0x04, 0x40, ...values, 0x0f, 0x0b, 0x0b, ...values],
    table: [...values, 0x41, 3, 0x0e, 1, 0, 0],
    conditional: [...values, 0x41, 1, 0x0d, 0],
    end: values,
    dead: [...values, 0x0f, 0x03, 0x40, 0x0c, 0, 0x0b],
  };
  for (const [name, way] of Object.entries(ways)) {
    const bytes = moduleOf({ types: [pair], functions: [{ type: 0, export: 'f', code: [...countDown, ...way] }] });
    assert.ok(isValid(bytes), name);
    const guest = open(bytes);
    guest.fuel = 100_000n;
    assert.equal(guest.exports.f?.(5) as unknown, [7, 9n], name);
    const first = guest.fuel;
    guest.exports.f?.(5);
    assert.is(guest.fuel, first * 2n - 100_000n, name);
    assert.ok(first < 100_000n - 5n * 9n + 1n, name);
  }
});

test('operations on memory cost by their length', () => {
  const operation = (code: number[]): HandMade => ({
    types: [{ params: ['i32'], results: [] }],
    functions: [{ type: 0, export: 'f', code: [0x41, 0, 0x41, 0, 0x20, 0, 0xfc, ...code] }],
    sections: { 5: Uint8Array.of(1, 0, 16), 11: Uint8Array.of(1, 1, 0), 12: Uint8Array.of(1) },
  });
  for (const code of [
    [11, 0],
    [10, 0, 0],
  ]) {
    const guest = handMade(operation(code));
    assert.is(use(guest, 'f', 1 << 20) - use(guest, 'f', 0), 1 << 18);
    assert.is(attempt(guest, 10_000, 'f', 1 << 20), 'fuel');
  }
  // A length of 4 GB is no negative one.
  assert.is(attempt(handMade(operation([8, 0, 0])), 1_000_000, 'f', -1), 'fuel');
});

test('operations on tables cost by their length', () => {
  const guest = handMade({
    types: [{ params: ['i32'], results: [] }],
    functions: [
      { type: 0, export: 'fill', code: [0x41, 0, 0xd0, 0x70, 0x20, 0, 0xfc, 17, 0] },
      { type: 0, export: 'copy', code: [0x41, 0, 0x41, 0, 0x20, 0, 0xfc, 14, 0, 0] },
      { type: 0, export: 'init', code: [0x41, 0, 0x41, 0, 0x20, 0, 0xfc, 12, 0, 0] },
      { type: 0, export: 'grow', code: [0xd0, 0x70, 0x20, 0, 0xfc, 15, 0, 0x1a] },
    ],
    sections: { 4: Uint8Array.of(1, 0x70, 0, 100), 9: Uint8Array.of(1, 1, 0, 3, 0, 1, 2) },
  });
  assert.is(use(guest, 'fill', 100) - use(guest, 'fill', 0), 100 * 256);
  assert.is(use(guest, 'copy', 100) - use(guest, 'copy', 0), 100 * 256);
  assert.is(use(guest, 'init', 3) - use(guest, 'init', 0), 3 * 256);
  assert.is(use(guest, 'grow', 10) - use(guest, 'grow', 0), 10 * 64);
  assert.is(attempt(guest, 2_000, 'fill', 100), 'fuel');
});

test('memory and tables grow up to the limit, what was asked in vain costs no more than the asking', () => {
  const grow: HandMade = {
    types: [i32ToI32],
    functions: [
      { type: 0, export: 'memory', code: [0x20, 0, 0x40, 0] },
      { type: 0, export: 'table', code: [0xd0, 0x70, 0x20, 0, 0xfc, 15, 0] },
    ],
    sections: { 4: Uint8Array.of(1, 0x70, 0, 1), 5: Uint8Array.of(1, 0, 1) },
  };
  const metered = meter(moduleOf(grow), { ...defaultLimits, memoryPages: 8, tableEntries: 50 });
  assert.equal(inspect(metered).memory, { min: 1, max: 8, isImported: false });
  assert.equal(inspect(metered).tables[0], { of: 'funcref', min: 1, max: 50 });
  const exports = instanceOf(metered).exports as unknown as Guest['exports'];
  const fuel = exports[fuelExport] as unknown as { value: bigint };
  fuel.value = 1_000_000n;
  assert.equal([exports.memory?.(8), exports.memory?.(7), exports.memory?.(1)], [-1, 1, -1]);
  assert.ok(fuel.value > 1_000_000n - 3n * 4_100n - 7n * 1_024n);
  assert.equal([exports.table?.(50), exports.table?.(49), exports.table?.(1)], [-1, 1, -1]);
  assert.is(attempt(handMade(grow), 10_000, 'memory', 100), 'fuel');
});

test('maxima that the module has stay when they are lower; imported ones are bounded as well', () => {
  const name = (text: string) => [text.length, ...Buffer.from(text)];
  const own = moduleOf({ types: [], functions: [], sections: { 5: Uint8Array.of(1, 1, 1, 3) } });
  assert.equal(inspect(meter(own)).memory, { min: 1, max: 3, isImported: false });
  const imports = Uint8Array.of(
    2,
    ...name('env'),
    ...name('memory'),
    2,
    0,
    1,
    ...name('env'),
    ...name('table'),
    1,
    0x70,
    0,
    4,
  );
  const shape = inspect(meter(moduleOf({ types: [], functions: [], sections: { 2: imports } })));
  assert.equal(shape.memory, { min: 1, max: defaultLimits.memoryPages, isImported: true });
  assert.equal(shape.tables[0], { of: 'funcref', min: 4, max: defaultLimits.tableEntries });
});

test('the start function becomes an export that the host calls with fuel', () => {
  const bytes = moduleOf({
    types: [nothing],
    functions: [{ type: 0, code: [0x03, 0x40, 0x0c, 0, 0x0b] }],
    sections: { 8: Uint8Array.of(0) },
  });
  const guest = open(bytes);
  assert.is(inspect(meter(bytes)).hasStart, false);
  assert.is(attempt(guest, 100_000, startExport), 'fuel');
});

test('imports of the host see the fuel that is left, and may take some', () => {
  const imported = Uint8Array.of(1, 3, ...Buffer.from('env'), 4, ...Buffer.from('take'), 0, 0);
  const bytes = moduleOf(
    {
      types: [nothing, { params: ['i32'], results: [] }],
      functions: [{ type: 1, export: 'f', code: [0x03, 0x40, 0x10, 0, ...countDown.slice(2, -1), 0x0b] }],
      sections: { 2: imported },
    },
    1,
  );
  const seen: bigint[] = [];
  const guest = open(bytes, {
    env: {
      take: () => {
        seen.push(guest.fuel);
        guest.fuel -= 100n;
      },
    },
  });
  guest.fuel = 10_000n;
  guest.exports.f?.(3);
  assert.is(seen.length, 3);
  assert.is((seen[0] as bigint) - (seen[1] as bigint), 100n + 13n);
  assert.is((seen[2] as bigint) - 100n, guest.fuel);
});

test('custom sections about places in the code are left out, names are kept', () => {
  const bytes = moduleOf({
    types: [nothing],
    functions: [{ type: 0, export: 'f', code: [0x00] }],
  });
  const custom = (name: string, ...data: number[]) => [
    0,
    name.length + 1 + data.length,
    name.length,
    ...Buffer.from(name),
    ...data,
  ];
  const names = [1, 6, 1, 0, 3, ...Buffer.from('abc')];
  const all = Uint8Array.of(...bytes, ...custom('.debug_info', 1, 2), ...custom('name', ...names));
  const metered = meter(all);
  assert.equal(
    inspect(metered).customSections.map((section) => section.name),
    ['name'],
  );
  try {
    (instanceOf(metered).exports as unknown as Guest['exports']).f?.();
    assert.unreachable();
  } catch (error) {
    assert.match(String((error as Error).stack), /abc/);
  }
});

test('what is not valid and what takes reserved names is refused', () => {
  const badCode = moduleOf({ types: [nothing], functions: [{ type: 0, code: [0x6a] }] });
  assert.throws(
    () => meter(badCode),
    (error: unknown) => error instanceof WasmError && /^the module is not valid: .*i32\.add/.test(error.message),
  );
  // The global would be there in the metered module.
  const forged = moduleOf({ types: [nothing], functions: [{ type: 0, code: [0x42, 0, 0x24, 0] }] });
  assert.throws(() => meter(forged), /^WasmError: the module is not valid|the module is not valid/);
  const taken = moduleOf({ types: [nothing], functions: [{ type: 0, export: 'haumea:fuel', code: [] }] });
  assert.throws(() => meter(taken), 'the module exports "haumea:fuel": names that begin with haumea: are reserved');
});

test('the same module gives the same bytes', async () => {
  const bytes = await compileText('export function f(n: i32): i32 { let s = 0; while (n--) s += n; return s; }');
  assert.equal(meter(bytes), meter(bytes));
});

test('a database of others, with fuel, answers as it did', async () => {
  const require = createRequire(import.meta.url);
  const path = require.resolve('sql.js/dist/sql-wasm.wasm');
  const initSqlJs = require('sql.js') as (options: object) => Promise<{ Database: new () => Database }>;
  interface Database {
    exec(sql: string): unknown;
    close(): void;
  }
  const plain = new Uint8Array(readFileSync(path));
  const statements = `CREATE TABLE t (a INTEGER, b TEXT, c REAL); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT \
i + 1 FROM n WHERE
    i < 2000) INSERT INTO t SELECT i, printf('%05d-%x', i, i * 7), i / 7.0 FROM n; CREATE INDEX x ON t (b);
    SELECT count(*), sum(a), avg(c), max(b) FROM t WHERE b LIKE '%a%'; SELECT a % 13 AS g, group_concat(b) FROM t \
WHERE a < 100 GROUP BY g ORDER BY g;`;
  const answers: unknown[] = [];
  for (const bytes of [plain, meter(plain, { ...defaultLimits, memoryPages: 32_768 })]) {
    const instantiateWasm = (imports: object, done: (instance: WebAssembly.Instance) => void) => {
      const instance = instanceOf(bytes, imports);
      const fuel = (instance.exports as Record<string, unknown>)[fuelExport] as { value: bigint } | undefined;
      if (fuel !== undefined) fuel.value = 1n << 60n;
      done(instance);
      return instance.exports;
    };
    // The package gives the same instance to all: a fresh one for each.
    delete require.cache[require.resolve('sql.js')];
    const fresh = require('sql.js') as typeof initSqlJs;
    const { Database } = await fresh({ instantiateWasm });
    const database = new Database();
    answers.push(database.exec(statements));
    database.close();
  }
  assert.ok(Array.isArray(answers[0]) && answers[0].length === 2);
  assert.equal(answers[1], answers[0]);
});

test.run();
