import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { explainRule } from '../../../host/plan/explain-rule.js';
import { planRule, sourcesOf } from '../../../host/plan/index.js';
import { col } from '../../../kernels/plan/ir.js';
import { sourceOfColumns } from '../../../kernels/traits.js';
import { catalogOf, noFold, ruleOf, shown, streams } from '../../support/engine/planned-rules.js';
import { showPlan } from '../../support/plan/show-plan.js';

function plans(sql: string, expected: string[], options: Parameters<typeof shown>[1] = {}): void {
  assert.equal(shown(sql, options).split('\n'), expected);
}

test('decodes only the columns that the rule needs', () => {
  plans('SELECT id, temp, speed*3.6 AS kmh FROM demo WHERE temp > 21.0', [
    'source 0 demo: c0=temp c1=id c2=speed',
    '#0 filter < source 0',
    '  r0 = compare.gt c0 21.0',
    '  keep r0',
    '#1 encode < #0',
    '  r1 = arith.mul c2 3.6',
    '  {id: c1, kmh: r1?, temp: c0}',
    '  json lines > 0',
  ]);
});

test('makes a filter of each condition joined by AND and shares what they compute', () => {
  plans('SELECT a * 2 AS d FROM demo WHERE a * 2 > 1 AND b = "x" AND a * 2 < 9', [
    'source 0 demo: c0=a c1=b',
    '#0 filter < source 0',
    '  r0 = arith.mul c0 2',
    '  r1 = compare.gt r0 1',
    '  keep r1',
    '#1 filter < #0',
    '  r2 = compare.eq c1 "x"',
    '  keep r2',
    '#2 filter < #1',
    '  r3 = compare.lt r0 9',
    '  keep r3',
    '#3 encode < #2',
    '  {d: r0?}',
    '  json lines > 0',
  ]);
});

test('keeps the bounds of a column together, and an equality with the bounds before it', () => {
  plans('SELECT a FROM demo WHERE a > 1 AND b > 2 AND a <= 9 AND b = 5 AND c > 1', [
    'source 0 demo: c0=a c1=b c2=c',
    '#0 filter < source 0',
    '  r0 = compare.gt c0 1',
    '  r1 = compare.gt c1 2',
    '  r2 = logic.and r0 r1',
    '  r3 = compare.le c0 9',
    '  r4 = logic.and r2 r3',
    '  r5 = compare.eq c1 5',
    '  r6 = logic.and r4 r5',
    '  keep r6',
    '#1 filter < #0',
    '  r7 = compare.gt c2 1',
    '  keep r7',
    '#2 encode < #1',
    '  {a: c0}',
    '  json lines > 0',
  ]);
});

test('groups in the window and filters groups behind it', () => {
  plans(
    'SELECT device, count(*) AS n, avg(temp) AS t, window_end() AS e FROM demo ' +
      'GROUP BY device, TUMBLINGWINDOW(ss, 10) HAVING n > 2 ORDER BY t DESC LIMIT 3',
    [
      'source 0 demo: c0=device c1=temp',
      '#0 window < source 0',
      '  window tumbling unitMs 1000 lengthMs 10000, grouped by [c0]',
      '  give c0=c0 c1=countAll() c2=avg(c1)',
      '#1 filter < #0',
      '  r0 = compare.gt c1 2',
      '  keep r0',
      '#2 sort < #1',
      '  by c2 desc columns 6',
      '#3 limit < #2',
      '  first 3',
      '#4 encode < #3',
      '  {device: c0, e: c4?, n: c1?, t: c2?}',
      '  json lines > 0',
    ],
  );
});

test('drops rows before a window that follows the clock', () => {
  plans('SELECT sum(a) AS s FROM demo WHERE b > 1 GROUP BY TUMBLINGWINDOW(ss, 1)', [
    'source 0 demo: c0=b c1=a',
    '#0 filter < source 0',
    '  r0 = compare.gt c0 1',
    '  keep r0',
    '#1 window < #0',
    '  window tumbling unitMs 1000 lengthMs 1000, grouped by [], send empty',
    '  give c0=sum(c1)',
    '#2 encode < #1',
    '  {s: c0?}',
    '  json lines > 0',
  ]);
});

