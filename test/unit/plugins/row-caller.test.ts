/** A function of numbers called for each row of a batch, from Wasm to Wasm. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { rowCallerFor } from '../../../host/plugins/wasm/adapters/row-caller.js';
import {
  Misfit,
  markOf,
  type RowCallerExports,
  type RowCallerShape,
  reasonAgainst,
} from '../../../host/plugins/wasm/adapters/row-caller-form.js';
import { inspect } from '../../../host/plugins/wasm/binary/inspect.js';
import type { Signature, ValueType } from '../../../host/plugins/wasm/binary/types.js';
import { inlineFunctions } from '../../../host/plugins/wasm/passes/inline.js';
import { meter } from '../../../host/plugins/wasm/passes/meter.js';
import type { InlineFunction } from '../../../host/plugins/wasm/passes/pass.js';
import { unchargedFunctions } from '../../../host/plugins/wasm/passes/uncharged.js';
import { argument, Tag } from '../../../kernels/gen/layouts.js';
import { Instant, type Value, ValueAccess, ValueError } from '../../../kernels/values/value.js';
import { compileText, instanceOf, int64Global, isValid, moduleOf } from '../../support/plugins/modules.js';
import { randomFrom } from '../../support/plugins/programs.js';

const rowsAtMost = 64;
const selAt = 1024;
const tableAt = 2048;
const columnsAt = 4096;
const columnBytes = rowsAtMost * 9;
const scratchAt = 32_768;

/** Columns in a memory as the kernel lends them, and a row caller over them. */
class Batch {
  readonly memory = new WebAssembly.Memory({ initial: 1 });
  readonly fuel = int64Global();
  readonly access: ValueAccess;
  readonly caller: RowCallerExports;
  #scratch = scratchAt;

  /** `call` stands for the guest. */
  constructor(
    readonly signature: Signature,
    call: (...args: never[]) => unknown,
    how: RowCallerShape = { hasDenseLoop: true },
  ) {
    this.access = new ValueAccess(this.memory, (size) => {
      const at = this.#scratch;
      this.#scratch += (size + 15) & ~15;
      return at;
    });
    const imports = { kernel: { memory: this.memory }, guest: { call, fuel: this.fuel } };
    this.caller = instanceOf(rowCallerFor(signature, how), imports).exports as unknown as RowCallerExports;
    this.caller.callFuel.value = 1000n;
    this.caller.batchFuel.value = 1_000_000n;
  }

  get results(): number {
    return columnsAt + this.signature.params.length * columnBytes;
  }

  get resultTags(): number {
    return this.results + rowsAtMost * 8;
  }

  /** Writes a column of arguments; one with a single value is a constant. */
  fill(i: number, values: readonly Value[], isConstant = false): void {
    const view = this.access.view();
    const vals = columnsAt + i * columnBytes;
    const tags = vals + rowsAtMost * 8;
    const entry = tableAt + i * argument.size;
    view.setUint32(entry + argument.at.vals, vals, true);
    view.setUint32(entry + argument.at.tags, tags, true);
    view.setUint32(entry + argument.at.stride, isConstant ? 0 : 1, true);
    values.forEach((value, row) => {
      this.access.view().setUint8(tags + row, this.access.write(vals + row * 8, value));
    });
  }

  select(rows: readonly number[]): void {
    rows.forEach((row, k) => {
      this.access.view().setUint32(selAt + k * 4, row, true);
    });
  }

  run(count: number, from = 0): number {
    return this.caller.run(from, count, selAt, tableAt, this.results, this.resultTags);
  }

  result(row: number): unknown {
    const at = this.results + row * 8;
    const tag = this.access.view().getUint8(this.resultTags + row);
    const mark = tag === Tag.error ? markOf(this.access.view().getUint32(at, true)) : undefined;
    if (mark !== undefined && this.access.view().getUint32(at + 4, true) === 0) return mark;
    return this.access.read(tag, at);
  }
}

function calls(
  signature: Signature,
  call: (...args: never[]) => unknown,
  columns: readonly (readonly Value[])[],
  inlined?: InlineFunction,
): unknown[] {
  const batch = new Batch(signature, call, { inlined, hasDenseLoop: true });
  const rows = columns[0]?.length ?? 0;
  batch.select(Array.from({ length: rows }, (_, row) => row));
  columns.forEach((values, i) => {
    batch.fill(i, values);
  });
  const marked = batch.run(rows);
  const results = Array.from({ length: rows }, (_, row) => batch.result(row));
  assert.is(results.filter((one) => typeof one === 'object' && one !== null && 'misfit' in one).length, marked);
  return results;
}

/** Stands for a guest that must not be called. */
const never = () => {
  throw new Error('it was called');
};

