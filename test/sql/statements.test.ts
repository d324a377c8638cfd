/** Statements of several SELECTs through a real server (topology, EXPLAIN), and moved from one kernel to another. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule } from '../support/engine/rule-kernel.js';
import { eventually, startServer } from '../support/harness.js';

const server = await startServer();
test.after(async () => void (await server.stop()));

for (const name of ['l', 'r']) {
  await server.request('POST', '/streams', {
    sql: `CREATE STREAM ${name} () WITH (TYPE="memory", DATASOURCE="${name}", FORMAT="json", TIMESTAMP="ts")`,
  });
}

async function topologyOf(id: string, sql: string): Promise<{ sources: string[]; edges: Record<string, string[]> }> {
  const { status, text } = await server.request('POST', '/rules', { id, sql, actions: [{ nop: {} }] });
  assert.is(status, 201, text);
  await eventually('the rule runs', async () => {
    const { json: state } = await server.request('GET', `/rules/${id}/status`);
    return state.status.toLowerCase() === 'running' || undefined;
  });
  const { json } = await server.request('GET', `/rules/${id}/topo`);
  return json;
}

test('each SELECT of UNION ALL is a way of its own to the sinks', async () => {
  const { sources, edges } = await topologyOf('ways', 'SELECT a FROM l WHERE a > 1 UNION ALL SELECT a FROM r');
  assert.equal(sources, ['source_l', 'source_r']);
  const into = Object.entries(edges).filter(([, to]) => to.some((name) => name.includes('transform')));
  assert.is(into.length, 2, JSON.stringify(edges));
});

test('the rows of UNION ALL in FROM come together in one operator', async () => {
  const sql = 'SELECT count(*) AS n FROM (SELECT a FROM l UNION ALL SELECT a FROM l) AS u GROUP BY COUNTWINDOW(2)';
  const { sources, edges } = await topologyOf('together', sql);
  assert.is(new Set(sources).size, 2);
  const into = Object.values(edges).filter((to) => to.some((name) => name.endsWith('_union')));
  assert.is(into.length, 2, JSON.stringify(edges));
});

test('conditions on one stream of a window join stand behind it alone', async () => {
  const joined = 'd INNER JOIN r ON d.k = r.k WHERE d.k > 0 GROUP BY TUMBLINGWINDOW(ss, 5)';
  const froms = {
    ofstream: 'l AS',
    ofplain: '(SELECT k, a AS v FROM l) AS',
    ofcomputed: '(SELECT k, a * 2 AS v FROM l) AS',
  };
  for (const [id, from] of Object.entries(froms)) {
    const { sources, edges } = await topologyOf(id, `SELECT d.k, r.b FROM ${from} ${joined}`);
    assert.is(sources.length, 2, id);
    assert.is(edges.op_2_filter?.join(), 'op_4_union', JSON.stringify(edges));
    const into = (name: string) => Object.keys(edges).filter((from) => edges[from]?.includes(name));
    assert.equal(into('op_2_filter'), ['source_l'], id);
    assert.equal(into('op_4_union').toSorted(), ['op_2_filter', 'source_r'], id);
    const { json: status } = await server.request('GET', `/rules/${id}/status`);
    for (const name of [
      'source_l',
      'source_r',
      'op_2_filter',
      'op_4_union',
      'op_5_window',
      'op_6_join',
      'op_7_project',
    ])
      assert.is(status[`${name}_0_records_in_total`], 0, `${id} ${name} ${Object.keys(status)}`);
  }
});

test('EXPLAIN shows derived tables, distinct rows and conditions on numbers', async () => {
  const sql =
    'SELECT DISTINCT a FROM (SELECT a, b FROM l GROUP BY COUNTWINDOW(9) QUALIFY row_number() OVER (ORDER BY b ' +
    'DESC) < 3) AS d';
  const { text } = await server.request('POST', '/rules', { id: 'shown', sql, actions: [{ nop: {} }] });
  assert.match(text, /shown/);
  const { text: shown } = await server.request('GET', '/rules/shown/explain');
  for (const part of ['DistinctPlan', 'DerivedTablePlan', 'Name:d', 'QualifyPlan', 'ORDER BY', 'OrderPlan'])
    assert.match(shown, part);
});

test('windows over windows go on in another kernel', () => {
  const streams = ['CREATE STREAM l () WITH (FORMAT="json", TIMESTAMP="ts")'];
  const sql =
    'SELECT collect(n) AS n FROM (SELECT count(*) AS n FROM l GROUP BY TUMBLINGWINDOW(ss, 1) HAVING count(*) > ' +
    '0) AS d ' +
    'GROUP BY TUMBLINGWINDOW(ss, 10)';
  const open = () => openRule(streams, sql, { options: { isEventTime: true, lateToleranceMs: 0 } });
  const rows = [100, 200, 1300, 2400, 9000, 9100, 11_000, 25_000].map((ts) => ({ ts }));
  for (let move = 0; move <= rows.length; move++) {
    let rule = open();
    const messages: unknown[] = [];
    rows.forEach((row, i) => {
      if (i === move) {
        messages.push(...rule.taken());
        const state = rule.save();
        rule.close();
        rule = open();
        rule.load(state);
      }
      rule.feed('l', [row]);
    });
    messages.push(...rule.taken());
    rule.close();
    assert.equal(messages, [[{ n: [2, 1, 1, 2] }], [{ n: [1] }]], `moved before row ${move}`);
  }
});

test.run();
