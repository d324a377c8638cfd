import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { outputName, outputNames } from '../../../host/sql/names.js';
import { parseExpression, parseSelect } from '../../../host/sql/parser.js';

function namesOf(list: string): string[] {
  return outputNames(parseSelect(`SELECT ${list} FROM demo`).items);
}

test('columns keep their name, without the qualifier', () => {
  assert.equal(namesOf('a, o.x, `b c`'), ['a', 'x', 'b c']);
});

test('calls are named after the function in lower case', () => {
  assert.equal(namesOf('COUNT(*), abs(a)'), ['count', 'abs']);
  assert.is(
    outputName(parseExpression('EchoTwo(a)'), 0, (name) => name),
    'EchoTwo',
  );
});

test('other expressions are numbered among themselves', () => {
  assert.equal(namesOf('a + 1, b, o->x, -a AS c, o.y.z, arr[0], "s", *'), [
    'kuiper_field_0',
    'b',
    'kuiper_field_1',
    'c',
    'kuiper_field_2',
    'kuiper_field_3',
    'kuiper_field_4',
    '*',
  ]);
});

test.run();
