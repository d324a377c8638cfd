/**
 * Memory of rules: given back when they go, bounded for all, and its end is an error of the rule that asked for more.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { callHost } from '../../../host/functions/registry.js';
import type { Catalog } from '../../../host/model/engine.js';
import { planRule } from '../../../host/plan/index.js';
import { sinkSpecs, sourceSpec } from '../../../host/run/props/resolve.js';
import { parseStatement } from '../../../host/sql/parser.js';
import { defineSource } from '../../../host/sql/source-def.js';
import { createKernel } from '../../../kernels/index.js';
import { openEngine, ruleOf } from '../../support/engine/engine-harness.js';
import { openPlane } from '../../support/engine/plane.js';
import { eventually, temporaryFolder } from '../../support/harness.js';

const mb = 1 << 20;

const statements = [
  'SELECT id, temp * 3.6 AS t FROM s WHERE temp > 20',
  'SELECT device, count(*) AS n, avg(temp) AS t FROM s GROUP BY device, TUMBLINGWINDOW(ss, 10)',
  'SELECT device, max(temp) AS t FROM s GROUP BY device, HOPPINGWINDOW(ss, 10, 1)',
  'SELECT device, count(*) AS n FROM s GROUP BY device, SESSIONWINDOW(ss, 10, 2)',
  'SELECT device, count(*) AS n FROM s GROUP BY device, SESSIONWINDOW(ss, 10, 2) OVER (PARTITION BY device)',
  'SELECT device, sum(temp) AS t FROM s GROUP BY SLIDINGWINDOW(ss, 5, 1) OVER (PARTITION BY device)',
  'SELECT collect(*) AS c FROM s GROUP BY SLIDINGWINDOW(ss, 5)',
  'SELECT count(*) AS n, collect(device) AS d FROM s GROUP BY COUNTWINDOW(500)',
  'SELECT id, upper(device) AS d, text FROM s ORDER BY id',
  'SELECT p.text, q.temp AS t FROM s AS p LEFT JOIN s AS q ON p.id = q.id GROUP BY COUNTWINDOW(200)',
];

/** What the allocator takes for one column block (17,472 bytes, assembly/mem/layout.ts). */
const blockBytes = 20_480;
/**
 * Columns of the widest window below; a tumbling window of ten seconds may close late in the test for the first time.
 */
const windowColumns = 3;
/** Half a message, which the stream keeps between two pieces of a read. */
const halfMessageBytes = 256;
/** A stream has part of a frame of many messages now and then: it is looked at so often, and the least counts. */
const looks = 8;
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
      zone: 'UTC',
    });
    await report(of, 'started');
    return of;
  };
  await start('SELECT * FROM feed', [['memory', { topic: 'load', sendSingle: true }]]);
  const keeper = await start('SELECT id FROM s', [['nop', {}]]);
  const passed = () => Number(plane.status(keeper)?.metrics.sourceRecordsInTotal);
  const figures: { held: number; workspace: number; resident: number }[] = [];
  for (let cycle = 0; cycle < 50; cycle++) {
    const runs: number[] = [];
    for (const text of statements) runs.push(await start(text, [['nop', {}]]));
    const from = passed();
    await eventually('more rows', () => passed() > from + 1000);
    await Promise.all(runs.map((of) => plane.stop(of)));
    reports.length = 0;
    let [held, workspace] = [Number.POSITIVE_INFINITY, 0];
    for (let look = 0; look < looks; look++) {
      const seen = passed();
      await eventually('other rows', () => passed() > seen);
      const memory = plane.kernel.memory();
      held = Math.min(held, memory.inUse - memory.workspace);
      workspace = Math.max(workspace, memory.workspace);
    }
    figures.push({ held, workspace, resident: process.memoryUsage.rss() });
  }
  const [early, late] = [figures[9]!, figures.at(-1)!];
  for (const { held, workspace } of figures.slice(10)) {
    const kept = Math.abs(held - early.held);
    assert.ok(
      kept <= halfMessageBytes,
      `${held} bytes are held by rules and streams after a cycle, before ${early.held}`,
    );
    // What batches under way share grows to the largest of them and stays.
    const growth = workspace - early.workspace;
    assert.ok(growth <= windowColumns * blockBytes + scratchBytes, `the workspace grew by ${growth} bytes`);
  }
  const grown = (late.resident - early.resident) / mb;
  assert.ok(grown < 40, `resident memory grew by ${grown.toFixed(1)} MB in 40 cycles`);
  await plane.close();
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
  const out = await opened.figure('r', 'sinkRecordsOutTotal', (value) => value >= 1, 60_000);
  assert.ok(out >= 1);
  const perGroup = (process.memoryUsage.rss() - before) / groups;
  assert.ok(perGroup < 400, `${Math.round(perGroup)} bytes for each group`);
  assert.is((await opened.engine.status('r')).metrics.exceptionsTotal, 0);
  await opened.close();
});

test.run();