for (const window of ['SESSIONWINDOW(ss, 5, 1)', 'STATEWINDOW(a = 1, a = 2)']) {
  test(`drops rows before ${window} in processing time`, () => {
    const { nodes } = planRule(ruleOf(`SELECT sum(a) AS s FROM demo WHERE b > 1 GROUP BY ${window}`), streams, noFold);
    assert.equal(
      nodes.map(({ kind }) => kind),
      ['filter', 'window', 'encode'],
    );
  });
}

for (const window of ['COUNTWINDOW(2)', 'SLIDINGWINDOW(ss, 1)']) {
  test(`lets ${window} see the rows that WHERE leaves out`, () => {
    const { nodes } = planRule(ruleOf(`SELECT sum(a) AS s FROM demo WHERE b > 1 GROUP BY ${window}`), streams, noFold);
    const [first] = nodes;
    assert.is(first?.kind, 'window');
    assert.type(first?.kind === 'window' ? first.where : undefined, 'number');
  });
}

test('orders rows by event time first and keeps WHERE in the window', () => {
  plans(
    'SELECT k, event_time() AS t FROM timed WHERE k != 1 GROUP BY TUMBLINGWINDOW(ss, 5)',
    [
      'source 0 timed: c0=ts c1=k',
      '#0 eventTime < source 0',
      '  by c0 late 500ms columns 2',
      '#1 window < #0',
      '  r0 = compare.ne c1 1',
      '  window tumbling unitMs 1000 lengthMs 5000, event time c0, where r0',
      '  give c0=c1 c1=c0',
      '#2 encode < #1',
      '  r1 = cast.toDatetime c1',
      '  r2 = cast.toBigint r1',
      '  {k: c0, t: r2?}',
      '  json lines > 0',
    ],
    { isEventTime: true, lateToleranceMs: 500 },
  );
});

test('sends empty windows only without GROUP BY columns, in event time without WHERE, too', () => {
  const sendsEmpty = (sql: string) => shown(sql).includes('send empty');
  assert.ok(sendsEmpty('SELECT count(*) FROM demo GROUP BY TUMBLINGWINDOW(ss, 1)'));
  assert.ok(sendsEmpty('SELECT a FROM demo GROUP BY TUMBLINGWINDOW(ss, 1) FILTER (WHERE a > 1)'));
  assert.ok(sendsEmpty('SELECT count(*) FROM demo WHERE a > 1 GROUP BY TUMBLINGWINDOW(ss, 1)'));
  assert.not(
    shown('SELECT count(*) FROM timed WHERE k > 1 GROUP BY TUMBLINGWINDOW(ss, 1)', { isEventTime: true }).includes(
      'send empty',
    ),
  );
  assert.not(sendsEmpty('SELECT count(*) FROM demo GROUP BY a, TUMBLINGWINDOW(ss, 1)'));
});

test('evaluates an aggregate without a window on each row', () => {
  plans('SELECT a, sum(b) FILTER (WHERE c) FROM demo', [
    'source 0 demo: c0=a c1=b c2=c',
    '#0 window < source 0',
    '  window row, grouped by []',
    '  give c0=c0 c1=sum(c1) filter c2',
    '#1 encode < #0',
    '  {a: c0, sum: c1?}',
    '  json lines > 0',
  ]);
});

test('gives whole rows to aggregates that ask for them', () => {
  const given = (sql: string) => shown(sql).match(/give .*/)?.[0];
  assert.is(
    given('SELECT deduplicate(a, true), collect(*) FROM demo'),
    'give c0=collect(c0) c1=deduplicate(c1 true c0)',
  );
  assert.is(given('SELECT last_value(*, true) AS l FROM typed'), 'give c0=lastValue(r0 true)');
});

test('reads the whole row for a wildcard without a schema', () => {
  plans('SELECT * FROM demo', ['source 0 demo: c0=*', '#0 encode < source 0', '  object c0', '  json lines > 0']);
  plans('SELECT * EXCEPT(x) REPLACE(a + 1 AS b), upper AS u FROM demo', [
    'source 0 demo: c0=* c1=a c2=upper',
    '#0 encode < source 0',
    '  r0 = arith.add c1 1',
    '  r1 = nested.merge c0 "x" missing "b" r0 "u" c2 #1',
    '  object r1',
    '  json lines > 0',
  ]);
});

