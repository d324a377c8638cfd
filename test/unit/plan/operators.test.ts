/** Each operator names the values that it computes, and gives all of them but times to who replaces values. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { plan } from '../../../host/plan/index.js';
import { operatorsOf } from '../../../host/plan/logical/logical.js';
import { mapOwnValues, valuesOf } from '../../../host/plan/operators/index.js';
import type { Value } from '../../../host/plan/values/value.js';
import { catalogOf, noFold, ruleOf } from '../../support/engine/planned-rules.js';

const catalog = catalogOf(
  ...['a', 'b', 'timed'].map(
    (name) => `CREATE STREAM ${name} () WITH (TYPE="memory", DATASOURCE="${name}", FORMAT="json", TIMESTAMP="ts")`,
  ),
  'CREATE TABLE kept () WITH (TYPE="memory", DATASOURCE="kept", FORMAT="json", KIND="lookup", KEY="id")',
  'CREATE TABLE scan () WITH (TYPE="file", DATASOURCE="scan.json", FORMAT="json")',
);

const inEventTime: ReadonlySet<string> = new Set([
  'SELECT a.x, b.y FROM a ASOF JOIN b ON a.id = b.id',
  'SELECT a.x, b.y FROM a INNER JOIN b ON a.id = b.id AND b.ts BETWEEN a.ts AND a.ts + 5000',
]);

const statements = [
  ...inEventTime,
  'SELECT * EXCEPT(x), x + 1 AS y FROM a WHERE x > 2 ORDER BY y LIMIT 3',
  'SELECT lag(x) OVER (PARTITION BY y), acc_sum(x) FROM a WHERE lag(x) > 1',
  'SELECT x FROM a WHERE x > 3 AND last_hit_count() < 5',
  'SELECT count(*) AS n, max(x) FILTER (WHERE x > 1) AS m FROM a GROUP BY y, HOPPINGWINDOW(ss, 10, 2) HAVING n > 3',
  'SELECT count(*) FROM a GROUP BY SLIDINGWINDOW(ss, 10, 2) OVER (PARTITION BY y WHEN x > 3)',
  'SELECT collect(x) FROM a GROUP BY STATEWINDOW(x > 3, y < 2)',
  'SELECT x FROM a GROUP BY SESSIONWINDOW(ss, 10, 2), y',
  'SELECT x FROM a GROUP BY COUNTWINDOW(5, 2) FILTER (WHERE x > 3)',
  'SELECT a.x, b.y, c.z FROM a LEFT JOIN b ON a.id = b.id JOIN scan AS c ON c.id = a.id GROUP BY TUMBLINGWINDOW(ss, 1)',
  'SELECT a.x, kept.y FROM a INNER JOIN kept ON a.id = kept.id',
  'SELECT unnest(xs) AS x, y FROM a',
  'SELECT n + 1 AS m FROM (SELECT x * 2 AS n FROM a WHERE x > 1) AS inner_rows WHERE n > 5',
  'SELECT DISTINCT x FROM a GROUP BY TUMBLINGWINDOW(ss, 1)',
  'SELECT delay(1000, x) AS later FROM a',
  'SELECT dedup_trigger(first, last, now, 1000) AS ranges FROM a',
];

const seen = new Set<string>();

for (const sql of statements) {
  test(sql, () => {
    const { roots } = plan(ruleOf(sql, { isEventTime: inEventTime.has(sql) }), catalog, noFold);
    for (const node of operatorsOf(roots)) {
      seen.add(node.kind);
      const mapped: Value[] = [];
      const same = mapOwnValues(node, (value) => {
        mapped.push(value);
        return value;
      });
      const times = node.kind === 'merge' ? node.timestamps : 'timestamp' in node ? [node.timestamp] : [];
      const named = new Set(valuesOf(node));
      assert.equal(
        mapped.filter((value) => !named.has(value)),
        [],
        `${node.kind} hides values`,
      );
      const missing = [...named].filter((value) => !mapped.includes(value) && !times.includes(value));
      const star = node.kind === 'project' ? [node.row.star?.row] : [];
      const ofWindow = node.kind === 'window' && node.window.kind === 'message' ? Object.values(node.window) : [];
      const kept = new Set<unknown>([...star, ...ofWindow]);
      assert.equal(
        missing.filter((value) => !kept.has(value)),
        [],
        `${node.kind} keeps values back`,
      );
      assert.equal(valuesOf(same), valuesOf(node), `${node.kind} is changed by a map that changes nothing`);
    }
  });
}

test('the statements have all kinds of operators that SQL makes', () => {
  const all =
    'source merge watermark derive join asof interval lookup delay dedup analytic hits ' +
    'filter window sort limit expand project';
  assert.equal(
    all.split(' ').filter((kind) => !seen.has(kind)),
    [],
  );
});

test.run();
