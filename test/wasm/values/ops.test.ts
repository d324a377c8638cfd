import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ops } from '../../../kernels/gen/ops.js';
import { constantOf } from '../../../kernels/plan/evaluate.js';
import { type ConstValue, col, constant, NONE, type Op, type Operand } from '../../../kernels/plan/ir.js';
import { Instant, type Value, ValueError } from '../../../kernels/values/value.js';
import { naiveLists } from '../../support/kernel/naive-lists.js';
import { naive as naiveOperators } from '../../support/kernel/naive-ops.js';
import { VmKernel } from '../../support/kernel/vm-kernel.js';

const kernel = new VmKernel();
const naive = { ...naiveOperators, ...naiveLists };

// ---- values ---------------------------------------------------------------------------------------------------

const int = fc.oneof(
  fc.bigInt({ min: -5n, max: 5n }),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n + 1n),
);
const float = fc.oneof(
  fc.integer({ min: -5, max: 5 }).map(Number),
  fc.double(),
  fc.constantFrom(0, -0, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 9007199254740992),
);
const text = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'b', '%', '_', '.', '\n', 'é', 'c'), maxLength: 6 }),
  fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 14, maxLength: 40 }),
);
const instant = fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }).map((nanos) => new Instant(nanos));
const scalar: fc.Arbitrary<Value> = fc.oneof(fc.constant(null), fc.boolean(), int, float, text);
const array = fc.array(scalar, { maxLength: 4 }) as fc.Arbitrary<Value>;
const object = fc.dictionary(fc.constantFrom('a', 'b', 'ab', '', 'é'), scalar, { maxKeys: 4 }) as fc.Arbitrary<Value>;
const failure = fc.constant(new ValueError('broken'));
const anything: fc.Arbitrary<Value> = fc.oneof(
  { weight: 6, arbitrary: scalar },
  { weight: 1, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: instant },
  { weight: 2, arbitrary: array },
  { weight: 1, arbitrary: object },
  { weight: 1, arbitrary: failure },
);

const rows = 37;
/** A column of one kind, of one kind with nulls, or of everything. */
const column: fc.Arbitrary<Value[]> = fc
  .constantFrom<fc.Arbitrary<Value>>(
    float,
    float,
    int,
    text,
    fc.boolean(),
    fc.oneof(fc.constant(null), float),
    fc.oneof(fc.constant(undefined), text),
    fc.oneof(float, int),
    array,
    object,
    anything,
    anything,
  )
  .chain((kind) => fc.array(kind, { minLength: rows, maxLength: rows }));

const selection = fc.oneof(
  fc.constant(Array.from({ length: rows }, (_, i) => i)),
  fc.subarray(Array.from({ length: rows }, (_, i) => i)),
  fc.subarray([0, 5, 36]),
);

/** An operand: a column of the batch or a constant. */
type Source = { values: Value[]; fixed: false } | { value: Value; fixed: true };
const source: fc.Arbitrary<Source> = fc.oneof(
  { weight: 2, arbitrary: column.map((values) => ({ values, fixed: false as const })) },
  {
    weight: 1,
    arbitrary: fc.oneof(scalar, array, object).map((value) => ({ value, fixed: true as const })),
  },
);

/** Puts the sources into a batch, runs the op and returns what came out for the selected rows. */
function runOp(
  name: string,
  sources: Source[],
  selected: number[],
  place: (operands: Operand[]) => Partial<Op>,
): Value[] {
  const columns: Value[][] = [];
  const consts: ConstValue[] = [];
  const operands = sources.map((s) => {
    if (s.fixed) return constant(consts.push(constantOf(s.value)) - 1);
    return col(columns.push(s.values) - 1);
  });
  kernel.setBatch(columns, rows, selected);
  const op = { op: name as keyof typeof ops, dst: 3, ...place(operands) };
  return kernel.run({ ops: [op], consts }, selected, 3);
}

/** Errors compare by being one, numbers by their bits but for the payload of NaN. */
function same(a: Value, b: Value): boolean {
  if (a instanceof ValueError || b instanceof ValueError) {
    return a instanceof ValueError && b instanceof ValueError && a.message.length > 0;
  }
  if (a instanceof Instant && b instanceof Instant) return a.nanos === b.nanos;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((v, i) => same(v, b[i]));
  if (typeof a === 'object' && a !== null && typeof b === 'object' && b !== null && !Array.isArray(b)) {
    const [x, y] = [a as { [key: string]: Value }, b as { [key: string]: Value }];
    const keys = Object.keys(x);
    return keys.length === Object.keys(y).length && keys.every((key) => Object.hasOwn(y, key) && same(x[key], y[key]));
  }
  return Object.is(a, b);
}

const show = (v: unknown): string =>
  JSON.stringify(v, (_, x) =>
    typeof x === 'bigint' ? `${x}n` : x === undefined ? 'missing' : Object.is(x, -0) ? '-0' : x,
  );

function agrees(
  name: string,
  count: fc.Arbitrary<number>,
  place: (operands: Operand[]) => Partial<Op>,
  numRuns: number,
  operand: fc.Arbitrary<Source> = source,
): void {
  const twin = naive[name];
  if (twin === undefined) throw new Error(`no twin of ${name}`);
  const inputs = count.chain((n) => fc.array(operand, { minLength: n, maxLength: n }));
  const report = fc.check(
    fc.property(inputs, selection, (sources, selected) => {
      const got = runOp(name, sources, selected, place);
      selected.forEach((row, k) => {
        const args = sources.map((s) => (s.fixed ? s.value : s.values[row]));
        const wanted = twin(...args);
        if (!same(got[k], wanted)) {
          throw new Error(`${name}(${args.map(show).join(', ')}) gave ${show(got[k])}, not ${show(wanted)}`);
        }
      });
    }),
    { numRuns },
  );
  if (report.failed) throw new Error(`${String(report.errorInstance)} (seed ${report.seed})`);
}