const one = (param: ValueType, result: ValueType): Signature => ({ params: [param], results: [result] });
const misfit = (reason: keyof typeof Misfit, i = 0) => ({ argument: i, misfit: Misfit[reason] });
const same = ((x: unknown) => x) as never;

test('a double takes doubles and whole numbers', () => {
  const results = calls(one('f64', 'f64'), same, [[1.5, -3n, 2n ** 53n + 1n, Number.NaN, Number.POSITIVE_INFINITY]]);
  assert.equal(results, [1.5, -3, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY]);
});

test('a float takes the nearest number that it has', () => {
  assert.equal(calls(one('f32', 'f32'), same, [[0.1, 16_777_217n, -1e300]]), [
    Math.fround(0.1),
    16_777_216,
    Number.NEGATIVE_INFINITY,
  ]);
});

test('i32 takes whole numbers of its range alone', () => {
  const values = [
    7n,
    -(2n ** 31n),
    2n ** 31n - 1n,
    2n ** 31n,
    -(2n ** 31n) - 1n,
    2n ** 40n,
    3,
    -2.5,
    2 ** 31,
    Number.NaN,
    1e300,
    true,
  ];
  assert.equal(calls(one('i32', 'i32'), same, [values]), [
    7n,
    -(2n ** 31n),
    2n ** 31n - 1n,
    misfit('range'),
    misfit('range'),
    misfit('range'),
    3n,
    misfit('fraction'),
    misfit('range'),
    misfit('fraction'),
    misfit('range'),
    1n,
  ]);
});

test('i64 takes all whole numbers, doubles only where they are in its range', () => {
  const values = [2n ** 63n - 1n, -(2n ** 63n), -(2 ** 63), 2 ** 63, 1e18, 0.5, Number.NEGATIVE_INFINITY, false];
  assert.equal(calls(one('i64', 'i64'), same, [values]), [
    2n ** 63n - 1n,
    -(2n ** 63n),
    -(2n ** 63n),
    misfit('range'),
    10n ** 18n,
    misfit('fraction'),
    misfit('range'),
    0n,
  ]);
});

test('what is no number is marked for its error', () => {
  const odd: Value[] = ['7', new Uint8Array(2), [1n], { a: 1n }, new Instant(5n)];
  for (const type of ['i32', 'i64', 'f32', 'f64'] as const) {
    assert.equal(
      calls(one(type, 'i32'), (() => 0) as never, [odd]),
      odd.map(() => misfit('type')),
    );
  }
  assert.equal(calls(one('f64', 'f64'), same, [[true]]), [misfit('type')]);
});

test('NULL and missing arguments give NULL, errors stay themselves, without a call', () => {
  let count = 0;
  const add = ((a: number, b: bigint) => {
    count++;
    return a + Number(b);
  }) as never;
  const broken = new ValueError('broken');
  const results = calls({ params: ['f64', 'i64'], results: ['f64'] }, add, [
    [1, null, 2, undefined, null, 3, 'text', 4],
    [1n, 1n, null, 'text', broken, 'text', null, 2n],
  ]);
  assert.equal(results, [2, null, null, null, broken, misfit('type', 1), null, 6]);
  assert.is(count, 2);
});

test('rows are those selected, constants have one value for all', () => {
  const batch = new Batch({ params: ['i64', 'i64'], results: ['i64'] }, ((a: bigint, b: bigint) => a * b) as never);
  batch.fill(0, [1n, 2n, 3n, 4n]);
  batch.fill(1, [10n], true);
  batch.select([3, 1]);
  assert.is(batch.run(2), 0);
  assert.equal([batch.result(0), batch.result(1), batch.result(2), batch.result(3)], [undefined, 20n, undefined, 40n]);
});

test('a function without parameters is called for each row', () => {
  let count = 0;
  const batch = new Batch({ params: [], results: ['i32'] }, (() => ++count) as never);
  batch.select([0, 1, 2]);
  batch.run(3);
  assert.equal(
    [0, 1, 2].map((row) => batch.result(row)),
    [1n, 2n, 3n],
  );
});

test('a trap says its row, and the batch goes on behind it', () => {
  const batch = new Batch(one('i64', 'i64'), ((x: bigint) => {
    if (x === 2n) throw new Error('trapped');
    return x;
  }) as never);
  batch.fill(0, [5n, 1n, 2n, 3n]);
  batch.select([1, 2, 3]);
  assert.throws(() => batch.run(3), 'trapped');
  assert.is(batch.caller.at.value, 1);
  assert.is(batch.run(3, 2), 0);
  assert.equal([batch.result(1), batch.result(3)], [1n, 3n]);
});

