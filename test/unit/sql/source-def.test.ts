import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { HaumeaError } from '../../../host/base/errors.js';
import { parseCreate } from '../../../host/sql/parser.js';
import { defineSource, type StreamDefinition } from '../../../host/sql/source-def.js';

function define(text: string): StreamDefinition {
  return defineSource(parseCreate(text));
}

test('fills in the defaults', () => {
  assert.equal(define('CREATE STREAM demo () WITH (DATASOURCE="t")'), {
    name: 'demo',
    kind: 'stream',
    fields: null,
    options: {
      datasource: 't',
      type: 'mqtt',
      format: 'json',
      confKey: null,
      key: null,
      schemaId: null,
      delimiter: null,
      strictValidation: false,
      shared: false,
      timestamp: null,
      timestampFormat: null,
      retainSize: 1,
      tableKind: null,
      extra: null,
      version: null,
      temp: false,
      bufferFullPolicy: null,
    },
  });
});

test('reads every option', () => {
  const { kind, options } = define(
    'CREATE TABLE t (a BIGINT) WITH (DATASOURCE="7", TYPE="redis", FORMAT="DELIMITED", CONF_KEY="c", KEY="a", ' +
      'SCHEMAID="x.Y", ' +
      'DELIMITER=";", STRICT_VALIDATION="TRUE", SHARED=true, TIMESTAMP="ts", TIMESTAMP_FORMAT="yyyy", ' +
      'RETAIN_SIZE="5", KIND="LOOKUP", ' +
      `EXTRA='{"qos": 1, "a": {"b": []}}', VERSION="V2", TEMP="true", BUFFER_FULL_POLICY="dropOldest")`,
  );
  assert.is(kind, 'table');
  assert.equal(options, {
    datasource: '7',
    type: 'redis',
    format: 'delimited',
    confKey: 'c',
    key: 'a',
    schemaId: 'x.Y',
    delimiter: ';',
    strictValidation: true,
    shared: true,
    timestamp: 'ts',
    timestampFormat: 'yyyy',
    retainSize: 5,
    tableKind: 'lookup',
    extra: { qos: 1, a: { b: [] } },
    version: 'v2',
    temp: true,
    bufferFullPolicy: 'dropOldest',
  });
});

test('a table without KIND is a scan table', () => {
  assert.is(define('CREATE TABLE t () WITH (DATASOURCE="d")').options.tableKind, 'scan');
});

test('defaults take the type of their column', () => {
  const { fields } = define(
    'CREATE STREAM s (a BIGINT DEFAULT "7", b FLOAT DEFAULT 7, c STRING DEFAULT 7, d BOOLEAN DEFAULT "True", e ' +
      'FLOAT DEFAULT -1.5) WITH ()',
  );
  const values = fields?.map(({ default: value }) => (value !== null && 'value' in value ? value.value : null));
  assert.equal(values, [7n, 7, '7', true, -1.5]);
});

const complaints: [string, RegExp][] = [
  ['() WITH (NOPE="x")', /^unknown option NOPE, expected one of DATASOURCE, /],
  ['() WITH (FROMAT="json")', /^unknown option FROMAT, did you mean FORMAT\?$/],
  ['() WITH (FORMAT="XYZ")', /^the option FORMAT is "xyz", expected one of json, /],
  ['() WITH (SHARED="maybe")', /^the option SHARED is "maybe", expected TRUE or FALSE$/],
  ['() WITH (STRICT_VALIDATION="x")', /^the option STRICT_VALIDATION is "x", expected TRUE or FALSE$/],
  ['() WITH (RETAIN_SIZE="-1")', /^the option RETAIN_SIZE is "-1", expected a number of rows$/],
  ['() WITH (KIND="big")', /^the option KIND is "big", expected scan or lookup$/],
  ['() WITH (EXTRA="{")', /^the option EXTRA is no valid JSON: /],
  ['() WITH (EXTRA="[1]")', /^the option EXTRA must be a JSON object/],
  ['() WITH (BUFFER_FULL_POLICY="x")', /^the option BUFFER_FULL_POLICY is "x", expected block or dropOldest$/],
  ['(a BIGINT) WITH (FORMAT="BINARY")', /only one column, of type BYTEA$/],
  ['(a BYTEA, b BYTEA) WITH (FORMAT="BINARY")', /only one column, of type BYTEA$/],
  ['(a BIGINT, b FLOAT, a STRING) WITH ()', /^the column a is declared twice$/],
  ['(a ARRAY(STRUCT(x BIGINT, x FLOAT))) WITH ()', /^the column a\[\]\.x is declared twice$/],
  ['(a DATETIME DEFAULT 1) WITH ()', /^the column a has a DEFAULT, which the type datetime does not support$/],
  ['(a ARRAY(BIGINT) DEFAULT 1) WITH ()', /^the column a has a DEFAULT, which the type array does not support$/],
  ['(a BIGINT DEFAULT "x") WITH ()', /^the DEFAULT of the column a is "x", expected a bigint$/],
  ['(a BIGINT DEFAULT 1.5) WITH ()', /^the DEFAULT of the column a is "1.5", expected a bigint$/],
  ['(a FLOAT DEFAULT true) WITH ()', /^the DEFAULT of the column a is "true", expected a float$/],
  ['(a BOOLEAN DEFAULT 2) WITH ()', /^the DEFAULT of the column a is "2", expected a boolean$/],
];

for (const [rest, message] of complaints) {
  test(`refuses CREATE STREAM s ${rest}`, () => {
    assert.throws(
      () => define(`CREATE STREAM s ${rest}`),
      (error: unknown) => error instanceof HaumeaError && error.kind === 'stream' && message.test(error.message),
    );
  });
}

test('a lookup table in memory needs a key', () => {
  assert.throws(
    () => define('CREATE TABLE t () WITH (DATASOURCE="d", TYPE="memory", KIND="lookup")'),
    /KEY is required/,
  );
});

test('a table cannot be binary, a stream can', () => {
  assert.throws(() => define('CREATE TABLE t () WITH (FORMAT="binary")'), /not supported for a table/);
  assert.is(define('CREATE STREAM t (a BYTEA) WITH (FORMAT="binary")').options.format, 'binary');
});

test.run();
