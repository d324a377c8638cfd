import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadTextKernel } from '../../support/kernel/text-kernel.js';

const kernel = loadTextKernel();
const at: number = kernel.alloc(4096, 0);
const out: number = kernel.alloc(4096, 0);

function write(text: string): number {
  return Buffer.from(kernel.memory.buffer, at, 4096).write(text, 'latin1');
}
const parse = (text: string): number => kernel.parseF64(at, at + write(text));
const printed = (name: string, value: number | bigint): string =>
  Buffer.from(kernel.memory.buffer, out, kernel[name](out, value) - out).toString();

/** xorshift: repeatable random doubles of all sizes. */
let seed = 0x9e3779b97f4a7c15n;
const scratch = new DataView(new ArrayBuffer(8));
function randomBits(): bigint {
  seed ^= BigInt.asUintN(64, seed << 13n);
  seed ^= seed >> 7n;
  seed ^= BigInt.asUintN(64, seed << 17n);
  return seed;
}
function randomDouble(): number {
  scratch.setBigUint64(0, randomBits());
  return scratch.getFloat64(0);
}
const json = (value: number): string => (Object.is(value, -0) ? '-0' : String(value));

function checkPrint(value: number): void {
  if (!Number.isFinite(value)) return;
  const text = printed('printF64', value);
  if (text !== json(value)) assert.is(text, json(value));
}
function checkParse(text: string): void {
  const value = parse(text);
  if (!Object.is(value, Number(text))) assert.unreachable(`${text} gave ${value}, not ${Number(text)}`);
  if (kernel.f64Canonical.value && json(value) !== text) assert.unreachable(`${text} is not canonical`);
}

test('prints and parses random doubles as JavaScript does', () => {
  for (let i = 0; i < 400_000; i++) {
    const value = randomDouble();
    if (!Number.isFinite(value)) continue;
    checkPrint(value);
    checkParse(json(value));
  }
});

test('prints and parses measured values as JavaScript does', () => {
  for (let i = 0; i < 400_000; i++) {
    const whole = Number(randomBits() % 2_000_000_000_000n) - 1e12;
    const value = whole / 10 ** (i % 13);
    checkPrint(value);
    checkParse(value.toFixed(i % 9));
    checkPrint(value * 3.6);
  }
});

test('prints each number of thousandths up to ten as JavaScript does', () => {
  for (let i = -10_000; i <= 10_000; i++) checkPrint(i / 1000);
});

test('prints thousandths as JavaScript does', () => {
  for (const from of [0, 9_990_000, 99_990_000, 999_999_999_990_000]) {
    for (let i = from; i < from + 20_000; i++) for (const value of [i / 1000, -i / 1000]) checkPrint(value);
  }
  for (let i = 0; i < 10_000_000; i += 37) checkPrint(i / 1000);
});

test('prints and parses powers, neighbours and limits', () => {
  for (let e = -1074; e < 1024; e++) {
    for (const d of [0, 1, -1]) {
      scratch.setFloat64(0, 2 ** e);
      scratch.setBigUint64(0, scratch.getBigUint64(0) + BigInt(d));
      checkPrint(scratch.getFloat64(0));
      checkParse(String(scratch.getFloat64(0)));
    }
  }
  for (let e = -330; e < 310; e++) for (const m of ['1', '5', '9.999999999999999']) checkParse(`${m}e${e}`);
  for (const text of [
    '0',
    '-0',
    '1e400',
    '-1e400',
    '1e-400',
    '0.000001',
    '0.0000001',
    '123456789012345678901234',
    '00012',
    '0e5',
    '1.7976931348623157e308',
    '1.7976931348623159e308',
    '4.9e-324',
    '2.4703282292062327e-324',
    '2.4703282292062328e-324',
  ]) {
    checkParse(text);
    checkPrint(Number(text));
  }
});