test('each call has its fuel, all together that of the batch', () => {
  const given: bigint[] = [];
  const batch = new Batch(one('i64', 'i64'), ((x: bigint) => {
    given.push(batch.fuel.value);
    if (x < 0n) throw new Error('trapped');
    batch.fuel.value = batch.fuel.value - x;
    return x;
  }) as never);
  batch.caller.callFuel.value = 100n;
  batch.caller.batchFuel.value = 250n;
  batch.fill(0, [40n, 100n, -1n, 9n]);
  batch.select([0, 1, 2, 3]);
  assert.throws(() => batch.run(4), 'trapped');
  assert.is(batch.caller.batchFuel.value, 10n);
  batch.run(4, 3);
  assert.equal(given, [100n, 100n, 100n, 10n]);
  assert.is(batch.caller.batchFuel.value, 1n);
});

test('a function that only computes does the same inside of its caller', async () => {
  const guest = await compileText(`
    export function linear(a: f64, b: f64): f64 { return a * b + 1; }
    export function grade(a: f64, b: f64): f64 {
      if (a < 0) return -1;
      let level = 0;
      if (a > 10) level = 1;
      if (a > 100) { level = 2; if (b > a) return <f64>level + 0.5; }
      return <f64>level * b;
    }
    export function quotient(a: f64, b: f64): f64 { return <f64>(<i32>a / <i32>b); }
    export function counted(a: f64, b: f64): f64 { let sum = 0.0; for (let i = 0.0; i < a; i++) sum += b; return sum; }
    let last = 0.0;
    export function previous(a: f64, b: f64): f64 { const before = last; last = a; return before; }`);
  const pure = inlineFunctions(meter(guest));
  assert.equal([...pure.keys()].sort(), ['grade', 'linear', 'quotient']);
  const signature: Signature = { params: ['f64', 'f64'], results: ['f64'] };
  const a = [1, -3, 50n, 500, 200, null, 7.5, 11];
  const b = [2, 2.5, 3, 600n, 1, 5, Number.NaN, -1];
  for (const name of ['grade', 'linear']) {
    const call = (instanceOf(guest).exports as Record<string, unknown>)[name] as () => unknown;
    assert.equal(calls(signature, never, [a, b], pure.get(name)), calls(signature, call, [a, b]), name);
  }
  // Many rows are taken together.
  const many = Array.from({ length: 60 }, (_, i) => i * 7.5 - 40);
  const others = many.map((x) => 100 - x);
  for (const name of ['grade', 'linear', 'quotient']) {
    const call = (instanceOf(guest).exports as Record<string, unknown>)[name] as () => unknown;
    const results = calls(signature, never, [many, others], pure.get(name));
    assert.equal(results, calls(signature, call, [many, others]), name);
  }
  const batch = new Batch(signature, never, { inlined: pure.get('quotient'), hasDenseLoop: true });
  batch.fill(0, [7, 8, 9]);
  batch.fill(1, [2, 0, 3]);
  batch.select([0, 1, 2]);
  assert.throws(() => batch.run(3), /divide by zero/);
  assert.is(batch.caller.at.value, 1);
  batch.run(3, 2);
  assert.equal([batch.result(0), batch.result(2)], [3, 3]);
});

test('what touches memory, types or functions of its module is not taken out of it', () => {
  const type: Signature = { params: ['i32'], results: ['i32'] };
  const bodies: Record<string, number[]> = {
    memory: [0x41, 0, 0x28, 2, 0],
    size: [0x3f, 0],
    global: [0x23, 0],
    call: [0x20, 0, 0x10, 0],
    loop: [0x03, 0x40, 0x0b, 0x20, 0],
    typed: [0x20, 0, 0x02, 0, 0x0b],
    table: [0x41, 0, 0x25, 0, 0x1a, 0x20, 0],
    reference: [0xd2, 0, 0x1a, 0x20, 0],
    plain: [0x02, 0x7f, 0x20, 0, 0x0b],
  };
  const bytes = moduleOf({
    types: [type],
    functions: Object.entries(bodies).map(([name, code]) => ({ type: 0, export: name, code })),
    sections: {
      4: Uint8Array.of(1, 0x70, 0, 1),
      5: Uint8Array.of(1, 0, 1),
      6: Uint8Array.of(1, 0x7f, 0, 0x41, 0, 0x0b),
    },
  });
  assert.ok(isValid(bytes));
  assert.equal([...inlineFunctions(bytes).keys()], ['plain']);
});

