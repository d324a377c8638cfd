/** State of rules that are divided among two data planes: no row is lost or repeated, however their parts end. */
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Engine, RuleOptions } from '../../host/model/engine.js';
import { withParallelRules } from '../../host/run/parallel/parallel-engine.js';
import { Division } from '../../host/run/planes/placement/division.js';
import { parseCreate } from '../../host/sql/parser.js';
import { defineSource } from '../../host/sql/source-def.js';
import { openEngine, ruleOf, type TestEngine } from '../support/engine/engine-harness.js';
import { eventually, temporaryFolder } from '../support/harness.js';

const definition =
  'CREATE STREAM f () WITH (TYPE="file", DATASOURCE="input", CONF_KEY="f", SHARED="true", TIMESTAMP="ts")';
const groups = `SELECT k, count(*) AS c, sum(n) AS s, window_end() AS e FROM f WHERE n % 5 != 0
  GROUP BY k, HOPPINGWINDOW(ss, 2, 1)`;
const looking = 'SELECT n, lag(n) OVER (PARTITION BY k) AS before, acc_sum(n) OVER (PARTITION BY k) AS total FROM f';
const byTime: Partial<RuleOptions> = { isEventTime: true, lateToleranceMs: 200 };
const often: Partial<RuleOptions> = { qos: 2, checkpointIntervalMs: 30 };

let opened: TestEngine;
let engine: Engine;
let folder: string;
let data: string;

function open(): void {
  opened = openEngine({ division: new Division(2), folders: { data } });
  const source = defineSource(parseCreate(definition));
  engine = withParallelRules(opened.engine, (name) => (name === 'f' ? source : undefined));
}

test.before.each(() => {
  folder = temporaryFolder();
  data = temporaryFolder();
  open();
});
test.after.each(() => engine.close(5000));

/** Lines out of order by up to 300 ms; a window ends between the last row that goes on and the watermark. */
function linesOf(from: number, to: number): string {
  const begin = 1_700_000_000_000;
  const line = (n: number, ts: number) => `${JSON.stringify({ n, k: `key ${(n * 31) % 17}`, ts })}\n`;
  const lines = Array.from({ length: to - from }, (_, i) => {
    const n = from + i;
    return line(n, begin + n * 10 + ((n * 7919) % 300));
  });
  const end = begin + to * 10 + 5000;
  return [...lines, ...[0, 900, 1500].map((ms) => line(to, end + ms))].join('');
}

function input(count: number, key: Record<string, unknown>): void {
  writeFileSync(join(folder, 'input'), linesOf(0, count));
  opened.stream(definition, { path: folder, fileType: 'lines', ...key });
}

function define(id: string, sql: string, options: Partial<RuleOptions>): void {
  engine.define(ruleOf(id, sql, [['file', { path: join(folder, id), fileType: 'lines', sendSingle: true }]], options));
}

async function reach(id: string, state: string): Promise<void> {
  await eventually(`${state} of ${id}`, async () => {
    const now = engine.state(id);
    if (now === 'stopped by error' && state !== now) throw new Error((await engine.status(id)).message);
    return now === state;
  });
}

const figure = async (id: string, name: string) => Number((await engine.status(id)).metrics[name] ?? 0);
const rowsOf = (id: string) => readFileSync(join(folder, id), 'utf8').trim().split('\n').sort();

async function wholeOf(sql: string, options: Partial<RuleOptions>): Promise<string[]> {
  define('whole', sql, { ...options, qos: 0 });
  engine.start('whole');
  await reach('whole', 'stopped');
  return rowsOf('whole');
}

