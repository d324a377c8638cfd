/** Case files that are not right are refused with file and line; renewing touches only what was expected. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readCases, renew } from '../support/sql/case-file.js';
import { outcomeOf, pairsOf } from '../support/sql/case-match.js';

const good = 'rows demo\n{"a":1}\n\nquery one\nSELECT a FROM demo\n----\n[{"a":1}]\n';

test('a file is read into queries with all they need', () => {
  const [query, ...more] = readCases('x.case', `# says what it shows\n${good}`);
  assert.is(more.length, 0);
  assert.is(query?.sql, 'SELECT a FROM demo');
  assert.is(query?.line, 5);
  assert.equal(query?.rows.get('demo'), ['{"a":1}']);
  assert.equal(query?.expected, { line: 7, lines: ['[{"a":1}]'], anyOrder: undefined });
});

const wrong: [what: string, text: string, reason: RegExp][] = [
  ['an unknown word', `${good}\nqery two\n`, /x\.case:9 qery is no word/],
  ['no query', '# nothing\n', /x\.case:1 there is no query/],
  ['nothing expected', 'query one\nSELECT a FROM demo\n', /x\.case:1 it is not said what comes out/],
  ['a step without an end', `${good}then demo at 5\n{"a":2}\n`, /not said what comes out/],
  ['a query without an empty line before it', `${good.trimEnd()}\nquery two\n`, /x\.case:8 an empty line is needed/],
  ['a title twice', `${good}\nquery one\nSELECT b FROM demo\n----\nnothing\n`, /x\.case:9 "one" is there twice/],
  ['a row twice', 'each a\n{"a":1} => 1\n{"a":1} => 1\n', /x\.case:3 the row is there twice/],
  ['each without rows', 'each a\n', /there are no rows/],
  ['rows that nobody sees', `${good}\nrows demo\n{"a":2}\n`, /x\.case:9 no query sees these rows/],
  ['rows replaced unseen', `rows demo\n1\n\n${good}`, /x\.case:4 demo has rows that no query saw/],
  ['rows of nobody', `${good}\nrows other\n1\n`, /x\.case:9 other is not defined/],
  ['a name twice', 'CREATE STREAM s () WITH ()\nCREATE STREAM s () WITH ()\n', /x\.case:2 s is defined twice/],
  ['options that are no JSON', 'query one\noptions {a\nSELECT a FROM demo\n----\nnothing\n', /x\.case:2 not JSON/],
  ['a step without stream and time', `${good}then\n----\nnothing\n`, /x\.case:8 then NAME/],
];
for (const [what, text, reason] of wrong) {
  test(`${what} is a failure with its line`, () => {
    assert.throws(() => readCases('x.case', text), reason);
  });
}

test('what came out replaces what was expected, and nothing else', () => {
  const text = 'each a\n{"a":1} => 1\n\nquery q\nSELECT a FROM demo\n----\nold\nold too\nthen at 5\n----\n\n# end\n';
  const renewed = renew(text, [
    { pair: 2, payload: '{"a":1}', value: '2' },
    { after: 6, lines: ['new'] },
    { after: 10, lines: ['nothing'] },
  ]);
  assert.is(
    renewed,
    'each a\n{"a":1} => 2\n\nquery q\nSELECT a FROM demo\n----\nnew\nthen at 5\n----\nnothing\n\n# end\n',
  );
});

const expected = (lines: string[], anyOrder?: 'rows' | 'messages') => ({ line: 1, lines, anyOrder });

test('errors are told by a part of their text, order counts unless it is said to be free', () => {
  const failed = '{"error":"the sky is high"}';
  assert.equal(outcomeOf(expected(['error sky']), [failed]), ['error sky']);
  assert.equal(outcomeOf(expected(['error sea']), [failed]), ['error the sky is high']);
  assert.equal(outcomeOf(expected(['error ']), [failed]), ['error the sky is high']);
  assert.equal(outcomeOf(expected(['[]']), []), ['nothing']);
  const two = ['[{"a":1},{"a":2}]', '[{"a":3}]'];
  const turned = ['[{"a":2},{"a":1}]', '[{"a":3}]'];
  assert.equal(outcomeOf(expected(turned), two), two);
  assert.equal(outcomeOf(expected(turned, 'rows'), two), turned);
  assert.equal(outcomeOf(expected(turned, 'messages'), two), ['[{"a":3}]', '[{"a":1},{"a":2}]']);
  assert.equal(outcomeOf(expected([...two].reverse(), 'messages'), two), [...two].reverse());
  assert.equal(outcomeOf(expected([two[0]!, two[0]!], 'messages'), two), two);
});

test('each row has the value it gave, null and none apart; too few messages are seen', () => {
  const pair = (value: string) => ({ line: 1, payload: '', value });
  assert.equal(pairsOf([pair('1'), pair('null'), pair('error x')], ['[{"r":null}]', '[{}]', '{"error":"axb"}']), [
    'null',
    'none',
    'error x',
  ]);
  assert.equal(pairsOf([pair('1'), pair('1')], ['[{"r":1}]']), ['[{"r":1}]', '1 messages of 2 rows']);
});

test.run();
