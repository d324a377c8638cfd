/** A condition decides on rows that come alone, or a few at a time, as on the same rows among many. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createKernel } from '../../../kernels/index.js';
import { openRule } from '../../support/engine/rule-kernel.js';
import { kernelUnderTest } from '../../support/kernel/drive.js';

const stream = 'CREATE STREAM demo () WITH (DATASOURCE="demo", FORMAT="json", TYPE="memory")';

const values = [
  0,
  -1,
  1,
  2,
  2.5,
  -2.5,
  1e300,
  9007199254740992,
  'x',
  'y',
  '',
  'a text of more than sixteen bytes',
  true,
  null,
];
const rows = [...values.map((v, i) => ({ i, v })), { i: values.length }, { i: 99, v: [1] }, { i: 100, v: { a: 1 } }];

const operators = ['=', '!=', '<', '<=', '>', '>='];
const constants = [
  '2',
  '2.5',
  '-1',
  '0',
  '9007199254740992',
  "'x'",
  "'a text of more than sixteen bytes'",
  "''",
  'true',
];
/** Booleans have no order. */
const isTaken = (operator: string, constant: string) => constant !== 'true' || operator === '=' || operator === '!=';
const conditions = operators.flatMap((operator) =>
  constants.filter((constant) => isTaken(operator, constant)).map((constant) => `v ${operator} ${constant}`),
);
conditions.push('2 < v', '2.5 >= v', "'x' = v", '2 != v');

let output: string[] = [];
const kernel = createKernel(
  {
    onOutput: ({ bytes }) => output.push(Buffer.from(bytes).toString()),
    onPacket: () => {},
    onAcknowledge: () => {},
    call: () => {},
  },
  kernelUnderTest,
);

/** What passes, and how many rows the filter took and gave, when `size` rows come at a time. */
function passed(condition: string, size: number, wholeNumbersAreInts: boolean) {
  const rule = openRule([stream], `SELECT i FROM demo WHERE ${condition}`, {
    kernel,
    declared: () => ({ schema: null, strict: false, wholeNumbersAreInts }),
  });
  output = [];
  for (let at = 0; at < rows.length; at += size) rule.feed('demo', rows.slice(at, at + size));
  const { recordsIn, recordsOut, exceptions } = rule.kernel.counters(rule.node('filter'));
  rule.close();
  return { out: output.join(''), recordsIn, recordsOut, exceptions };
}

test('rows that come alone or a few at a time pass as among many', () => {
  for (const condition of conditions) {
    for (const ints of [false, true]) {
      const many = passed(condition, rows.length, ints);
      for (const size of [1, 2, 5])
        assert.equal(passed(condition, size, ints), many, `${condition}, ${size} at a time`);
    }
  }
});

test('what is computed from the condition again sees it as it was decided', () => {
  const rule = openRule([stream], 'SELECT i, i > 2 AS isMore FROM demo WHERE i > 2', { kernel });
  output = [];
  // Another condition in between, in the same place.
  const other = openRule([stream], 'SELECT i, i < 2 AS isMore FROM demo WHERE i < 2', { kernel });
  other.feed('demo', [{ i: 1 }]);
  other.feed('demo', [{ i: 3 }, { i: 1 }]);
  output = [];
  rule.feed('demo', [{ i: 3 }]);
  rule.feed('demo', [{ i: 4 }, { i: 5 }]);
  other.close();
  rule.close();
  const rows = output
    .join('')
    .trimEnd()
    .split('\n')
    .flatMap((message) => JSON.parse(message));
  assert.equal(
    rows,
    [3, 4, 5].map((i) => ({ i, isMore: true })),
  );
});

test.run();