test('expands a wildcard over declared columns', () => {
  plans('SELECT *, a + 1 AS b FROM typed', [
    'source 0 typed: c0=a c1=arr c2=st',
    '#0 encode < source 0',
    '  r0 = arith.add c0 1',
    '  {a: c0, arr: c1, b: r0?, st: c2}',
    '  json lines > 0',
  ]);
});

test('resolves aliases everywhere, and the column within the alias itself', () => {
  plans('SELECT a + 1 AS a, a * 2 AS b FROM demo WHERE a > 2', [
    'source 0 demo: c0=a',
    '#0 filter < source 0',
    '  r0 = arith.add c0 1',
    '  r1 = compare.gt r0 2',
    '  keep r1',
    '#1 encode < #0',
    '  r2 = arith.mul r0 2',
    '  {a: r0?, b: r2?}',
    '  json lines > 0',
  ]);
});

test('resolves table aliases and members of columns', () => {
  plans('SELECT d.a, o.x, demo.b FROM demo AS d WHERE d.o.y[0] > 1', [
    'source 0 demo: c0=o c1=a c2=b',
    '#0 filter < source 0',
    '  r0 = nested.member c0 "y"',
    '  r1 = nested.index r0 0',
    '  r2 = compare.gt r1 1',
    '  keep r2',
    '#1 encode < #0',
    '  r3 = nested.member c0 "x"',
    '  {a: c1, b: c2, x: r3?}',
    '  json lines > 0',
  ]);
});

test('reads raw payloads, metadata and the id of the rule', () => {
  plans('SELECT meta(topic) AS topic, self AS state, rule_id() AS r, meta(*) AS m FROM raw', [
    'source 0 raw: c0=meta(*) c1=self c2=meta(topic)',
    '#0 encode < source 0',
    '  {m: c0?, r: "r1"?, state: c1?, topic: c2?}',
    '  json lines > 0',
  ]);
});