test('rounds long decimals exactly, also just beside the middle of two doubles', () => {
  for (let i = 0; i < 3000; i++) {
    scratch.setBigUint64(0, randomBits() & 0x7fffffffffffffffn);
    const value = scratch.getFloat64(0);
    if (!Number.isFinite(value) || value === 0 || value > 1e300) continue;
    // The exact middle between the double and its successor.
    const bits = scratch.getBigUint64(0);
    const e = Number(bits >> 52n);
    const m = e === 0 ? bits : (bits & 0xfffffffffffffn) | 0x10000000000000n;
    const power = (e === 0 ? -1074 : e - 1075) - 1;
    const middle = m * 2n + 1n;
    let digits: string;
    let exponent = 0;
    if (power >= 0) digits = (middle << BigInt(power)).toString();
    else {
      digits = (middle * 5n ** BigInt(-power)).toString();
      exponent = power;
    }
    checkParse(`${digits}e${exponent}`);
    checkParse(`${digits}1e${exponent - 1}`);
    checkParse(`${BigInt(digits) - 1n}9e${exponent - 1}`);
    checkParse(`${digits}${'0'.repeat(300)}1e${exponent - 301}`);
    if (digits.length < 300) checkParse(`0.${'0'.repeat(30)}${digits}e${exponent}`);
  }
});

test('rejects what is no number', () => {
  for (const text of ['', '-', '.5', '1.', '1.e5', '1e', '1e+', 'x', '+1']) assert.ok(Number.isNaN(parse(text)), text);
});

test('prints doubles as concatenation and casts do', () => {
  const general: [number, string][] = [
    [1, '1'],
    [1.5, '1.5'],
    [100000, '100000'],
    [1e6, '1e+06'],
    [123456789, '1.23456789e+08'],
    [1e21, '1e+21'],
    [0.0001, '0.0001'],
    [0.000015, '1.5e-05'],
    [-0, '-0'],
    [1e100, '1e+100'],
    [NaN, 'NaN'],
    [Infinity, '+Inf'],
    [-Infinity, '-Inf'],
  ];
  for (const [value, text] of general) assert.is(printed('printF64General', value), text);
  const plain: [number, string][] = [
    [1e21, '1000000000000000000000'],
    [1e-7, '0.0000001'],
    [1.5e-10, '0.00000000015'],
    [123.25, '123.25'],
  ];
  for (const [value, text] of plain) assert.is(printed('printF64Plain', value), text);
  assert.is(Number(printed('printF64Plain', 1.7976931348623157e308)), 1.7976931348623157e308);
  assert.is(Number(printed('printF64Plain', 5e-324)), 5e-324);
});

test('prints and parses integers exactly and reports overflow', () => {
  const limits = [0n, 1n, -1n, 9n, 10n, 99n, 100n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n];
  for (let i = 0; i < 19; i++) limits.push(10n ** BigInt(i), 10n ** BigInt(i) - 1n, -(10n ** BigInt(i)));
  for (let i = 0; i < 20_000; i++) limits.push(BigInt.asIntN(64, randomBits() >> BigInt(i % 64)));
  const most = 20; // bytes that are touched
  for (const value of limits) {
    const room = Buffer.from(kernel.memory.buffer, out, 32).fill(0x23);
    assert.is(printed('printI64', value), value.toString());
    assert.ok(room.subarray(most).every((byte) => byte === 0x23));
    assert.is(kernel.parseI64(at, at + write(value.toString())), 0);
    assert.is(kernel.i64Value.value, value);
  }
  for (const [text, code, value] of [
    ['9223372036854775808', 2, 2n ** 63n - 1n],
    ['-9223372036854775809', 2, -(2n ** 63n)],
    ['99999999999999999999999', 2, 2n ** 63n - 1n],
    ['', 1, 0n],
    ['-', 1, 0n],
    ['1.0', 1, 0n],
    ['1e3', 1, 0n],
    ['+5', 0, 5n],
  ] as const) {
    assert.is(kernel.parseI64(at, at + write(text)), code, text);
    if (code !== 1) assert.is(kernel.i64Value.value, value);
  }
});

