import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { HaumeaError } from '../../../host/base/errors.js';
import { parseExpression, parseStatement } from '../../../host/sql/parser.js';

const complaints: [string, string][] = [
  ['', 'line 1 column 1: found the end of the statement, expected SELECT, CREATE, SHOW, DESCRIBE, EXPLAIN or DROP'],
  ['SELECT FROM demo', 'line 1 column 8: found "FROM", expected an expression'],
  ['SELECT a\n  FROM demo\n WHERE > 1', 'line 3 column 8: found ">", expected an expression'],
  ['SELECT a b c FROM demo', 'line 1 column 10: found "b", expected ",", AS or FROM'],
  ['SELECT a FROM', 'line 1 column 14: found the end of the statement, expected the name of a stream or table'],
  ['SELECT a FROM s t u', 'line 1 column 19: found "u", expected the end of the statement'],
  ['SELECT a FROM s LIMIT x', 'line 1 column 23: found "x", expected a whole number of rows after LIMIT'],
  ['SELECT a AS "q" FROM s', 'line 1 column 13: found the string "q", expected a name after AS'],
  ["SELECT 'a FROM s", "line 1 column 8: the string that begins here has no end, expected a closing '"],
  ['SELECT `a FROM s', 'line 1 column 8: the name that begins here has no end, expected a closing back-quote'],
  ['SELECT a /* FROM s', 'line 1 column 10: the comment that begins here has no end, expected */'],
  ['SELECT a ? b FROM s', 'line 1 column 10: found "?", which has no meaning here'],
  ['SELECT 1a FROM s', 'line 1 column 8: found "1a", which is no number'],
  ['SELECT 1e999 FROM s', 'line 1 column 8: the number 1e999 is out of range'],
  ['SELECT "\\d" FROM s', 'line 1 column 9: found the unknown escape "\\d", write \\\\ for a backslash'],
  ['SELECT "\\xff" FROM s', 'line 1 column 9: found byte escapes that are no valid UTF-8'],
  ['SELECT a FROM s ASOF RIGHT JOIN t', 'line 1 column 22: found "RIGHT", expected JOIN or LEFT JOIN after ASOF'],
  [
    'SELECT a FROM s ASOF JOIN t MATCH_CONDITION s.a >= t.a',
    'line 1 column 45: found "s", expected "(" after MATCH_CONDITION',
  ],
  [
    'SELECT a FROM s JOIN t MATCH_CONDITION (s.a >= t.a)',
    'line 1 column 24: found "MATCH_CONDITION", expected ON: MATCH_CONDITION belongs to ASOF JOIN',
  ],
  ['SELECT a, DISTINCT b FROM s', 'line 1 column 11: DISTINCT stands right behind SELECT'],
  [
    'SELECT a FROM (SELECT a FROM s)',
    'line 1 column 32: found the end of the statement, expected a name for the derived table, AS name',
  ],
  [
    'SELECT a FROM s UNION SELECT a FROM t',
    'line 1 column 23: found "SELECT", expected ALL after UNION: without it all rows had to be remembered',
  ],
  [
    'WITH a AS (SELECT a FROM s), a AS (SELECT b FROM s) SELECT a FROM a',
    'line 1 column 30: WITH has two queries named a',
  ],
  ['SELECT * AS x FROM s', 'line 1 column 10: found "AS", expected "," or FROM: a star has no alias'],
  ['SELECT a IS 1 FROM s', 'line 1 column 13: found "1", expected NULL or NOT NULL'],
  ['SELECT a[2:1] FROM s', 'line 1 column 10: the slice [2:1] is empty, its end must be greater than its start'],
  [
    'SELECT CASE WHEN a THEN 1 END FROM s',
    'line 1 column 18: WHEN of a CASE without operand needs a condition, such as a comparison',
  ],
  [
    'SELECT tumblingwindow(ss, 1) FROM s',
    'line 1 column 8: found the window TUMBLINGWINDOW, which may only be an item of GROUP BY',
  ],
  [
    'SELECT a FROM s GROUP BY COUNTWINDOW(2), COUNTWINDOW(3)',
    'line 1 column 42: found "COUNTWINDOW", expected no second window: GROUP BY has one already',
  ],
  [
    'SELECT a FROM s GROUP BY TUMBLINGWINDOW(xx, 1)',
    'line 1 column 41: found "xx", expected a time unit (DD, HH, MI, SS or MS) as first argument of TUMBLINGWINDOW',
  ],
  [
    'SELECT a FROM s GROUP BY COUNTWINDOW(2, 5)',
    'line 1 column 41: found "5", expected an interval of at most the count 2',
  ],
  [
    'SELECT a FROM s GROUP BY COUNTWINDOW(4294967296)',
    'line 1 column 38: found "4294967296", expected the count, a whole number from 1 to 4294967295',
  ],
  [
    'SELECT a FROM s GROUP BY TUMBLINGWINDOW(dd, 365251)',
    'line 1 column 45: found "365251", expected the length, a whole number from 1 to 365250',
  ],
  [
    'SELECT a FROM s GROUP BY SESSIONWINDOW(hh, 1, 8766001)',
    'line 1 column 47: found "8766001", expected the timeout, a whole number from 1 to 8766000',
  ],
  [
    'SELECT a FROM s GROUP BY SLIDINGWINDOW(ss, 1, 99999999999999999999)',
    'line 1 column 47: found "99999999999999999999", expected the delay, a whole number from 0 to 31557600000',
  ],
  [
    'SELECT a FROM s GROUP BY HOPPINGWINDOW(ms, 1000000000, 1)',
    'line 1 column 56: found "1", expected a hop of at least 1000: a row may be in 1000000 windows at most',
  ],
  [
    'SELECT a FROM s GROUP BY TUMBLINGWINDOW(ms, -5)',
    'line 1 column 45: found "-", expected the length, a whole number from 1 to 31557600000000',
  ],
  ['SELECT a FROM s LEFT t', 'line 1 column 22: found "t", expected JOIN after LEFT'],
  [
    'SELECT a FROM s CROSS JOIN t ON x = y',
    'line 1 column 30: found "ON", expected no condition: a CROSS JOIN pairs all rows',
  ],
  ['CREATE STREM s', 'line 1 column 8: found "STREM", expected STREAM or TABLE, did you mean STREAM?'],
  ['CREATE STREAM s', 'line 1 column 16: found the end of the statement, expected "(" and the columns, or WITH'],
  [
    'CREATE STREAM s (a INTEGR) WITH ()',
    'line 1 column 20: found "INTEGR", expected a column type (BIGINT, FLOAT, STRING, DATETIME, BOOLEAN, BYTEA, ' +
      'ARRAY or STRUCT), did you mean INTEGER?',
  ],
  [
    'CREATE STREAM s () WITH (TYPE=mqtt)',
    'line 1 column 31: found "mqtt", expected a string, a whole number, TRUE or FALSE as value of TYPE',
  ],
  ['CREATE STREAM s () WITH (TYPE="a", type="b")', 'line 1 column 36: the option TYPE is given twice'],
  [
    'CREATE STREAM s (a BIGINT DEFAULT b) WITH ()',
    'line 1 column 35: the value after DEFAULT must be a number, a string, TRUE or FALSE',
  ],
];

for (const [text, message] of complaints) {
  test(`complains about ${text.replaceAll('\n', ' ') || 'an empty statement'}`, () => {
    try {
      parseStatement(text);
    } catch (error) {
      assert.instance(error, HaumeaError);
      assert.is(error instanceof HaumeaError && error.kind, 'parse');
      assert.is(error instanceof Error && error.message, message);
      return;
    }
    assert.unreachable('it was accepted');
  });
}

test('long fragments are cut in messages', () => {
  assert.throws(
    () => parseExpression(`a ${'x'.repeat(500)}`),
    (error: Error) => error.message.length < 140,
  );
});

test.run();
