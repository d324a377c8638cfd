/** State that an earlier release saved in another form, and what the forms of today have room for. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule } from '../../support/engine/rule-kernel.js';

const streams = ['CREATE STREAM s (i BIGINT, f FLOAT) WITH (TYPE="memory", DATASOURCE="s", FORMAT="json")'];
const sql = 'SELECT avg(i) AS ai, avg(f) AS af, var(f) AS vf, stddevs(i) AS di FROM s GROUP BY COUNTWINDOW(4)';
const rows = [
  { i: 3, f: 3 },
  { i: -4, f: 3 },
  { i: null, f: null },
];

/** As saved behind the rows before state was told by its meaning: slices of format 1. */
const saved =
  'DQAAAAMBmdBd7FTpUKW9wYy8Ue+r30TRAAEAAAAzAAAAAwGF0iSnSUvMBE8GZ/eR4g90fqUAAgAAAAAAAwAAAQAMDAIDAQIEAAAAAAAA4L+AgI' +
  'CAgICgnEACDAYAAgAAEQAAAAMBOh26mnsYa/7OgB3IPzAOlAtOAAQAAAAAAAAAAAAAAAQBmNM/8duybI7wfA==';

test('state that an earlier release saved in another form is refused by name, and the rule begins without it', () => {
  const rule = openRule(streams, sql);
  const { failed } = rule.load(Buffer.from(saved, 'base64'));
  assert.ok(failed.length > 0);
  for (const { reason } of failed) assert.is(reason, 'version');
  const again = [...rows, { i: 19, f: 0 }];
  rule.feed('s', again);
  assert.equal(rule.taken(), [[{ af: 2, ai: 6, di: 11.789826122551595, vf: 2 }]]);
  rule.close();
});

test('a sum beyond 64 bits, and what a variance lacks, are saved', () => {
  const big = '9223372036854775807';
  const lines = (values: string[]) => Buffer.from(values.map((i) => `{"i":${i},"f":0.1}\n`).join(''));
  const rule = openRule(streams, sql);
  rule.feed('s', lines([big, big, big]));
  const other = openRule(streams, sql);
  other.load(rule.save());
  assert.equal(other.save(), rule.save());
  for (const one of [rule, other]) {
    one.feed('s', lines([big]));
    assert.equal(one.written(), [`[{"af":0.1,"ai":${big},"di":0,"vf":0}]`]);
    one.close();
  }
});

test.run();