test('sorts output columns by the bytes of their names', () => {
  const text = shown('SELECT zeta, Alpha, alpha, `é`, `_u`, `10`, `😀`, `ﬀ` FROM demo');
  const row = text.split('\n').find((line) => line.startsWith('  {')) ?? '';
  const names = [...row.matchAll(/([^ {]+): c\d/g)].map(([, name]) => name);
  assert.equal(names, ['10', 'Alpha', '_u', 'alpha', 'zeta', 'é', 'ﬀ', '😀']);
});

test('shares the encoder of actions with equal wishes', () => {
  const { nodes } = planRule(
    ruleOf('SELECT a FROM demo', {}, [
      { type: 'mqtt', props: { topic: 'x' } },
      { type: 'rest', props: { url: 'http://127.0.0.1' } },
      { type: 'mqtt', props: { topic: 'y', sendSingle: true } },
    ]),
    streams,
    noFold,
  );
  assert.equal(
    nodes.map((node) => (node.kind === 'encode' ? node.actions : null)),
    [[0, 1], [2]],
  );
});

test('applies fields, excludeFields and dataField before encoding', () => {
  const output = (sql: string, props: Record<string, unknown>) =>
    shown(sql, {}, [{ type: 'mqtt', props }])
      .split('\n')
      .filter((line) => /^ {2}[{o]|^source|first/.test(line));
  assert.equal(output('SELECT * FROM demo', { fields: ['b', 'zz'] }), [
    'source 0 demo: c0=b c1=zz',
    '  {b: c0?, zz: c1?}',
  ]);
  assert.equal(output('SELECT a, b FROM demo', { fields: ['b', 'zz'] }), [
    'source 0 demo: c0=b',
    '  {b: c0?, zz: null?}',
  ]);
  assert.equal(output('SELECT a, b FROM demo', { excludeFields: ['b'] }), ['source 0 demo: c0=a', '  {a: c0}']);
  assert.equal(output('SELECT * FROM demo', { dataField: 'c' }), ['source 0 demo: c0=c', '  first 1', '  object c0']);
});

test('leaves nulls of unnamed expressions out even with sendNilField', () => {
  assert.match(shown('SELECT a + 1, a FROM demo', { sendNilField: true }), '{a: c0, kuiper_field_0: r0??}');
});

test('chooses format and framing by the kind of sink', () => {
  const formatOf = (type: string, props = {}) => shown('SELECT a FROM demo', {}, [{ type, props }]).split('\n').at(-1);
  assert.is(formatOf('file'), '  json lines > 0');
  assert.is(formatOf('mqtt', { batchSize: 5, sendSingle: true }), '  json messages single batch 5 > 0');
  assert.is(formatOf('mqtt', { lingerInterval: '1s' }), '  json messages linger 1000ms > 0');
  assert.is(formatOf('memory'), '  rows messages > 0');
  assert.is(formatOf('nop'), '  none messages > 0');
});

test('folds constants through the kernel and drops conditions that are always true', () => {
  const rule = ruleOf('SELECT a + (1 + 2) AS x FROM demo WHERE 1 = 1 AND a > 2 * 3');
  const asked: string[] = [];
  const plan = planRule(rule, streams, ({ ops: [op] }) => {
    asked.push(op?.op ?? '');
    if (op?.op === 'compare.eq') return { value: { tag: 'bool', value: true } };
    if (op?.op === 'arith.add') return { value: { tag: 'i64', value: 3n } };
    return { error: 'not now' };
  });
  assert.equal(asked.sort(), ['arith.add', 'arith.mul', 'compare.eq']);
  assert.equal(showPlan(plan).split('\n'), [
    'source 0 demo: c0=a',
    '#0 filter < source 0',
    '  r0 = arith.mul 2 3',
    '  r1 = compare.gt c0 r0',
    '  keep r1',
    '#1 encode < #0',
    '  r2 = arith.add c0 3',
    '  {x: r2?}',
    '  json lines > 0',
  ]);
});

test('names operators as the interface does and tells which nodes do their work', () => {
  const rule = ruleOf('SELECT a, count(*) FROM typed WHERE a > 3 AND a != 9 GROUP BY a, TUMBLINGWINDOW(ss, 1)', {}, [
    { type: 'log', props: {} },
    { type: 'memory', props: { topic: 'o' } },
  ]);
  const { topology, operators } = planRule(rule, streams, noFold);
  assert.equal(topology, {
    sources: ['source_typed'],
    edges: {
      source_typed: ['op_2_decoder'],
      op_2_decoder: ['op_3_filter'],
      op_3_filter: ['op_4_window'],
      op_4_window: ['op_5_aggregate'],
      op_5_aggregate: ['op_6_project'],
      op_6_project: ['op_log_0_0_transform', 'op_memory_1_0_transform'],
      op_log_0_0_transform: ['op_log_0_1_encode'],
      op_log_0_1_encode: ['sink_log_0'],
      op_memory_1_0_transform: ['sink_memory_1'],
    },
  });
  assert.equal(
    operators.map(({ name, nodes }) => `${name} ${nodes}`),
    [
      'source_typed ',
      'op_2_decoder ',
      'op_3_filter 0,1',
      'op_4_window 2',
      'op_5_aggregate 2',
      'op_6_project 3',
      'op_log_0_0_transform 3',
      'op_log_0_1_encode 3',
      'sink_log_0 3',
      'op_memory_1_0_transform 4',
      'sink_memory_1 4',
    ],
  );
});

test('the filter of a window has the number of its window', () => {
  const rule = ruleOf('SELECT a FROM demo GROUP BY COUNTWINDOW(5, 2) FILTER (WHERE a > 1)');
  const { edges } = planRule(rule, streams, noFold).topology;
  assert.equal(edges.source_demo, ['op_2_windowFilter']);
  assert.equal(edges.op_2_windowFilter, ['op_2_window']);
  assert.equal(edges.op_2_window, ['op_3_project']);
});

test('explains the plan as lines of JSON', () => {
  assert.equal(explainRule(ruleOf('SELECT a, b AS bb FROM typed WHERE a > 3'), streams, noFold).split('\n'), [
    '{"op":"ProjectPlan_0","info":"Fields:[ typed.a, typed.b AS bb ]"}',
    '\t{"op":"FilterPlan_1","info":"Condition:{ typed.a > 3 }"}',
    '\t\t\t{"op":"DataSourcePlan_2","info":"StreamName: typed, StreamFields:[ a, b ]"}',
  ]);
});

/** What EXPLAIN notes of the operator. */
function noteOf(sql: string, op: string, catalog = streams): Record<string, unknown> {
  const lines = explainRule(ruleOf(sql), catalog, noFold).split('\n');
  const notes = lines.map((text) => JSON.parse(text) as Record<string, unknown>).filter((one) => one.op === 'Note');
  return notes.find(({ of }) => String(of).startsWith(op)) ?? {};
}

test('explains what the host computes', () => {
  assert.is(
    noteOf('SELECT md5(regexp_replace(a, "x+", "")) AS m FROM demo', 'ProjectPlan').host,
    'md5, regexp_replace',
  );
});

test('explains functions by the names that they have in SQL', () => {
  const sql = "SELECT array_max(list) AS m, array_map('upper', list) AS u, rule_start() AS s FROM demo";
  assert.match(
    explainRule(ruleOf(sql), streams, noFold),
    /\[ array_max\(demo\.list\) AS m, array_map\((?:\\")?upper(?:\\")?, demo\.list\) AS u, rule_start\(\) AS s \]/,
  );
});

test('explains what windows keep, and with what it grows', () => {
  const kept = (select: string, groupBy: string) =>
    noteOf(`SELECT ${select} FROM demo GROUP BY ${groupBy}`, 'WindowPlan').keeps;
  assert.is(kept('avg(a)', 'TUMBLINGWINDOW(ss, 10)'), 'aggregates of the last 10000 ms: does not grow');
  assert.match(
    String(kept('avg(a)', 'b, HOPPINGWINDOW(ss, 10, 5)')),
    /each group of the last 10000 ms \(2 windows\): grows with the number of groups/,
  );
  assert.match(
    String(kept('median(a)', 'TUMBLINGWINDOW(ss, 10)')),
    /^median of one group .*grows with the number of rows$/,
  );
  assert.match(String(kept('a', 'SESSIONWINDOW(ss, 10, 1)')), /^the rows of the open session/);
  assert.match(String(kept('sum(a)', 'SLIDINGWINDOW(ss, 10, 2)')), /^the rows of the last 12000 ms/);
});

test('explains which operators rules share', () => {
  const shared = catalogOf('CREATE STREAM demo () WITH (DATASOURCE="demo", SHARED="true")');
  assert.ok(noteOf('SELECT a FROM demo WHERE a > 1', 'FilterPlan', shared).shared);
  assert.not(noteOf('SELECT a FROM demo WHERE a > 1', 'FilterPlan').shared);
  assert.not(noteOf('SELECT lag(a) AS l FROM demo WHERE a > 1', 'ProjectPlan', shared).shared);
});

test('explains expressions that share their parts in bounded space', () => {
  const aliases = Array.from({ length: 60 }, (_, i) => `x${i} + x${i} AS x${i + 1}`);
  const text = explainRule(ruleOf(`SELECT a AS x0, ${aliases.join(', ')} FROM demo`), streams, noFold);
  assert.ok(text.length < 200_000, `${text.length}`);
});

test('tells which nodes number the columns of a source', () => {
  const { nodes } = planRule(ruleOf('SELECT a FROM demo WHERE a > 1 AND b > 1 LIMIT 2'), streams, noFold);
  assert.equal(
    nodes.map((node) => sourceOfColumns(nodes, node)),
    [0, 0, 0, 0],
  );
  const grouped = planRule(ruleOf('SELECT a FROM demo WHERE a > 1 GROUP BY COUNTWINDOW(2)'), streams, noFold).nodes;
  assert.equal(
    grouped.map((node) => sourceOfColumns(grouped, node)),
    [0, null],
  );
  assert.is(col(3), 0x4003);
});

test('names output columns in the order of the SELECT', () => {
  const { outputFields } = planRule(
    ruleOf('SELECT b, a + 1, o.x, count(*), c AS z INVISIBLE FROM demo'),
    streams,
    noFold,
  );
  assert.equal(outputFields, ['b', 'kuiper_field_0', 'x', 'count']);
});

test('lists the sources of a statement', () => {
  assert.equal(sourcesOf('SELECT s1.a FROM s1 INNER JOIN s2 ON s1.a = s2.a GROUP BY TUMBLINGWINDOW(ss, 1)'), [
    's1',
    's2',
  ]);
});

test.run();