for (const [what, sql, options] of [
  ['groups of windows', groups, byTime],
  ['functions that look back', looking, {}],
] as const) {
  test(`${what}: threads that die cost no row and repeat none`, async () => {
    input(2000, { sendInterval: 1 });
    define('r', sql, { ...options, ...often, parallelism: 3 });
    engine.start('r');
    for (const [i, plane] of [1, 0, 1, 0].entries()) {
      await eventually('checkpoints', async () => (await figure('r', 'checkpointsTotal')) > 3 * i);
      await opened.engine.planes.all[plane]!.kill();
      await eventually('its next start', () => engine.state('r') !== 'running');
      await reach('r', 'running');
    }
    await reach('r', 'stopped');
    const { ended, metrics } = await engine.status('r');
    assert.is(ended, 'all of its input was read: f');
    assert.match(String(metrics.stateAtStart), /^goes on with its state of /);
    opened.stream(definition, { path: folder, fileType: 'lines' });
    assert.equal(rowsOf('r'), await wholeOf(sql, options));
  });

  test(`${what}: an orderly end saves all, with each qos and over a restart of the engine`, async () => {
    const changes = [{ qos: 1 }, { qos: 2 }, { qos: 0, enableSaveStateBeforeStop: true }];
    for (const change of what === 'groups of windows' ? changes : changes.slice(0, 1)) {
      const id = `r${change.qos}`;
      input(1500, { sendInterval: 1 });
      const definedAs = () => define(id, sql, { ...options, ...change, parallelism: 2 });
      definedAs();
      engine.start(id);
      for (const end of ['stop', 'restart', 'close', 'stop']) {
        const read = await figure(id, 'sourceRecordsInTotal');
        await eventually('input', async () => {
          const now = await figure(id, 'sourceRecordsInTotal');
          return now > 100 && now !== read;
        });
        if (end === 'close') {
          await engine.close(5000);
          open();
          opened.stream(definition, { path: folder, fileType: 'lines', sendInterval: 1 });
          definedAs();
          await engine.sweep?.(new Set([id]));
        } else await (end === 'stop' ? engine.stop(id) : engine.restart(id));
        if (end !== 'restart') engine.start(id);
      }
      await reach(id, 'stopped');
      // What is appended is read where it ended.
      appendFileSync(join(folder, 'input'), linesOf(3000, 3100));
      engine.start(id);
      await reach(id, 'stopped');
      opened.stream(definition, { path: folder, fileType: 'lines' });
      assert.equal(rowsOf(id), await wholeOf(sql, options), `qos ${change.qos}`);
      rmSync(join(folder, 'whole'));
      await engine.remove(id);
      const checkpoints = join(data, 'checkpoints');
      assert.equal(existsSync(checkpoints) ? readdirSync(checkpoints) : [], []);
    }
  });
}

test('an update that would divide the state otherwise is refused, and one that keeps nothing is not', () => {
  input(10, {});
  const kept = { ...byTime, qos: 1 };
  const refused = (id: string, sql: string, options: Partial<RuleOptions>, reason: RegExp) =>
    assert.throws(() => define(id, sql, options), reason);
  define('r', groups, { ...kept, parallelism: 2 });
  define('r', groups.replace('count(*)', 'max(n)'), { ...kept, parallelism: 2 });
  refused('r', groups, { ...kept, parallelism: 3 }, /by hash_bucket\(k, 2\), and would be by hash_bucket\(k, 3\)/);
  refused('r', groups.replaceAll('k,', 'n,'), { ...kept, parallelism: 2 }, /would be by hash_bucket\(n, 2\)/);
  refused('r', groups, kept, /would be by nothing/);
  define('r', groups, { ...byTime, qos: 0 });
  define('w', groups, kept);
  refused('w', groups, { ...kept, parallelism: 2 }, /it is divided by nothing/);
});

test('rules that feed others by topics keep no state in parts', () => {
  opened.stream('CREATE STREAM f () WITH (TYPE="memory", DATASOURCE="t", SHARED="true")');
  input(10, {});
  const options = { ...byTime, qos: 1, parallelism: 2 };
  assert.throws(
    () => engine.define(ruleOf('r', groups, [['memory', { topic: 't' }]], options)),
    /sink memory writes to a topic in memory/,
  );
});

test.run();