test('prints and parses times', () => {
  const print = (time: bigint) => printed('timePrint', time);
  /** Nanoseconds near the epoch, microseconds beyond, on one scale. */
  const near = 4_300_000_000_000_000n;
  const timeOf = (micros: bigint) =>
    micros >= near ? near * 1000n + (micros - near) : micros < -near ? -near * 1000n + (micros + near) : micros * 1000n;
  for (let i = 0; i < 5000; i++) {
    const ms = Number(randomBits() % 250_000_000_000_000n) - 60_000_000_000_000;
    const text = print(timeOf(BigInt(ms) * 1000n));
    assert.is(
      text.replace(/(\.\d*?)0*Z/, '$1Z'),
      new Date(ms)
        .toISOString()
        .replace(/\.?0+Z$/, 'Z')
        .replace(/(\.\d*?)0*Z/, '$1Z'),
    );
    if (text.startsWith('-')) continue;
    assert.is(kernel.timeParse(at, write(text)), 1);
    assert.is(kernel.timeValue.value, timeOf(BigInt(ms) * 1000n));
  }
  assert.is(print(1706933106789012000n), '2024-02-03T04:05:06.789012Z');
  for (const [text, iso] of [
    ['2024-02-29', '2024-02-29T00:00:00Z'],
    ['2024-02-29 12:30:45', '2024-02-29T12:30:45Z'],
    ['2024-2-9 4:05', '2024-02-09T04:05:00Z'],
    ['2024-02-29T12:30:45.123+08:00', '2024-02-29T12:30:45.123+08:00'],
    ['2024-02-29T12:30:45.123456789 -0930', '2024-02-29T12:30:45.123456-09:30'],
    ['2024-02-29T12:30:45.123456+08:05', '2024-02-29T12:30:45.123+08:05'],
    ['1969-12-31T23:59:59.9999-15:45', '1969-12-31T23:59:59.9999-15:45'],
    ['1969-12-31T23:59:59.9999+16', '1969-12-31T23:59:59.999+16:00'],
    ['1399-12-31T23:59:59.9999+15:45', '1399-12-31T23:59:59.9999+15:45'],
    ['1100-12-31T23:59:59.9999+15:45', '1100-12-31T23:59:59.999+15:45'],
    ['2539-12-31T23:59:59.9999-00:15', '2539-12-31T23:59:59.9999-00:15'],
    ['2600-12-31T23:59:59.9999-00:15', '2600-12-31T23:59:59.999-00:15'],
    ['0000-01-01T00:00:00.0001+23:59', '0000-01-01T00:00:00+23:59'],
    ['9999-12-31T23:59:59.9999-23:59', '9999-12-31T23:59:59.999-23:59'],
    ['2024/01/02 03:04:05.5', '2024-01-02T03:04:05.5Z'],
    ['2024-02-03T04:05:06.123456789Z', '2024-02-03T04:05:06.123456789Z'],
    ['1969-12-31T23:59:59.999999999Z', '1969-12-31T23:59:59.999999999Z'],
    // Beyond a century and a half from the epoch a time has microseconds.
    ['1600-02-03T04:05:06.123456789Z', '1600-02-03T04:05:06.123456Z'],
    ['9999-12-31T23:59:59.999999999Z', '9999-12-31T23:59:59.999999Z'],
    ['20240203', '2024-02-03T00:00:00Z'],
    ['2024', '2024-01-01T00:00:00Z'],
  ] as const) {
    assert.is(kernel.timeParse(at, write(text)), 1, text);
    assert.is(print(kernel.timeValue.value), iso);
  }
  for (const text of [
    '',
    'abc',
    'nope',
    '2024-13-01',
    '2023-02-29',
    '2024-01-01T25:00:00',
    '2024-01-01x',
    '1700000000123',
  ]) {
    assert.is(kernel.timeParse(at, write(text)), 0, text);
  }
});

test.run();
