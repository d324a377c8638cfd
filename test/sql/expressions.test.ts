/** Operators, values as texts, times and bytes within expressions: SQL and rows in, rows out. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { check, evaluate, streams } from './function-cases.js';

// ---- ranges ---------------------------------------------------------------------------------------------------

const bounds: [a: unknown, b: unknown, c: unknown][] = [
  [1, null, 2],
  [1, 0, null],
  [1, null, null],
  [1, null, 'x'],
  [1, 'x', null],
  [1, null, [1]],
  [null, 'x', 2],
  [true, null, true],
];
const never = bounds.map((row) => [...row, false]);
check('a BETWEEN b AND c', [
  ...never,
  [1, 1, 2, true],
  [5, 9, 'x', /cannot compare float64\(5\) and string\(x\)/],
  [[1], null, 2, /invalid operation/],
]);
check('a NOT BETWEEN b AND c', [...never, [1, 1, 2, false], [3, 1, 2, true], [[1], null, 2, /invalid operation/]]);

// ---- places of lists ------------------------------------------------------------------------------------------

const list = [1, 2, 3];
check('a[b]', [
  [list, 1.5, 2],
  [list, 2.9, 3],
  [list, -0.5, 1],
  [list, -1.5, 3],
  [list, 3.2, /out of index/],
  [list, 1e30, /out of index/],
  [list, '1', /not int/],
]);
check('a[b / 2]', [
  [list, 1, 1],
  [list, 3, 2],
  [list, 5, 3],
]);
check('a[b:c]', [
  [list, 0.5, 2.5, [1, 2]],
  [list, 0, -3, []],
  [list, 1, -2, []],
  [list, -1, -1, []],
  [list, 2, -2, /start cannot be greater than end/],
  [list, 1, 1, /start cannot be greater than end/],
]);
check('a[0:-1]', [
  [[1], []],
  [[1, 2], [1]],
  [[], /out of index/],
]);

// ---- LIKE -----------------------------------------------------------------------------------------------------

check('a LIKE "a.c"', [
  ['a.c', true],
  ['abc', false],
]);
check('a LIKE b', [
  ['a+c', 'a+c', true],
  ['aac', 'a+c', false],
  ['x.yz', 'x.%', true],
  ['xayz', 'x.%', false],
  ['x.y', '_.y', true],
  ['xay', '_.y', false],
  ['[a]', '[a]', true],
  ['a', '[a]', false],
  ['a|b', 'a|b', true],
  ['(a)$', '(a)$', true],
  ['a\\d', 'a\\d', true],
  ['^', '^', true],
  ['aé', 'a_', true],
]);
check('a NOT LIKE "a.%"', [
  ['abc', true],
  ['a.bc', false],
]);

// ---- values as texts ------------------------------------------------------------------------------------------

const texts: [value: unknown, text: string][] = [
  [100, '100'],
  [999999, '999999'],
  [1000000, '1e+06'],
  [1234567, '1.234567e+06'],
  [1234567.25, '1.23456725e+06'],
  [0.0001, '0.0001'],
  [0.00001, '1e-05'],
  [1e-7, '1e-07'],
  [-1e-7, '-1e-07'],
  [1e20, '1e+20'],
  [1e300, '1e+300'],
  [true, 'true'],
  [[1234567, 1e-7, null, 'x'], '[1.234567e+06 1e-07 <nil> x]'],
  [{ b: 1234567, a: [1e6], 10: 'x', 9: 'y' }, 'map[10:x 9:y a:[1e+06] b:1.234567e+06]'],
];
check('concat(a)', texts);
check(
  'concat("<", a, ">")',
  texts.map(([value, text]) => [value, `<${text}>`]),
);
check(
  'upper(a)',
  texts.map(([value, text]) => [value, text.toUpperCase()]),
);
check('trim(a)', texts);
check(
  'numbytes(a)',
  texts.map(([value, text]) => [value, text.length]),
);
check('regexp_replace(a, "^", "")', texts);
check('regexp_substr(a, "^.*$")', texts);
check('split_value(a, "|", 0)', texts);
check(
  'md5(a) = md5(concat(a, ""))',
  texts.map(([value]) => [value, true]),
);
check(
  'sha256(a) = sha256(concat(a))',
  texts.map(([value]) => [value, true]),
);
check('indexof(a, "e+")', [
  [1234567, 8],
  [123456, -1],
]);
check('cast(a, "string")', [
  [1234567, '1234567'],
  [1e-7, '0.0000001'],
  [1e21, '1000000000000000000000'],
  [[1234567, 1e-7], '[1.234567e+06 1e-07]'],
  [{ k: 1e21 }, 'map[k:1e+21]'],
]);

test('whole numbers of a BIGINT column are written out', () => {
  const typed = ['CREATE STREAM demo (a BIGINT, f FLOAT) WITH (TYPE="memory", DATASOURCE="demo", FORMAT="json")'];
  const rows = [{ a: 12345678901234, f: 1234567 }];
  assert.equal(evaluate('concat(a, "|", f)', rows, typed), ['12345678901234|1.234567e+06']);
  assert.equal(evaluate('md5(a) = md5("12345678901234")', rows, typed), [true]);
});

// ---- times ----------------------------------------------------------------------------------------------------

const nanos = '2024-01-02T03:04:05.123456789Z';
check('cast(a, "datetime")', [
  [nanos, nanos],
  ['2024-01-02 03:04:05.1234567891', nanos],
  ['1969-12-31T23:59:59.999999999Z', '1969-12-31T23:59:59.999999999Z'],
  ['1600-01-02T03:04:05.123456Z', '1600-01-02T03:04:05.123456Z'],
  ['9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999999Z'],
  [1700000000123, '2023-11-14T22:13:20.123Z'],
]);
check('concat(cast(a, "datetime"))', [[nanos, '2024-01-02 03:04:05.123456789 +0000 UTC']]);
check('cast(cast(a, "datetime"), "string")', [[1700000000123, '2023-11-14 22:13:20.123 +0000 UTC']]);
check('cast(cast(a, "datetime"), "bigint")', [[nanos, 1704164645123]]);
check('md5(cast(a, "datetime")) = md5(concat(cast(a, "datetime")))', [[nanos, true]]);
check('cast(a, "datetime") < cast(b, "datetime")', [
  [nanos, '2024-01-02T03:04:05.123456790Z', true],
  ['1500-01-01', nanos, true],
  ['1500-01-01', '1700-01-01', true],
  ['9000-01-01', '8999-01-01', false],
  [nanos, '8999-01-01', true],
]);
check('convert_tz(a, "Asia/Shanghai")', [[nanos, '2024-01-02T11:04:05.123456789+08:00']]);
check('convert_tz(cast(a, "datetime"), "UTC")', [[nanos, nanos]]);
check('date_diff(a, b)', [
  [nanos, '2024-01-02T03:04:05.123456790Z', 1],
  ['2024-01-02', '2024-01-03T00:00:00.000000001Z', 86400000000001],
]);
check('format_time(a, "ss.SSSSSSSSS")', [[nanos, '05.123456789']]);
check('date_calc(a, "-123456790ns")', [[nanos, '2024-01-02 03:04:04']]);

test('the time zone Local is that of the server', () => {
  const zone = process.env.TZ;
  process.env.TZ = 'Asia/Tokyo';
  try {
    assert.equal(evaluate('convert_tz(a, "Local")', [{ a: 0 }]), ['1970-01-01T09:00:00+09:00']);
  } finally {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  }
});

// ---- bytes ----------------------------------------------------------------------------------------------------

check('cast(a, "bytea")', [
  ['aGVsbG8=', 'aGVsbG8='],
  ['aGVs\nbG8=', 'aGVsbG8='],
  // What is no base64 stands for its own bytes.
  ['hello', 'aGVsbG8='],
  ['aGVsbG8', 'YUdWc2JHOA=='],
  ['_-8=', 'Xy04PQ=='],
  ['', ''],
]);
check('cast(cast(a, "bytea"), "string")', [
  ['aGVsbG8=', 'hello'],
  ['hello', 'hello'],
  ['/w==', '\ufffd'],
]);
check('concat(cast(a, "bytea"))', [['aGVsbG8=', '[104 101 108 108 111]']]);

test('a BYTEA column holds the bytes of its base64', () => {
  const typed = ['CREATE STREAM demo (a BYTEA) WITH (TYPE="memory", DATASOURCE="demo", FORMAT="json")'];
  const rows = [{ a: 'aGVsbG8=' }, { a: 'hello' }];
  assert.equal(evaluate('a', rows, typed), ['aGVsbG8=', 'aGVsbG8=']);
  assert.equal(evaluate('cast(a, "string")', rows, typed), ['hello', 'hello']);
});

// ---- casts by a type of the row -------------------------------------------------------------------------------

check('cast(a, b)', [
  ['5', 'bigint', 5],
  ['5', 'float', 5],
  [5, 'string', '5'],
  ['true', 'boolean', true],
  ['2024-01-02T03:04:05Z', 'datetime', '2024-01-02T03:04:05Z'],
  ['aGVsbG8=', 'bytea', 'aGVsbG8='],
  ['5', 'BIGINT', /cast to bigint, float, .* not to BIGINT/],
  ['5', 'nope', /not to nope/],
  ['5', 5, /name of a type, not 5/],
  ['5', null, null],
  [null, 'nope', null],
  ['x', 'bigint', /cannot convert string\(x\) to int/],
]);

// ---- operators written apart ----------------------------------------------------------------------------------

check('a > = 1', [
  [1, true],
  [0, false],
]);
check('a <\n= 1 AND a ! = 0', [
  [1, true],
  [0, false],
]);
check('a - > k', [[{ k: 3 }, 3]]);
check('a - -1', [[1, 2]]);
test('other operators are not put together', () => {
  for (const expression of ['a < > 1', 'a = = 1', 'a ! 1', 'a > > 1']) {
    assert.throws(() => evaluate(expression, []), /expected an expression|has no meaning here/);
  }
});

// ---- more of the kernel's functions ---------------------------------------------------------------------------

check('lower(a)', [
  ['İ', 'i'],
  ['İSTANBUL', 'istanbul'],
  ['ẞ', 'ß'],
]);
check('array_concat(a, b)', [
  [null, null, null],
  [undefined, null, null],
  [null, [1], [1]],
  [[], [], []],
]);
test('bit functions take all whole numbers of 64 bits', () => {
  const smallest = Buffer.from('{"a":-9223372036854775808}\n');
  assert.equal(evaluate('cast(bitor(a, 1), "string")', smallest, streams), ['-9223372036854775807']);
  assert.match(String(evaluate('bitor(a, 1)', [{ a: 2 ** 63 }])[0]), /cannot convert/);
});

test.run();
