/** Rules that are divided by their keys among two data planes give the rows that they give as one. */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Engine, RuleOptions } from '../../host/model/engine.js';
import { withParallelRules } from '../../host/run/parallel/parallel-engine.js';
import { Division } from '../../host/run/planes/placement/division.js';
import { parseCreate } from '../../host/sql/parser.js';
import { defineSource } from '../../host/sql/source-def.js';
import { openEngine, ruleOf, type TestEngine } from '../support/engine/engine-harness.js';
import { eventually, freePort, temporaryFolder } from '../support/harness.js';

const definition =
  'CREATE STREAM f () WITH (TYPE="file", DATASOURCE="input", CONF_KEY="f", SHARED="true", TIMESTAMP="ts")';
const rowCount = 20_000;

let opened: TestEngine;
let engine: Engine;
let folder: string;
test.before.each(() => {
  folder = temporaryFolder();
  opened = openEngine({ division: new Division(2), folders: { data: temporaryFolder() }, measuresAll: true });
  const source = defineSource(parseCreate(definition));
  engine = withParallelRules(opened.engine, (name) => (name === 'f' ? source : undefined));
});
test.after.each(() => engine.close(2000));

/** Rows whose times are out of order by up to 300 ms; some of them are late. */
function input(keyOf: (n: number) => unknown): void {
  let time = 1_700_000_000_000;
  const lines = Array.from({ length: rowCount }, (_, n) => {
    time += n % 7;
    return `${JSON.stringify({ n, k: keyOf(n), ts: time + ((n * 7919) % 300) })}\n`;
  });
  writeFileSync(join(folder, 'input'), lines.join(''));
  opened.stream(definition, { path: folder, fileType: 'lines' });
}

/** Lines of the rule's sink after its end, in one order. */
async function linesOf(id: string, sql: string, options: Partial<RuleOptions>): Promise<string[]> {
  const path = join(folder, id);
  engine.define(ruleOf(id, sql, [['file', { path, fileType: 'lines', sendSingle: true }]], options));
  engine.start(id);
  await eventually(`the end of ${id}`, async () => {
    if (engine.state(id) === 'stopped by error') throw new Error((await engine.status(id)).message);
    return engine.state(id) === 'stopped';
  });
  return readFileSync(path, 'utf8').trim().split('\n').sort();
}

const odd = [null, true, -0, 0, 1, 1.5, '1', 'text', [1, 'a'], { a: 1 }];
for (const [what, sql, keyOf, options] of [
  [
    'groups of windows by event time, with late rows',
    `SELECT k, count(*) AS c, sum(n) AS s, last_value(n, true) AS l, window_end() AS e FROM f WHERE n % 5 != 0
       GROUP BY k, TUMBLINGWINDOW(ss, 1) HAVING count(*) > 1`,
    (n) => `key ${(n * 31) % 17}`,
    { isEventTime: true, lateToleranceMs: 200 },
  ],
  [
    'hopping windows over keys of all kinds',
    'SELECT f.k AS key, collect(n) AS all FROM f GROUP BY f.k, HOPPINGWINDOW(ss, 2, 1)',
    (n) => odd[n % odd.length],
    { isEventTime: true, lateToleranceMs: 300 },
  ],
  [
    'functions that look back by a key',
    'SELECT *, lag(n) OVER (PARTITION BY k) AS before, acc_sum(n) OVER (PARTITION BY k) AS total FROM f WHERE n > 10',
    (n) => n % 13,
    {},
  ],
] as [string, string, (n: number) => unknown, Partial<RuleOptions>][]) {
  test(what, async () => {
    input(keyOf);
    const whole = await linesOf('whole', sql, options);
    const parts = await linesOf('divided', sql, { ...options, parallelism: 3 });
    assert.ok(whole.length > 30);
    assert.equal(parts, whole);
    const { metrics, ended, dataPlaneBecause } = await engine.status('divided');
    assert.is(metrics.sourceRecordsInTotal, rowCount);
    assert.is(metrics.sinkRecordsOutTotal, whole.length);
    assert.is(ended, 'all of its input was read: f');
    assert.match(String(dataPlaneBecause), /divided by key among 3 parts, in data planes 0, 1/);
    assert.equal(
      (await engine.summaries()).map(({ id, status }) => `${id} ${status}`),
      ['whole stopped', 'divided stopped'],
    );
  });
}

test('a rule that can not be divided is refused with the reason, and nothing of it stays', async () => {
  input((n) => n);
  const refused = (sql: string, reason: RegExp, options: Partial<RuleOptions> = {}) =>
    assert.throws(() => engine.define(ruleOf('r', sql, [['nop', {}]], { parallelism: 2, ...options })), reason);
  refused('SELECT count(*) FROM f GROUP BY TUMBLINGWINDOW(ss, 1)', /GROUP BY has no column/);
  refused('SELECT k FROM f GROUP BY k, COUNTWINDOW(3)', /a count window counts the rows of all keys/);
  refused('SELECT k FROM f GROUP BY k, SESSIONWINDOW(ss, 9, 1)', /pauses of a session window/);
  refused('SELECT k FROM f GROUP BY k, TUMBLINGWINDOW(ss, 1) ORDER BY k', /ORDER BY is over the rows of all keys/);
  refused('SELECT n % 2 AS k FROM f GROUP BY k, TUMBLINGWINDOW(ss, 1)', /GROUP BY has no column/);
  refused('SELECT lag(n) FROM f', /lag looks back at rows of all keys/);
  refused('SELECT n FROM f', /nothing in the statement keeps rows by a key/);
  refused('SELECT k FROM f GROUP BY k, TUMBLINGWINDOW(ss, 1)', /sendError is set/, { sendError: true });
  assert.is(engine.state('r'), undefined);
});