// ---- every operator against its twin --------------------------------------------------------------------------

for (const name of Object.keys(naive)) {
  const operands: readonly string[] = ops[name as keyof typeof ops].operands;
  test(`${name} agrees with its naive twin`, () => {
    if (operands.includes('a') && operands.includes('args')) {
      agrees(name, fc.integer({ min: 1, max: 5 }), ([a, ...args]) => ({ a, args }), 150);
    } else if (operands.includes('args')) {
      agrees(name, fc.integer({ min: 0, max: 5 }), (args) => ({ args }), 150);
    } else {
      const n = operands.length;
      agrees(name, fc.constant(n), ([a, b, c]) => ({ a, b, c }), 200);
    }
  });
}

test('objects, some of them null, missing, empty or broken, become one as in the naive twin', () => {
  const part: fc.Arbitrary<Value> = fc.oneof(
    { weight: 12, arbitrary: object },
    { weight: 1, arbitrary: fc.constantFrom<Value>(null, undefined, {}) },
    { weight: 1, arbitrary: fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, failure, instant) },
  );
  const operand: fc.Arbitrary<Source> = fc.oneof(
    fc.array(part, { minLength: rows, maxLength: rows }).map((values) => ({ values, fixed: false as const })),
    object.map((value) => ({ value, fixed: true as const })),
  );
  agrees('nested.concat', fc.integer({ min: 1, max: 5 }), (args) => ({ args }), 200, operand);
});

test('an open slice bound is the start or the end', () => {
  const values: Value[] = [[1, 2, 3]];
  kernel.setBatch([values], 1, [0]);
  const slice = (b: Operand, c: Operand) =>
    kernel.run({ ops: [{ op: 'nested.slice', dst: 0, a: col(0), b, c }], consts: [{ tag: 'i64', value: 1n }] }, [0], 0);
  assert.equal(slice(NONE, NONE), [[1, 2, 3]]);
  assert.equal(slice(constant(0), NONE), [[2, 3]]);
  assert.equal(slice(NONE, constant(0)), [[1]]);
});

test('an object is built without missing members, the last of equal keys counts', () => {
  kernel.setBatch([[undefined], [null]], 1, [0]);
  const consts: ConstValue[] = ['b', 'a', 'b', 'c'].map((value) => ({ tag: 'str', value }));
  const args = [constant(0), constant(1), constant(1), col(1), constant(2), constant(3), constant(3), col(0)];
  assert.equal(kernel.run({ ops: [{ op: 'nested.objectOf', dst: 0, args }], consts }, [0], 0), [{ a: null, b: 'c' }]);
});

test('merging sets, replaces and removes members', () => {
  kernel.setBatch([[{ a: 1, b: 2, d: 4 }], [null], [undefined]], 1, [0]);
  const consts: ConstValue[] = [
    ...['b', 'c', 'a', 'd'].map((value): ConstValue => ({ tag: 'str', value })),
    { tag: 'i64', value: 7n },
    { tag: 'missing' },
  ];
  const args = [constant(0), constant(4), constant(1), col(1), constant(2), constant(5), constant(3), col(2)];
  const run = (imm: number) =>
    kernel.run({ ops: [{ op: 'nested.merge', dst: 0, a: col(0), args, imm }], consts }, [0], 0);
  assert.equal(run(0), [{ b: 7n, c: null, d: null }]);
  assert.equal(run(1), [{ b: 7n }]);
});

test('a datetime compares with whatever can be read as a time', () => {
  const noon = new Instant(1_704_110_400_000_000_000n);
  const others: Value[] = [noon, 1704110400000, 1704110400000n, '2024-01-01T12:00:00Z', '2024-01-01', 'noon', true];
  const selected = others.map((_, i) => i);
  kernel.setBatch([others.map(() => noon), others], others.length, selected);
  const result = kernel.run({ ops: [{ op: 'compare.eq', dst: 0, a: col(0), b: col(1) }], consts: [] }, selected, 0);
  assert.equal(result.slice(0, 5), [true, true, true, true, false]);
  assert.instance(result[5], ValueError);
  assert.instance(result[6], ValueError);
});

test('errors name the operator and the kinds of its operands', () => {
  kernel.setBatch([['x'], [1.5], [[1]]], 1, [0]);
  const message = (name: 'arith.sub' | 'compare.ge' | 'arith.div', a: Operand, b: Operand) => {
    const [v] = kernel.run({ ops: [{ op: name, dst: 0, a, b }], consts: [{ tag: 'i64', value: 0n }] }, [0], 0);
    return v instanceof ValueError ? v.message : v;
  };
  assert.is(message('arith.sub', col(0), col(1)), 'invalid operation string(x) - float64(1.5)');
  assert.is(message('compare.ge', col(1), col(0)), 'invalid operation float64(1.5) >= string(x)');
  assert.is(message('compare.ge', col(2), col(1)), '>= is an invalid operation for []interface {}');
  assert.is(message('arith.div', col(1), constant(0)), 'divided by zero');
});

test.run();