test('rows are the same whether they are taken together or one by one', () => {
  const random = randomFrom(20_491);
  const types: ValueType[] = ['i32', 'i64', 'f32', 'f64'];
  const value = (type: ValueType): Value => {
    const whole = type === 'i32' || type === 'i64';
    if (random(40) === 0)
      return [null, undefined, true, 'text', 1.5, 3n, 2n ** 40n, 7, new ValueError('bad')][random(9)];
    return whole ? BigInt(random(1000)) - 500n : (random(1000) - 500) / 4;
  };
  for (let round = 0; round < 120; round++) {
    const params = Array.from({ length: random(4) }, () => types[random(4)] as ValueType);
    const results = [types[random(4)] as ValueType];
    // One that traps at some arguments, and leaves the fuel as it is where it is said to be free.
    const call = (...args: (number | bigint)[]) => {
      const sum = args.reduce((all: number, one, i) => all + Number(one) * (i + 1), 1);
      if (Math.trunc(sum) % 37 === 5) throw new Error('trap');
      return results[0] === 'i64' ? BigInt(Math.trunc(sum)) : sum;
    };
    const isUncharged = random(2) === 0;
    const count = 1 + random(rowsAtMost - 16);
    const rows: number[] = [];
    for (let row = 0; rows.length < count; row += random(12) === 0 ? 2 : 1) rows.push(row);
    const isShuffled = random(6) === 0;
    if (isShuffled) rows.sort((a, b) => (a % 5) - (b % 5));
    const size = Math.max(...rows) + 1;
    if (size > rowsAtMost) continue;
    const constant = random(3);
    const columns = params.map((type, i) => Array.from({ length: i === constant ? 1 : rowsAtMost }, () => value(type)));
    const inPlace = params.length > 0 && constant !== 0 && random(3) === 0;
    const run = (step: number) => {
      const batch = new Batch({ params, results }, call as never, { isUncharged, hasDenseLoop: true });
      columns.forEach((values, i) => {
        batch.fill(i, values, i === constant);
      });
      batch.select(rows);
      const to = inPlace ? columnsAt : batch.results;
      const trapped: number[] = [];
      let marked = 0;
      for (let from = 0; from < count; ) {
        const end = Math.min(count, from + step);
        try {
          marked += batch.caller.run(from, end, selAt, tableAt, to, to + rowsAtMost * 8);
          from = end;
        } catch (error) {
          assert.is((error as Error).message, 'trap');
          trapped.push(batch.caller.at.value);
          from = batch.caller.at.value + 1;
        }
      }
      const view = batch.access.view();
      const cells = rows
        .filter((_row, k) => !trapped.includes(k))
        .map((one) => [view.getUint8(to + rowsAtMost * 8 + one), view.getBigInt64(to + 8 * one, true)]);
      return { trapped, cells, marked: trapped.length === 0 ? marked : 0 };
    };
    const what = `${params} -> ${results}, round ${round}`;
    assert.equal(run(count), run(1), what);
  }
});

test('what charges nothing has its fuel once for all rows, and all of it is left', async () => {
  const guest = meter(
    await compileText(`
      let last = 0.0;
      export function previous(a: f64): f64 { const before = last; last = a; return before; }
      export function counted(a: f64): f64 { let sum = 0.0; for (let i = 0.0; i < a; i++) sum += i; return sum; }
      @inline function no(): f64 { return 0; }
      @external("env", "seed") declare function seed(): f64;
      export function calls(a: f64): f64 { return seed() + no(); }`),
  );
  assert.equal([...unchargedFunctions(guest)], ['previous']);
  let given: bigint | undefined;
  const batch: Batch = new Batch(
    one('f64', 'f64'),
    ((x: number) => {
      given = batch.fuel.value as bigint;
      return x;
    }) as never,
    { isUncharged: true, hasDenseLoop: true },
  );
  batch.fill(
    0,
    Array.from({ length: 20 }, (_, i) => i),
  );
  batch.select(Array.from({ length: 20 }, (_, i) => i));
  batch.run(20);
  assert.equal([given, batch.caller.batchFuel.value, batch.result(19)], [1000n, 1_000_000n, 19]);
});

test('what is no function of numbers with one result is refused with the reason', () => {
  assert.is(reasonAgainst(one('f64', 'i32')), undefined);
  assert.throws(
    () => rowCallerFor(one('v128', 'i32')),
    "(v128) -> i32 can't be called for each row: v128 is no number",
  );
  assert.throws(
    () => rowCallerFor({ params: [], results: [] }),
    "() -> nothing can't be called for each row: it gives no result",
  );
  assert.throws(() => rowCallerFor({ params: ['i32'], results: ['i32', 'f64'] }), 'it gives 2 results');
  assert.throws(() => rowCallerFor({ params: new Array(65).fill('i32'), results: ['i32'] }), 'it has 65 parameters');
});

test('a row caller needs the memory, the function and its fuel alone', () => {
  const { imports, exports } = inspect(rowCallerFor({ params: ['i32', 'f32'], results: ['f64'] }));
  assert.equal(
    imports.map(({ module, name }) => `${module}.${name}`),
    ['kernel.memory', 'guest.call', 'guest.fuel'],
  );
  assert.equal(
    exports.map(({ name }) => name),
    ['run', 'at', 'inUnrolled', 'callFuel', 'batchFuel', 'pauseAt'],
  );
});

test.run();