test('a rule with parts stops, starts again with other parts, and goes', async () => {
  const data = Array.from({ length: 20 }, (_, n) => ({ k: `${n}`, n }));
  opened.stream(definition.replace('"file"', '"simulator"'), { data, interval: 2, loop: true });
  const sql = 'SELECT k, acc_count(n) OVER (PARTITION BY k) AS c FROM f';
  const path = join(folder, 'rows');
  const define = (parallelism: number) =>
    engine.define(ruleOf('r', sql, [['file', { path, fileType: 'lines', sendSingle: true }]], { parallelism }));
  const out = (least: number) =>
    eventually('rows', async () => Number((await engine.status('r')).metrics.sinkRecordsOutTotal) >= least);
  define(2);
  engine.start('r');
  await out(50);
  assert.is(engine.state('r'), 'running');
  assert.equal(engine.usersOf('f'), ['r']);
  const [traffic, ...others] = (await engine.traffic?.()) ?? [];
  assert.equal([traffic?.id, others], ['r', []]);
  assert.ok(traffic?.traffic.slice(0, 2).every((count) => count > 0));
  assert.equal(await engine.figures?.(['r']), []);
  // Not each piece of work is timed.
  const times = await eventually('times of the parts', async () => {
    const [one, ...others] = (await engine.latencies?.()) ?? [];
    assert.equal([one?.id, others], ['r', []]);
    return one?.operators.some(([name]) => name.startsWith('op_')) ? one : undefined;
  });
  const operatorOf = ({ type, operator }: { type: string; operator: string }) => `${type} ${operator}`;
  assert.equal(times.io.map(operatorOf).sort(), ['file sink_file_0', 'simulator source_f']);
  const names = times.operators.map(([name]) => name);
  assert.is(new Set(names).size, names.length, names.join());
  assert.not(
    names.some((name) => name.includes('memory')),
    names.join(),
  );
  await engine.stop('r');
  assert.is(engine.state('r'), 'stopped');
  define(3);
  engine.start('r');
  await out(50);
  // A thread dies: the rule is there again, with all its parts.
  await opened.engine.planes.all[1]!.kill();
  await eventually('all parts', async () => {
    const { metrics } = await engine.status('r');
    return [0, 1, 2].every((i) => Number(metrics[`part_${i}_records_in_total`]) > 0) && engine.state('r') === 'running';
  });
  // Updated while it runs, it never runs twice.
  define(1);
  await engine.restart('r');
  assert.is(opened.engine.state('r output'), undefined);
  await out(20);
  assert.is(opened.engine.state('r'), 'running');
  define(2);
  await engine.restart('r');
  assert.is(opened.engine.state('r'), 'stopped');
  await out(20);
  await engine.remove('r');
  assert.equal(await engine.summaries(), []);
});

test('rows that failed in any part of a rule are told as those of the rule', async () => {
  const data = Array.from({ length: 20 }, (_, n) => ({ k: `${n}`, n: `no number ${n}` }));
  opened.stream(definition.replace('"file"', '"simulator"'), { data, interval: 2, loop: true });
  const sql = 'SELECT k, n * 2 AS twice, acc_count(n) OVER (PARTITION BY k) AS c FROM f';
  engine.define(ruleOf('r', sql, [['nop', {}]], { parallelism: 2 }));
  engine.start('r');
  // Both parts have failed more often than each operator keeps failures.
  const rows = await eventually('failures of both parts', async () => {
    const found = (await engine.failedRows?.('r')) ?? [];
    return found.length === 10 ? found : undefined;
  });
  const times = rows.map(({ at }) => at);
  assert.equal(
    times,
    [...times].sort((a, b) => b - a),
  );
  for (const { reason, row } of rows) assert.match(`${reason} ${row}`, /no number \d+.*"k":"\d+"/);
});

