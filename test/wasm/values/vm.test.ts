import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ConstValue, col, constant, type Op, type Program, reg } from '../../../kernels/plan/ir.js';
import { encodeProgram, relocateColumns } from '../../../kernels/plan/program.js';
import { Instant, type Value, ValueError } from '../../../kernels/values/value.js';
import { VmKernel } from '../../support/kernel/vm-kernel.js';

/** Runs one op over one column and returns the results of all rows. */
function apply(
  kernel: VmKernel,
  op: Op['op'],
  column: Value[],
  extra: Partial<Op> = {},
  consts: ConstValue[] = [],
): Value[] {
  const selected = column.map((_, i) => i);
  kernel.setBatch([column], column.length, selected);
  return kernel.run({ ops: [{ op, dst: 0, a: col(0), ...extra }], consts }, selected, 0);
}

const kernel = new VmKernel();

test('constants of every kind arrive as they are', () => {
  const value = fc.letrec<{ value: ConstValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constant<ConstValue>({ tag: 'null' }),
      fc.boolean().map((v): ConstValue => ({ tag: 'bool', value: v })),
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((v): ConstValue => ({ tag: 'i64', value: v })),
      fc.double().map((v): ConstValue => ({ tag: 'f64', value: v })),
      fc.string({ unit: 'grapheme' }).map((v): ConstValue => ({ tag: 'str', value: v })),
      fc.array(tie('value'), { maxLength: 4 }).map((items): ConstValue => ({ tag: 'array', items })),
      fc
        .dictionary(fc.string({ unit: 'grapheme' }), tie('value'), { maxKeys: 4 })
        .map((members): ConstValue => ({ tag: 'object', members: Object.entries(members) })),
    ),
  })).value;
  const plain = (v: ConstValue): Value => {
    if (v.tag === 'array') return v.items.map(plain);
    if (v.tag === 'object') return Object.fromEntries(v.members.map(([key, item]) => [key, plain(item)]));
    return v.tag === 'null' ? null : v.tag === 'missing' ? undefined : v.value;
  };
  fc.assert(
    fc.property(value, (v) => {
      kernel.setBatch([], 1, [0]);
      assert.equal(kernel.run({ ops: [{ op: 'move.move', dst: 1, a: constant(0) }], consts: [v] }, [0], 1), [plain(v)]);
    }),
  );
});

test('a program gives back all its memory', () => {
  const program: Program = {
    ops: [{ op: 'move.move', dst: 0, a: constant(0) }],
    consts: [{ tag: 'array', items: [{ tag: 'str', value: 'x'.repeat(5000) }] }],
  };
  const bytes = encodeProgram(program);
  const at = kernel.exports.alloc(bytes.length, 0);
  kernel.values.bytes().set(bytes, at);
  const before = kernel.exports.bytesInUse();
  kernel.exports.programFree(kernel.exports.programNew(at, bytes.length, 0));
  assert.is(kernel.exports.bytesInUse(), before);
});

test('ops read what earlier ops computed', () => {
  kernel.setBatch([[1, 2, 3]], 3, [0, 2]);
  const ops: Op[] = [
    { op: 'arith.mul', dst: 0, a: col(0), b: constant(0) },
    { op: 'arith.add', dst: 1, a: reg(0), b: col(0) },
  ];
  assert.equal(kernel.run({ ops, consts: [{ tag: 'f64', value: 10 }] }, [0, 2], 1), [11, 33]);
});

test('columns of the rule become columns of the stream', () => {
  const program: Program = {
    ops: [{ op: 'arith.add', dst: 0, a: col(0), b: reg(3), args: [col(1), constant(0)] }],
    consts: [],
  };
  assert.equal(relocateColumns(program, [7, 2]).ops[0], {
    op: 'arith.add',
    dst: 0,
    a: col(7),
    b: reg(3),
    args: [col(2), constant(0)],
  });
  assert.throws(() => relocateColumns(program, [7]), /column 1/);
});

test('refuses operands that the program does not have', () => {
  const encode = (op: Op) => () => encodeProgram({ ops: [op], consts: [] });
  assert.throws(encode({ op: 'move.move', dst: 512, a: col(0) }), /no register 512/);
  assert.throws(encode({ op: 'move.move', dst: 0, a: constant(0) }), /no operand 32768/);
});

test('casts as recorded', () => {
  const show = (values: Value[]) =>
    values.map((v) => (v instanceof ValueError ? 'error' : v instanceof Instant ? v.nanos : v));
  assert.equal(
    show(apply(kernel, 'cast.toBigint', [1.9, -1.9, '12', '12.5', '', true, null, [], [1], 1e19, '0x10', ' 5 '])),
    [1n, -1n, 12n, 'error', 'error', 1n, null, null, 'error', 'error', 16n, 'error'],
  );
  assert.equal(show(apply(kernel, 'cast.toFloat', ['.5', '5.', '-1e3', 'NaN', 'Infinity', ' 2', '', 3n])), [
    0.5,
    5,
    -1000,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    'error',
    'error',
    3,
  ]);
  assert.equal(show(apply(kernel, 'cast.toString', [1e21, 1e-7, 1.5, true, [1, 'a', null], { b: 1, a: [2] }, 5n])), [
    '1000000000000000000000',
    '0.0000001',
    '1.5',
    'true',
    '[1 a <nil>]',
    'map[a:[2] b:1]',
    '5',
  ]);
  assert.equal(show(apply(kernel, 'cast.toBoolean', ['TRUE', 'f', '1', 'yes', 0.5, 0, {}, null])), [
    true,
    false,
    true,
    'error',
    true,
    false,
    null,
    null,
  ]);
  assert.equal(show(apply(kernel, 'cast.toDatetime', [1.5, '2024-02-29', 'nope', true, 9007199254740993n])), [
    1_000_000n,
    1_709_164_800_000_000_000n,
    'error',
    'error',
    'error',
  ]);
});

