/** JSON with integers of 64 bits. */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readExactJson, writeExactJson } from '../../../host/base/text/exact-json.js';

const long = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).filter((one) => !Number.isSafeInteger(Number(one)));
/** Texts that look like JSON with long integers. */
const text = fc.oneof(
  fc.string(),
  fc.stringMatching(/^["\\:,{}[\] 0-9-]{0,60}$/),
  fc.constantFrom(
    '"1234567890123456789',
    '\\',
    '\\"',
    ':1234567890123456789,',
    '__proto__',
    '\\\\":12345678901234567890',
  ),
);
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    long,
    fc.integer(),
    // Those that are written as long integers are read as such.
    fc
      .double({ noNaN: true, noDefaultInfinity: true })
      .map((one) => (Object.is(one, -0) || /^-?\d{16,}$/.test(String(one)) ? 0 : one)),
    text,
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('any')),
    fc.dictionary(text, tie('any'), { noNullPrototype: true }),
  ),
})).any;

test('what is written is read as it was', () => {
  fc.assert(fc.property(value, (one) => assert.equal(readExactJson(writeExactJson(one)), one)));
});

test('without long integers it is JSON as everybody writes and reads it', () => {
  const plain = fc.anything({ withNullPrototype: false, withDate: true, withObjectString: true });
  fc.assert(
    fc.property(plain, (one) => {
      const wanted = JSON.stringify(one) ?? 'null';
      assert.is(writeExactJson(one), wanted);
      if (!/\d{16}/.test(wanted)) assert.equal(readExactJson(wanted), JSON.parse(wanted));
    }),
  );
});

test('what no 64 bits hold, and what is no integer, stays a number', () => {
  for (const [json, wanted] of [
    ['9007199254740991', 9007199254740991],
    ['9007199254740993', 9007199254740993n],
    ['-9223372036854775808', -9223372036854775808n],
    ['12345678901234567890123', 1.2345678901234568e22],
    ['1234567890123456.5', 1234567890123456.5],
    ['1234567890123456789e2', 1.2345678901234568e20],
    ['1e-1234567890123456', 0],
    ['{"a": [9007199254740993 ,"9007199254740993"]}', { a: [9007199254740993n, '9007199254740993'] }],
    ['{"9007199254740993":1,"\\\\":9007199254740993}', { '9007199254740993': 1, '\\': 9007199254740993n }],
  ] as const) {
    assert.equal(readExactJson(json), wanted, json);
  }
  assert.throws(() => readExactJson('{"a":9007199254740993'), /JSON/);
});

test.run();
