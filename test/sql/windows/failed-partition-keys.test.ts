/** A key of OVER (PARTITION BY …) that fails makes its row fail, and changes nothing but that row. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { callHost } from '../../../host/functions/registry.js';
import { createKernel } from '../../../kernels/index.js';
import { openRule } from '../../support/engine/rule-kernel.js';
import { kernelUnderTest } from '../../support/kernel/drive.js';

const demo = ['CREATE STREAM demo () WITH (DATASOURCE="demo", TYPE="memory")'];

/** Rows of which each other one has a key that fails. */
const failing = Array.from({ length: 600 }, (_none, i) => ({ a: i, n: i % 2 }));
/** Numbers of all sizes. */
const numbers = Array.from({ length: 600 }, (_none, i) => ({ a: Number(`1.3310211265350105e${i - 300}`) }));

for (const before of ['', 'lag(a) AS l, ']) {
  test(`rules beside it give what they gave before: SELECT ${before}latest(a) OVER (PARTITION BY a / n)`, () => {
    let output = '';
    const kernel = createKernel(
      {
        onOutput: ({ bytes }) => {
          output += Buffer.from(bytes).toString();
        },
        onPacket: () => {},
        onAcknowledge: () => {},
        call: callHost,
      },
      kernelUnderTest,
    );
    const reading = openRule(demo, 'SELECT a FROM demo', { kernel });
    reading.feed('demo', numbers);
    const expected = output;
    assert.is(expected, numbers.map((row) => `[${JSON.stringify(row)}]\n`).join(''));
    output = '';
    const rule = openRule(demo, `SELECT ${before}latest(a) OVER (PARTITION BY a / n) AS x FROM demo`, { kernel });
    rule.feed('demo', failing);
    assert.is(output.split('divided by zero').length - 1, 300, output.slice(0, 200));
    rule.close();
    output = '';
    reading.feed('demo', numbers);
    assert.is(output, expected);
    reading.close();
  });
}

test.run();
