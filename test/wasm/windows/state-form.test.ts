import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Instant, type Value, ValueAccess, ValueError } from '../../../kernels/values/value.js';
import { testModule } from '../../support/kernel/test-module.js';

/** Writer and reader over bytes that tests can change on the way. */
function stateKernel() {
  const out: Uint8Array[] = [];
  let left: Uint8Array = new Uint8Array(0);
  let portion = Number.POSITIVE_INFINITY;
  // biome-ignore lint/suspicious/noExplicitAny: the border to Wasm
  const exports: any = new WebAssembly.Instance(testModule('state'), {
    host: {
      stateOut: (at: number, length: number) => out.push(new Uint8Array(exports.memory.buffer, at, length).slice()),
      stateIn: (at: number, length: number) => {
        const part = left.subarray(0, Math.min(length, portion));
        new Uint8Array(exports.memory.buffer).set(part, at);
        left = left.subarray(part.length);
        return part.length;
      },
    },
    env: { abort: () => {} },
  }).exports;
  const access = new ValueAccess(exports.memory, (size) => exports.alloc(size, 0));
  const slot = exports.alloc(16, 0);
  return {
    exports,
    out,
    given(bytes: Uint8Array, bytesAtOnce = Number.POSITIVE_INFINITY) {
      left = bytes;
      portion = bytesAtOnce;
    },
    write(value: Value) {
      const tag = value === undefined ? 0 : access.write(slot, value);
      exports.writeValue(tag, access.view().getBigUint64(slot, true));
    },
    read(): Value {
      const tag = exports.readValue(exports.pool.value);
      access.view().setBigUint64(slot, exports.valueRead.value, true);
      return access.read(tag, slot);
    },
  };
}

type StateKernel = ReturnType<typeof stateKernel>;

/** What the kernel writes of parts of values. */
function saved(kernel: StateKernel, parts: readonly (readonly Value[])[]): Buffer {
  kernel.out.length = 0;
  assert.ok(kernel.exports.saveBegin());
  parts.forEach((values, i) => {
    kernel.exports.partBegin(BigInt(i));
    kernel.exports.writeU32(values.length);
    for (const value of values) kernel.write(value);
    kernel.exports.partEnd();
  });
  kernel.exports.saveEnd();
  return Buffer.concat(kernel.out);
}

/** The parts that can be read, by their identities; `fault`: why the sequence ended. */
function loaded(kernel: StateKernel, bytes: Uint8Array, portion?: number) {
  const { exports } = kernel;
  kernel.given(bytes, portion);
  const parts = new Map<number, Value[] | number>();
  assert.ok(exports.loadBegin());
  while (exports.partNext()) {
    exports.poolBegin();
    const values: Value[] = [];
    const count = exports.readU32();
    while (values.length < count && exports.loadOutcome() === 0) values.push(kernel.read());
    parts.set(Number(exports.partOwner()), exports.partEnds() ? values : exports.loadOutcome());
    exports.poolEnd();
  }
  const outcome = { parts, fault: exports.loadOutcome() as number, lost: exports.partsPassed() as number };
  exports.loadEnd();
  return outcome;
}

const leaf = fc.oneof(
  fc.constantFrom<Value>(
    undefined,
    null,
    true,
    false,
    0,
    -0,
    Number.NaN,
    Number.NEGATIVE_INFINITY,
    2 ** 47,
    2 ** 53,
    '',
  ),
  fc.double() as fc.Arbitrary<Value>,
  fc.integer() as fc.Arbitrary<Value>,
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }) as fc.Arbitrary<Value>,
  fc.string({ unit: 'grapheme' }) as fc.Arbitrary<Value>,
  fc.string().map((text) => text.repeat(5000)) as fc.Arbitrary<Value>,
  fc.uint8Array() as fc.Arbitrary<Value>,
  fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }).map((ms) => new Instant(ms * 1000n)) as fc.Arbitrary<Value>,
  fc.string().map((text) => new ValueError(text)) as fc.Arbitrary<Value>,
);
const value = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    fc.array(
      tie('value').map((item) => item ?? null),
      { maxLength: 4 },
    ),
    fc.dictionary(
      fc.string(),
      tie('value').map((item) => item ?? null),
      { maxKeys: 4, noNullPrototype: true },
    ),
  ),
})).value;
const parts = fc.array(fc.array(value, { maxLength: 12 }), { maxLength: 5 });

test('values come back as they were written, whatever portions the bytes come in', () => {
  const kernel = stateKernel();
  fc.assert(
    fc.property(parts, fc.integer({ min: 1, max: 100_000 }), (given, portion) => {
      const back = loaded(kernel, saved(kernel, given), portion);
      assert.equal(back.fault, 0);
      assert.equal([...back.parts.keys()], [...given.keys()]);
      given.forEach((values, i) => {
        assert.equal(back.parts.get(i), values);
        values.forEach((one, k) => {
          if (one === 0) assert.ok(Object.is((back.parts.get(i) as Value[])[k], one));
        });
      });
    }),
    { numRuns: 100 },
  );
});

test('slices hold at most 64 KiB', () => {
  const kernel = stateKernel();
  saved(kernel, [['x'.repeat(300_000), 1, 2]]);
  assert.ok(kernel.out.length > 4);
  assert.ok(kernel.out.every((slice) => slice.length <= 65_536));
});

test('saving and loading leave no memory behind', () => {
  const kernel = stateKernel();
  const given = [['x'.repeat(100_000)], [1, 'y']];
  loaded(kernel, saved(kernel, given));
  const before = kernel.exports.bytesInUse();
  kernel.out.length = 0;
  kernel.exports.saveBegin();
  kernel.exports.saveEnd();
  loaded(kernel, Buffer.concat(kernel.out));
  assert.equal(kernel.exports.bytesInUse(), before);
});

test('damage fails the parts that it is in, and says so', () => {
  const kernel = stateKernel();
  fc.assert(
    fc.property(parts, fc.nat(), fc.integer({ min: 1, max: 255 }), (given, place, change) => {
      const bytes = saved(kernel, given);
      const at = place % bytes.length;
      bytes[at] = (bytes[at] as number) ^ change;
      const back = loaded(kernel, bytes);
      const isSeen = back.fault !== 0 || back.lost > 0 || [...back.parts.values()].some((part) => part === 3);
      assert.ok(isSeen);
      for (const [i, part] of back.parts) if (typeof part !== 'number') assert.equal(part, given[i]);
    }),
    { numRuns: 150 },
  );
});

test('bytes that end early are told from those that are damaged', () => {
  const kernel = stateKernel();
  fc.assert(
    fc.property(parts, fc.nat(), (given, place) => {
      const bytes = saved(kernel, given);
      const back = loaded(kernel, bytes.subarray(0, place % bytes.length));
      assert.equal(back.fault, 4);
    }),
    { numRuns: 100 },
  );
});

test('another version of the form is refused', () => {
  const kernel = stateKernel();
  const bytes = saved(kernel, [[1]]);
  bytes[5] = 99;
  assert.equal(loaded(kernel, bytes).fault, 2);
});

test.run();
