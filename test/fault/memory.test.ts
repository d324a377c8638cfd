/** Memory of rules: given back when they go, bounded for all, and its end is an error of the rule that asked for more. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { callHost } from '../../host/functions/registry.js';
import { planRule } from '../../host/plan/index.js';
import type { Catalog, RuleOptions } from '../../host/run/api.js';
import { sinkSpecs, sourceSpec } from '../../host/run/resolve.js';
import { parseStatement } from '../../host/sql/parser.js';
import { defineSource } from '../../host/sql/source-def.js';
import { createKernel } from '../../kernels/index.js';
import { eventually, temporaryFolder } from '../harness.js';
import { openEngine, ruleOf } from '../unit/run/engine-harness.js';
import { openPlane } from '../unit/run/plane.js';

const mb = 1 << 20;

const statements = [
  'SELECT id, temp * 3.6 AS t FROM s WHERE temp > 20',
  'SELECT device, count(*) AS n, avg(temp) AS t FROM s GROUP BY device, TUMBLINGWINDOW(ss, 10)',
  'SELECT device, max(temp) AS t FROM s GROUP BY device, HOPPINGWINDOW(ss, 10, 1)',
  'SELECT device, count(*) AS n FROM s GROUP BY device, SESSIONWINDOW(ss, 10, 2)',
  'SELECT collect(*) AS c FROM s GROUP BY SLIDINGWINDOW(ss, 5)',
  'SELECT count(*) AS n, collect(device) AS d FROM s GROUP BY COUNTWINDOW(500)',
  'SELECT id, upper(device) AS d, text FROM s ORDER BY id',
  'SELECT p.text, q.temp AS t FROM s AS p LEFT JOIN s AS q ON p.id = q.id GROUP BY COUNTWINDOW(200)',
];

/** What the allocator takes for one column block (17,472 bytes, assembly/mem/layout.ts). */
const blockBytes = 20_480;
/** Columns of the widest window below; a tumbling window of ten seconds may close late in the test for the first time. */
const windowColumns = 3;
/** Text that batches compute: between two batches the pool has its newest chunk or none. */
const scratchBytes = 131_072;

test('rules created and deleted under full load give all their memory back', async () => {
  const kernel = { evaluate: createKernel({ onOutput() {}, onPacket() {}, onAcknowledge() {}, call: callHost }) };
  const { plane, report, reports } = await openPlane((calls) => createKernel(calls));
  const sql = 'CREATE STREAM s () WITH (TYPE="memory", DATASOURCE="load", FORMAT="json", SHARED="true")';
  const statement = parseStatement(sql);
  if (statement.kind !== 'create') throw new Error('no stream');
  const stream = defineSource(statement);
  const feeder = parseStatement('CREATE STREAM feed () WITH (TYPE="simulator", CONF_KEY="feed")');
  if (feeder.kind !== 'create') throw new Error('no stream');
  const feed = defineSource(feeder);
  const data = Array.from({ length: 100 }, (_, i) => ({
    id: i,
    device: `dev-${i}`,
    temp: i,
    text: 'some text that is kept'.repeat(5),
  }));
  const catalog: Catalog = {
    source: (name) => (name === 's' ? stream : name === 'feed' ? feed : undefined),
    confKey: (_source, key) => (key === 'feed' ? { interval: 0, data } : undefined),
    connection: () => undefined,
  };
  let run = 1000;
  const start = async (text: string, actions: [string, Record<string, unknown>][]) => {
    const rule = ruleOf(`r${++run}`, text, actions);
    const plan = planRule(rule, catalog, (program, result) => kernel.evaluate.evaluate(program, result));
    const sources = plan.sources.map(({ stream: name }) => sourceSpec(catalog.source(name)!, catalog));
    const of = run;
    await plane.start({
      id: rule.id,
      run: of,
      plan,
      sources,
      sinks: sinkSpecs(rule, catalog),
      sendError: false,
      sinkLimitBytes: mb,
      zoneMs: 0,
    });
    await report(of, 'started');
    return of;
  };
  await start('SELECT * FROM feed', [['memory', { topic: 'load', sendSingle: true }]]);
  const keeper = await start('SELECT id FROM s', [['nop', {}]]);
  const passed = () => Number(plane.metrics(keeper)?.sourceRecordsInTotal);
  const figures: { held: number; workspace: number; resident: number }[] = [];
  for (let cycle = 0; cycle < 50; cycle++) {
    const runs: number[] = [];
    for (const text of statements) runs.push(await start(text, [['nop', {}]]));
    const from = passed();
    await eventually('more rows', () => passed() > from + 1000);
    await Promise.all(runs.map((of) => plane.stop(of)));
    reports.length = 0;
    const { inUse, workspace } = plane.kernel.memory();
    figures.push({ held: inUse - workspace, workspace, resident: process.memoryUsage.rss() });
  }
  const [early, late] = [figures[9]!, figures.at(-1)!];
  for (const { held, workspace } of figures.slice(10)) {
    assert.is(held, early.held, 'bytes held by rules and streams after a cycle');
    // What batches under way share grows to the largest of them and stays.
    const growth = workspace - early.workspace;
    assert.ok(growth <= windowColumns * blockBytes + scratchBytes, `the workspace grew by ${growth} bytes`);
  }
  const grown = (late.resident - early.resident) / mb;
  assert.ok(grown < 40, `resident memory grew by ${grown.toFixed(1)} MB in 40 cycles`);
  await plane.close();
});

const texts = Array.from({ length: 50 }, (_, i) => ({ id: i, text: 'x'.repeat(1000) }));

