/** Rules that look up in tables outside, through a whole data plane: sources, kernel, questions, answers, sinks. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { LookupAnswer } from '../../kernels/api.js';
import { eventually } from '../harness.js';
import { startRule } from './rule-plane.js';

const table = 'CREATE TABLE t () WITH (TYPE="simulator", KIND="lookup", KEY="id")';

/** Never settles. */
const never = (): Promise<LookupAnswer> => new Promise(() => {});

test('rows that wait for answers at the end of their rule are counted as lost, logged, and told to who stops it', async () => {
  let asked = 0;
  const rule = await startRule('SELECT s.id, t.name FROM s INNER JOIN t ON s.id = t.id', {
    rows: { s: [{ id: 1 }, { id: 2 }, { id: 1 }] },
    tables: [table],
    ask: (request) => {
      asked += request.count;
      return never();
    },
  });
  await eventually('the rows wait', () => asked === 2);
  await rule.plane.stop(rule.start.run);
  const { metrics, losses } = await rule.notice('stopped');
  const loss = 'the rule ends while 3 rows wait for answers of the lookup table t: they are lost';
  assert.equal(losses, [loss]);
  assert.ok(rule.warnings.includes(loss), rule.warnings.join('\n'));
  assert.is(metrics.exceptionsTotal, 3);
  assert.is(metrics.op_t_0_exceptions_total, 3);
  assert.match(
    String(metrics.op_t_0_last_exception),
    /the rule ended while rows waited for answers of the lookup table t/,
  );
  assert.equal(rule.written(), []);
  await rule.close();
});

test.run();