test('a row that WHERE fails for ends a window, and is told once', async () => {
  const time = 1_700_000_000_000;
  const good = (k: number, ms: number) => ({ k, n: 1, ts: time + ms });
  const rows = Array.from({ length: 20 }, (_, k) => good(k, k));
  const bad = (k: number, ms: number) => ({ k, n: `no number ${k}`, ts: time + ms });
  // A window tells at its end of rows that failed, and has no other result.
  const later = [good(3, 2000), bad(2, 2100), good(4, 3000), good(4, 4000)];
  const linesOf = (all: readonly object[]) => all.map((row) => `${JSON.stringify(row)}\n`).join('');
  opened.stream(definition, { path: folder, fileType: 'lines', follow: true });
  const sql = 'SELECT k, sum(n) AS s FROM f WHERE n * 2 > 0 GROUP BY k, TUMBLINGWINDOW(ss, 1)';
  const exceptions: unknown[] = [];
  for (const parallelism of [1, 3]) {
    writeFileSync(join(folder, 'input'), linesOf([...rows, bad(1, 1000)]));
    const id = `r${parallelism}`;
    const path = join(folder, id);
    const options = { isEventTime: true, lateToleranceMs: 0, parallelism };
    engine.define(ruleOf(id, sql, [['file', { path, fileType: 'lines', sendSingle: true }]], options));
    engine.start(id);
    const count = () => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').length - 1 : 0);
    await eventually(`all rows of the first window with ${parallelism} parts`, () => count() === rows.length);
    appendFileSync(join(folder, 'input'), linesOf(later));
    await eventually(`the last window with ${parallelism} parts`, () => count() > rows.length);
    const failed = await eventually('failures', async () => {
      const found = (await engine.failedRows?.(id)) ?? [];
      return found.length > 1 ? found : undefined;
    });
    const told = failed.map(({ reason }) => /no number \d/.exec(reason)?.[0]);
    assert.equal(told.sort(), ['no number 1', 'no number 2'], `${parallelism} parts`);
    const summary = (await engine.summaries()).find((one) => one.id === id);
    exceptions.push([(await engine.status(id)).metrics.exceptionsTotal, summary?.exceptionsTotal]);
    await engine.remove(id);
  }
  assert.equal(exceptions[1], exceptions[0]);
});

test('an update to fewer parts loses none of the rows that are on their way', async () => {
  const path = join(folder, 'rows');
  const count = 6000;
  const lines = Array.from({ length: count }, (_, n) => `${JSON.stringify({ n, k: n % 97, ts: n })}\n`);
  writeFileSync(join(folder, 'input'), lines.join(''));
  opened.stream(definition, { path: folder, fileType: 'lines', follow: true });
  // Parts are slower than what feeds them.
  const slow = Array.from({ length: 12 }, (_, i) => `sha512(concat("${i}", sha512(concat(n, k)))) AS h${i}`);
  const sql = `SELECT n, lag(n) OVER (PARTITION BY k) AS before, ${slow.join(', ')} FROM f`;
  const sink = { path, fileType: 'lines', sendSingle: true };
  // What takes longer is told as lost.
  const define = (parallelism: number) =>
    engine.define(ruleOf('r', sql, [['file', sink]], { parallelism, forceExitTimeoutMs: 30_000 }));
  const figure = async (name: string) => Number((await engine.status('r')).metrics[name] ?? 0);
  define(3);
  engine.start('r');
  await eventually('the input', async () => (await figure('sourceRecordsInTotal')) === count);
  define(2);
  await engine.restart('r');
  // The file is read once more from its begin.
  await eventually('all rows again', async () => (await figure('sinkRecordsOutTotal')) === count);
  await engine.stop('r');
  const counts = new Map<number, number>();
  for (const line of readFileSync(path, 'utf8').trim().split('\n')) {
    const { n } = JSON.parse(line) as { n: number };
    counts.set(n, (counts.get(n) ?? 0) + 1);
  }
  assert.is(counts.size, count);
  assert.equal([...counts].filter(([, times]) => times !== 2).slice(0, 5), []);
  assert.equal(
    (await engine.summaries()).map(({ id }) => id),
    ['r'],
  );
  assert.is(opened.engine.state('r part 2'), undefined);
});

test('a rule whose sink takes nothing ends soon, though its parts have read more than they can send', async () => {
  input((n) => n % 17);
  // What a part reads at once is more than the work of one turn.
  const slow = `length(${'sha512('.repeat(60)}CAST(n, "string")${')'.repeat(60)})`;
  const sql = `SELECT n, k, lag(n) OVER (PARTITION BY k) AS l, ${slow} AS s FROM f`;
  const sink = { server: `tcp://127.0.0.1:${await freePort()}`, topic: 'out', qos: 1, sendSingle: true };
  engine.define(ruleOf('stuck', sql, [['mqtt', sink]], { parallelism: 2, bufferLength: 16 }));
  engine.start('stuck');
  let [taken, looks] = [-1, 0];
  await eventually('it stands still', async () => {
    const before = taken;
    const { metrics } = await engine.status('stuck');
    taken = Number(metrics.part_0_records_in_total) + Number(metrics.part_1_records_in_total);
    looks = taken === before && taken > 0 ? looks + 1 : 0;
    return looks > 20;
  });
  assert.ok(taken < rowCount, `${taken} rows were taken`);
  const began = performance.now();
  const losses = await engine.stop('stuck');
  const tookMs = performance.now() - began;
  assert.ok(tookMs < 25_000, `${tookMs} ms`);
  assert.match(losses.join(), /sink mqtt is closed before [\d,]+ messages/);
});

test.run();