/** Rules that keep rows without end, each by an operator of its own. */
const growing: [what: string, sql: string, options?: Partial<RuleOptions>][] = [
  ['a tumbling window', 'SELECT * FROM flood GROUP BY TUMBLINGWINDOW(hh, 1)'],
  [
    'a hopping window',
    'SELECT last_value(text, true) AS t, collect(id) AS c, text FROM flood GROUP BY text, HOPPINGWINDOW(hh, 2, 1)',
  ],
  ['a sliding window', 'SELECT id, text FROM flood GROUP BY SLIDINGWINDOW(hh, 1) OVER (WHEN id = 99)'],
  ['a session window', 'SELECT * FROM flood GROUP BY SESSIONWINDOW(hh, 1, 1)'],
  ['a count window', 'SELECT id, text FROM flood GROUP BY COUNTWINDOW(10000000)'],
  [
    'a window behind a join',
    'SELECT * FROM flood AS a INNER JOIN flood AS b ON a.id = b.id GROUP BY TUMBLINGWINDOW(hh, 1)',
  ],
  ['a group of each row', 'SELECT count(*) AS n FROM flood GROUP BY concat(text, newuuid()), TUMBLINGWINDOW(hh, 1)'],
  [
    'the rows that event time holds back',
    'SELECT count(*) AS n FROM flood GROUP BY TUMBLINGWINDOW(ss, 1)',
    { isEventTime: true, lateToleranceMs: 10_000_000 },
  ],
];

for (const [what, sql, options] of growing) {
  test(`${what} that finds no more memory ends its rule, named with what it holds, and harms no other`, async () => {
    const opened = openEngine({ maxMemoryBytes: 48 * mb });
    opened.stream('CREATE STREAM flood () WITH (TYPE="simulator", CONF_KEY="flood", SHARED="true", TIMESTAMP="id")', {
      interval: 0,
      data: texts,
    });
    opened.stream('CREATE STREAM calm () WITH (TYPE="simulator", CONF_KEY="calm")', { interval: 2 });
    opened.run('good', 'SELECT id FROM flood WHERE id > 10', [['nop', {}]]);
    opened.run('calm', 'SELECT count(*) AS n FROM calm GROUP BY COUNTWINDOW(10)', [['nop', {}]]);
    opened.run('bad', sql, [['nop', {}]], options);
    const { message, metrics } = await opened.reach('bad', 'stopped by error', 30_000);
    assert.match(message, /^memory is exhausted: operator \w+ holds [\d.]+ MiB and can't keep more; .* 48\.0 MiB/);
    assert.ok(Number(metrics.exceptionsTotal) > 0);
    for (const rule of ['good', 'calm']) {
      const before = await opened.figure(rule, 'sinkRecordsOutTotal', () => true);
      await opened.figure(rule, 'sinkRecordsOutTotal', (value) => value > before + 5);
      assert.is((await opened.engine.status(rule)).metrics.exceptionsTotal, 0, rule);
    }
    await opened.close();
  });
}

test('texts that double from column to column are errors of their rows, and cost the neighbour no row', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'rows'), `{"text":"${'x'.repeat(900)}"}\n`.repeat(4096));
  const opened = openEngine();
  opened.stream('CREATE STREAM s () WITH (TYPE="file", DATASOURCE="rows", CONF_KEY="s", SHARED="true")', {
    fileType: 'lines',
    path: folder,
    interval: 3_600_000,
  });
  const levels = 'abcdefghij';
  const columns = [...levels].map((name, i) => {
    const before = i === 0 ? 'text' : levels[i - 1];
    return `concat(${before}, ${before}) AS ${name}`;
  });
  opened.run('good', 'SELECT length(text) AS n FROM s', [['nop', {}]]);
  opened.run('bad', `SELECT ${columns.join(', ')} FROM s`, [['nop', {}]]);
  await opened.figure('bad', 'exceptionsTotal', (value) => value > 0, 15_000);
  assert.is(await opened.figure('good', 'sinkRecordsOutTotal', (value) => value >= 4096, 15_000), 4096);
  assert.is((await opened.engine.status('good')).metrics.exceptionsTotal, 0);
  assert.is(opened.engine.state('bad'), 'running');
  await opened.close();
});

test('a session window of a million groups stays within its memory, and sends them all', async () => {
  const groups = 1_000_000;
  const folder = temporaryFolder();
  const parts: string[] = [];
  for (let i = 0; i < groups; i++) parts.push(`{"device":"device-${i}","temp":${i % 50}}\n`);
  writeFileSync(join(folder, 'rows'), parts.join(''));
  const opened = openEngine();
  const before = process.memoryUsage.rss();
  opened.stream('CREATE STREAM many () WITH (TYPE="file", DATASOURCE="rows", CONF_KEY="many")', {
    fileType: 'lines',
    path: folder,
    interval: 3_600_000,
  });
  opened.run('r', 'SELECT device, count(*) AS n, avg(temp) AS t FROM many GROUP BY device, SESSIONWINDOW(ss, 60, 2)', [
    ['nop', {}],
  ]);
  const out = await opened.figure('r', 'sinkRecordsOutTotal', (value) => value >= 1, 15_000);
  assert.ok(out >= 1);
  const perGroup = (process.memoryUsage.rss() - before) / groups;
  assert.ok(perGroup < 400, `${Math.round(perGroup)} bytes for each group`);
  assert.is((await opened.engine.status('r')).metrics.exceptionsTotal, 0);
  await opened.close();
});

test.run();