test('a host function gets whole columns, fills every row and fails only its own', () => {
  const calls: number[] = [];
  const hosted = new VmKernel((fn, columns) => {
    calls.push(columns.count);
    for (let k = 0; k < columns.count; k++) {
      const text = columns.get(0, k);
      if (text === 'throw') throw new Error('broken function');
      if (text === 'bad') columns.fail(k, 'bad row');
      else columns.set(k, { fn, text: [text as Value, columns.get(1, k) as Value] });
    }
  });
  hosted.setBatch([['a', 'skipped', 'bad', 'throw', 'b']], 5, [0, 2, 3, 4]);
  const op: Op = { op: 'call.host', dst: 0, imm: 9, args: [col(0), constant(0)] };
  const [first, bad, thrown, rest] = hosted.run({ ops: [op], consts: [{ tag: 'i64', value: 5n }] }, [0, 2, 3, 4], 0);
  assert.equal(calls, [4]);
  assert.equal(first, { fn: 9, text: ['a', 5n] });
  assert.is((bad as ValueError).message, 'bad row');
  assert.is((thrown as ValueError).message, 'broken function');
  assert.is((rest as ValueError).message, 'broken function');
});

test('letter case and reversal agree with JavaScript, character by character', () => {
  // JavaScript maps some characters to several; here each maps to one or stays.
  const one = (map: (c: string) => string) => (text: string) =>
    [...text].map((c) => ([...map(c)].length === 1 ? map(c) : c)).join('');
  const texts = fc.array(
    fc.string({
      unit: fc.oneof(
        fc.constantFrom('a', 'Z', 'é', 'ß', 'Ж', 'ǆ', '漢', '😀'),
        fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).filter((c) => !/\p{Surrogate}/u.test(c)),
      ),
    }),
    { minLength: 1, maxLength: 20 },
  );
  fc.assert(
    fc.property(texts, (column) => {
      assert.equal(apply(kernel, 'string.upper', column), column.map(one((c) => c.toUpperCase())));
      assert.equal(apply(kernel, 'string.lower', column), column.map(one((c) => c.toLowerCase())));
      assert.equal(
        apply(kernel, 'string.reverse', column),
        column.map((t) => [...t].reverse().join('')),
      );
      assert.equal(
        apply(kernel, 'string.length', column),
        column.map((t) => BigInt([...t].length)),
      );
      assert.equal(
        apply(kernel, 'string.numbytes', column),
        column.map((t) => BigInt(Buffer.byteLength(t))),
      );
    }),
    { numRuns: 200 },
  );
});

test('group keys are equal when their printed values are', () => {
  const key = fc.oneof(
    fc.integer({ min: -3, max: 3 }).map(BigInt),
    fc.integer({ min: -3, max: 3 }),
    fc.double(),
    fc.double().map(String),
    fc.constantFrom<Value>(
      0,
      -0,
      '-0',
      '0',
      '00',
      '1',
      '1.0',
      1,
      1n,
      1.5,
      '1.5',
      1e21,
      '1e+21',
      null,
      undefined,
      true,
      'true',
      2n ** 60n,
      2 ** 60,
    ),
    fc.string({ maxLength: 20 }),
    fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 2 }) as fc.Arbitrary<Value>,
  );
  const print = (v: Value): string => {
    if (v === null || v === undefined) return 'null of its own';
    if (Array.isArray(v)) return `[${v.map((x) => String(x)).join(' ')}]`;
    if (typeof v === 'number')
      return Object.is(v, -0) ? '-0' : v === Infinity ? '+Inf' : v === -Infinity ? '-Inf' : String(v);
    return String(v);
  };
  const e = kernel.exports as unknown as {
    groupKeyHash(tag: number, val: bigint): number;
    groupKeyEquals(tagA: number, a: bigint, tagB: number, b: bigint): number;
  };
  fc.assert(
    fc.property(key, key, (a, b) => {
      kernel.setBatch([], 0, []);
      const at = kernel.exports.hostScratch(16, true);
      const tagA = kernel.values.write(at, a);
      const tagB = kernel.values.write(at + 8, b);
      const [x, y] = [kernel.values.view().getBigUint64(at, true), kernel.values.view().getBigUint64(at + 8, true)];
      const same = e.groupKeyEquals(tagA, x, tagB, y) !== 0;
      assert.is(same, print(a) === print(b), `${print(a)} and ${print(b)}`);
      if (same) assert.is(e.groupKeyHash(tagA, x), e.groupKeyHash(tagB, y));
    }),
    { numRuns: 2000 },
  );
});

test.run();
