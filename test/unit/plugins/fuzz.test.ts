/**
 * Modules that nobody wrote: damaged ones are refused with a reason or metered into valid ones, random programs do with
 * fuel what they did without.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { rowCallerFor } from '../../../host/plugins/wasm/adapters/row-caller.js';
import { WasmError } from '../../../host/plugins/wasm/binary/error.js';
import { inspect } from '../../../host/plugins/wasm/binary/inspect.js';
import { defaultLimits } from '../../../host/plugins/wasm/binary/limits.js';
import { fuelExport, meter, startExport } from '../../../host/plugins/wasm/passes/meter.js';
import { compileText, instanceOf, isValid } from '../../support/plugins/modules.js';
import { programOf, type Random, randomFrom, stepCost } from '../../support/plugins/programs.js';

const limits = { ...defaultLimits, memoryPages: 16, tableEntries: 1000 };
const plenty = 1n << 50n;

type Exports = Record<string, (...args: number[]) => number>;

function fuelOf(exports: Exports): { value: bigint } {
  return exports[fuelExport] as unknown as { value: bigint };
}

/** Numbers that are hard to read: large counts, several bytes for nothing, too long. */
const hard = [
  [0xff, 0xff, 0xff, 0xff, 0x0f],
  [0x80, 0x80, 0x00],
  [0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
  [0x7f],
  [0xfd],
  [0xfc],
];

/** Does something to the bytes: flips, cuts, puts in, repeats. */
function damage(bytes: Uint8Array, random: Random): Uint8Array {
  let result = [...bytes];
  for (let left = 1 + random(3); left > 0; left--) {
    // The head is hit seldom, or there would be little else.
    const at = random(20) === 0 ? random(result.length) : 8 + random(Math.max(1, result.length - 8));
    const to = Math.min(result.length, at + 1 + random(16));
    switch (random(6)) {
      case 0:
        result[at] = (result[at] ?? 0) ^ (1 << random(8));
        break;
      case 1:
        result[at] = random(256);
        break;
      case 2:
        result = random(4) === 0 ? result.slice(0, at) : [...result.slice(0, at), ...result.slice(to)];
        break;
      case 3:
        result.splice(at, 0, ...result.slice(at, to));
        break;
      case 4:
        result.splice(at, 1, ...(hard[random(hard.length)] as number[]));
        break;
      default:
        result[at] = ((result[at] ?? 0) + (random(2) === 0 ? 1 : 255)) & 0xff;
    }
  }
  return Uint8Array.from(result);
}

/** Returns the result, or undefined when the module was refused; any other error is a failure. */
function orRefused<T>(what: string, step: () => T): T | undefined {
  try {
    return step();
  } catch (error) {
    if (error instanceof WasmError) return undefined;
    throw new Error(`${what}: ${error instanceof Error ? error.stack : error}`);
  }
}

/** Runs all functions of a module that imports nothing: they end, whatever they do. */
function runAll(bytes: Uint8Array<ArrayBuffer>): void {
  let exports: Exports;
  try {
    exports = instanceOf(bytes).exports as unknown as Exports;
  } catch (error) {
    // Segments that lie outside.
    assert.ok(error instanceof Error && error.name === 'RuntimeError', String(error));
    return;
  }
  const fuel = fuelOf(exports);
  const { [startExport]: start, ...others } = exports;
  for (const call of [start, ...Object.values(others)]) {
    if (typeof call !== 'function') continue;
    fuel.value = 100_000n;
    try {
      call(3, 2, 1);
    } catch (error) {
      // A trap, the stack, a parameter that JavaScript can't give (a bigint, a vector).
      assert.ok(error instanceof Error, String(error));
    }
  }
}

test('damaged modules are refused with a reason, or are valid with fuel and end', async () => {
  const random = randomFrom(20_261);
  const bases = [
    programOf(random, 6),
    programOf(random, 3),
    rowCallerFor({ params: ['i32', 'f32'], results: ['i64'] }),
    await compileText(
      `let table: ((x: f64) => f64)[] = [(x: f64): f64 => x + 1, (x: f64): f64 => x * 2];
       export function each(n: i32): f64 { let x: f64 = 0; for (let i = 0; i < n; i++) x = table[i & 1](x); return x; }
       export function fill(n: i32): void { memory.fill(1024, 7, n); memory.grow(n); }
       export function vector(n: i32): i32 { return i32x4.extract_lane(i32x4.add(i32x4.splat(n), i32x4(1, 2, 3, \
4)), 2); }`,
      '--enable',
      'simd',
    ),
  ];
  let accepted = 0;
  let refused = 0;
  for (let round = 0; round < 3000; round++) {
    const base = bases[round % bases.length] as Uint8Array;
    const damaged = damage(base, random);
    const what = `round ${round}: ${Buffer.from(damaged).toString('base64')}`;
    const shape = orRefused(what, () => inspect(damaged, limits));
    const metered = orRefused(what, () => meter(damaged, limits));
    if (metered === undefined) {
      refused++;
      continue;
    }
    accepted++;
    assert.ok(shape !== undefined && isValid(metered), what);
    if (shape.imports.length === 0) runAll(metered);
  }
  assert.ok(accepted > 100 && refused > 1000, `${accepted} accepted, ${refused} refused`);
});

test('a large module that is damaged is refused, or is valid with fuel', () => {
  const random = randomFrom(7);
  const bytes = new Uint8Array(readFileSync(createRequire(import.meta.url).resolve('sql.js/dist/sql-wasm.wasm')));
  for (let round = 0; round < 12; round++) {
    const damaged = bytes.slice();
    for (let left = 1 + random(2); left > 0; left--) damaged[8 + random(bytes.length - 8)] = random(256);
    const metered = orRefused(`round ${round}`, () => meter(damaged));
    assert.ok(metered === undefined || isValid(metered));
  }
});

test('random programs give the same with fuel, take what they run at least, and end with one less', () => {
  const random = randomFrom(1_122);
  let charged = 0;
  for (let round = 0; round < 300; round++) {
    const count = 1 + random(8);
    const bytes = programOf(random, count);
    assert.ok(isValid(bytes));
    const plain = instanceOf(bytes).exports as unknown as Exports;
    const metered = instanceOf(meter(bytes)).exports as unknown as Exports;
    const fuel = fuelOf(metered);
    const steps = plain.steps as unknown as { value: number };
    for (let i = 0; i < count; i++) {
      const input = random(1000);
      const what = `round ${round}, f${i}(${input})`;
      const run = (of: Exports) => of[`f${i}`]?.(input);
      steps.value = 0;
      const result = run(plain);
      fuel.value = plenty;
      assert.is(run(metered), result, what);
      const used = plenty - fuel.value;
      if (used === 0n) continue;
      charged++;
      assert.ok(used >= BigInt(steps.value * stepCost), `${what}: ${steps.value} statements took ${used}`);
      fuel.value = used;
      assert.is(run(metered), result, what);
      assert.is(fuel.value, 0n, what);
      fuel.value = used - 1n;
      // It asks for more, and nobody gives it any.
      assert.throws(
        () => run(metered),
        (error: Error) => error.name === 'RuntimeError',
        what,
      );
      assert.ok(fuel.value < 0n, what);
    }
  }
  assert.ok(charged > 500, `${charged} calls were charged`);
});

test.run();
