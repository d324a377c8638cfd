import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { describeSchema, describeSource, describeText } from '../../../host/sql/describe.js';
import { parseCreate } from '../../../host/sql/parser.js';

const nested = parseCreate(
  'CREATE STREAM sch (id BIGINT DEFAULT 3, tags ARRAY(STRING), st STRUCT(a FLOAT, b STRUCT(c BOOLEAN)), rows ' +
    'ARRAY(STRUCT(x BYTEA)), at DATETIME) ' +
    'WITH (DATASOURCE="t/x", FORMAT="JSON", TYPE="memory", KEY="k", SHARED="TRUE", STRICT_VALIDATION="FALSE", ' +
    'RETAIN_SIZE="3", CONF_KEY="c")',
);

test('the describe object has the given options and numbered types', () => {
  assert.equal(describeSource(nested), {
    Name: 'sch',
    Options: { confKey: 'c', datasource: 't/x', format: 'JSON', key: 'k', retainSize: 3, shared: true, type: 'memory' },
    Statement: null,
    StreamFields: [
      { FieldType: { Type: 1 }, Name: 'id', DefaultClause: '3' },
      { FieldType: { Type: 7, ElementType: { Type: 3 } }, Name: 'tags' },
      {
        FieldType: {
          Type: 8,
          Fields: [
            { FieldType: { Type: 2 }, Name: 'a' },
            { FieldType: { Type: 8, Fields: [{ FieldType: { Type: 6 }, Name: 'c' }] }, Name: 'b' },
          ],
        },
        Name: 'st',
      },
      {
        FieldType: { Type: 7, ElementType: { Type: 8, Fields: [{ FieldType: { Type: 4 }, Name: 'x' }] } },
        Name: 'rows',
      },
      { FieldType: { Type: 5 }, Name: 'at' },
    ],
    StreamType: 0,
  });
});

test('a table without columns has no fields', () => {
  const table = parseCreate('CREATE TABLE t () WITH (DATASOURCE="0", TYPE="memory", KIND="LOOKUP", KEY="id")');
  assert.equal(describeSource(table), {
    Name: 't',
    Options: { datasource: '0', key: 'id', type: 'memory', kind: 'lookup' },
    Statement: null,
    StreamFields: null,
    StreamType: 1,
  });
  assert.is(describeSchema(table.fields), null);
});

test('the schema object goes by column name', () => {
  assert.equal(describeSchema(nested.fields), {
    id: { type: 'bigint', index: 0, default: '3' },
    tags: { type: 'array', items: { type: 'string', index: 0 }, index: 1 },
    st: {
      type: 'struct',
      properties: {
        a: { type: 'float', index: 0 },
        b: { type: 'struct', properties: { c: { type: 'boolean', index: 0 } }, index: 1 },
      },
      index: 2,
    },
    rows: {
      type: 'array',
      items: { type: 'struct', properties: { x: { type: 'bytea', index: 0 } }, index: 0 },
      index: 3,
    },
    at: { type: 'datetime', index: 4 },
  });
});

test('the describe text lists columns and options', () => {
  assert.is(
    describeText(nested),
    `Fields\n${'-'.repeat(80)}\nid\tbigint\tDEFAULT\t3\ntags\tarray(string)\nst\tstruct(a float, b struct(c ` +
      'boolean))\n' +
      'rows\tarray(struct(x bytea))\nat\tdatetime\n\nCONF_KEY: c\nDATASOURCE: t/x\nFORMAT: JSON\nKEY: ' +
      'k\nRETAIN_SIZE: 3\n' +
      'SHARED: true\nTYPE: memory\n',
  );
});

test.run();
