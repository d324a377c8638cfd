/** Rules that are divided among two data planes and look rows up in tables that are asked. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Engine, RuleOptions } from '../../host/model/engine.js';
import { Divided, same } from '../support/engine/divided.js';
import { ruleOf } from '../support/engine/engine-harness.js';
import { eventually } from '../support/harness.js';

const begin = 1_700_000_000_000;
const byTime: Partial<RuleOptions> = { isEventTime: true, lateToleranceMs: 400 };
/** Some keys have several rows, others none. */
const places = [1, 2, 2, 4, 4.5, 5, 5].map((id, i) => ({ id, name: `place ${id}`, z: i }));

let rules: Divided;
let engine: Engine;
let server: Server;
let answerMs: number;
test.before.each(async () => {
  answerMs = 0;
  server = createServer((_request, response) => {
    setTimeout(() => response.setHeader('content-type', 'application/json').end(JSON.stringify(places)), answerMs);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  rules = new Divided();
  engine = rules.engine;
  const table = (name: string, type: string) =>
    `CREATE TABLE ${name} () WITH (TYPE="${type}", DATASOURCE="/", CONF_KEY="${name}", KIND="lookup", KEY="id")`;
  rules.define(table('t', 'simulator'), { data: places });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const name of ['asked', 'further']) rules.define(table(name, 'httppull'), { url, lookup: { cache: true } });
  for (const name of ['a', 'b']) rules.stream(name);
});
test.after.each(async () => {
  await engine.close(2000);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** All are on streams of their rule. */
const statements: Record<string, string> = {
  'groups of a window': `SELECT a.k AS k, name, count(*) AS c, collect(a.v) AS vs, sum(t.z) AS zs, window_end() AS e
    FROM {a} AS a LEFT JOIN t ON a.k = t.id WHERE a.v % 5 != 0 OR t.z > 3 GROUP BY a.k, name, HOPPINGWINDOW(ss, 2, 1)`,
  'rows of a window':
    'SELECT x.*, t.name, window_end() AS e FROM {a} AS x INNER JOIN t ON x.k = t.id GROUP BY TUMBLINGWINDOW(ms, 700)',
  'functions that look back': `SELECT a.k AS k, a.v AS v, name, lag(a.v) OVER (PARTITION BY a.k) AS l
    FROM {a} AS a LEFT JOIN t ON a.k = t.id WHERE isnull(name) OR a.v > 3`,
  'single rows': 'SELECT a.k, v, t.name, z FROM {a} AS a INNER JOIN t ON t.id = a.k AND t.z < a.v',
  'answers of a server': 'SELECT a.k, v, asked.name FROM {a} AS a LEFT JOIN asked ON asked.id = a.k',
  'joined streams': `SELECT coalesce(a.k, b.k) AS k, collect(a.v) AS vs, collect(b.w) AS ws, collect(name) AS names,
      window_end() AS e FROM {a} AS a FULL JOIN {b} AS b ON a.k = b.k LEFT JOIN t ON t.id = b.k
    GROUP BY coalesce(a.k, b.k), TUMBLINGWINDOW(ss, 1)`,
};

/** Rows out of order, of which some have no key. */
function rowsOf(count: number, at: number): object[] {
  const keys = [1, 2, null, at === 0 ? 3 : 7, 4.5, undefined, 5];
  const rows = Array.from({ length: count }, (_, n) => {
    return { k: keys[n % 7], [at === 0 ? 'v' : 'w']: n % 11, ts: begin + n * 20 + ((n * 7919) % 300) };
  });
  // Behind the last ones no window ends.
  return [...rows, ...[0, 200, 400].map((ms) => ({ ts: begin + count * 20 + 5000 + ms }))];
}

async function ended(ids: readonly string[]): Promise<void> {
  await eventually(`the ends of ${ids}`, async () => {
    for (const id of ids) assert.is.not(engine.state(id), 'stopped by error', (await engine.status(id)).message);
    return ids.every((id) => engine.state(id) === 'stopped');
  });
}

/** Lines of one key in their order. */
function ofKey(lines: readonly string[], key: string): string[] {
  return lines.filter((line) => line.includes(`"k":${key},`));
}

for (const [what, options] of [
  ['by event time', byTime],
  ['by event time, with checkpoints', { ...byTime, qos: 2, checkpointIntervalMs: 20 }],
] as const) {
  test(`rows have what tables answer, ${what}`, async () => {
    answerMs = 20;
    const names = Object.keys(statements);
    const ids = names.flatMap((_name, i) => [`whole${i}`, `divided${i}`]);
    for (const [at, letter] of ['a', 'b'].entries()) {
      for (const id of ids) {
        rules.stream(`${letter}_${id}`);
        rules.add(`${letter}_${id}`, rowsOf(1000, at));
        rules.end(`${letter}_${id}`);
      }
    }
    await rules.runAll(statements, options);
    await ended(ids);
    for (const [i, name] of names.entries()) {
      const [whole, divided] = [rules.linesOf(`whole${i}`), rules.linesOf(`divided${i}`)];
      assert.ok(whole.length > 100, `${name}: ${whole.length}`);
      same(divided, whole, name);
      for (const key of ['1', '2', '4.5']) assert.equal(ofKey(divided, key), ofKey(whole, key), name);
    }
  });
}

test('at the end of the input, and of the rule, rows have their answers', async () => {
  const sql = 'SELECT a.k, v, asked.name FROM a INNER JOIN asked ON asked.id = a.k';
  answerMs = 700;
  rules.add(
    'a',
    Array.from({ length: 50 }, (_, v) => ({ k: 1 + (v % 2), v, ts: begin })),
  );
  await rules.run('stopped', sql, { parallelism: 2 });
  await eventually('its rows', async () => {
    const { metrics } = await engine.status('stopped');
    return Number(metrics.part_0_records_in_total) + Number(metrics.part_1_records_in_total) === 50;
  });
  await eventually('what its parts have asked for', async () => {
    const { metrics } = await engine.status('stopped');
    const [asked, hits] = ['asked', 'hits'].map((what) => Number(metrics[`op_asked_0_lookup_${what}_total`]));
    return asked! > 0 && asked! + hits! === 50;
  });
  assert.equal(await engine.stop('stopped'), []);
  assert.is(rules.linesOf('stopped').length, 75);
  rules.end('a');
  for (const [id, qos] of [
    ['least', 0],
    ['once', 2],
  ] as const) {
    await rules.run(id, sql, { parallelism: 2, qos });
    await ended([id]);
    assert.is(rules.linesOf(id).length, 75, id);
  }
});

test('at the end of the input rows have the answers of a table behind a table', async () => {
  answerMs = 500;
  rules.add(
    'a',
    Array.from({ length: 50 }, (_, v) => ({ k: 1 + (v % 2), v, ts: begin })),
  );
  rules.end('a');
  const sql = `SELECT v, asked.z, further.name FROM a LEFT JOIN asked ON asked.id = a.k
    INNER JOIN further ON further.id = a.k`;
  await rules.run('both', sql, { parallelism: 2 });
  await ended(['both']);
  assert.is(rules.linesOf('both').length, 125);
});

test('tables that parts can not have are refused, and so is what they would not have alone', () => {
  rules.define('CREATE TABLE m () WITH (TYPE="memory", DATASOURCE="m", KIND="lookup", KEY="id")');
  rules.define('CREATE TABLE newest () WITH (TYPE="memory", DATASOURCE="n", RETAIN_SIZE="3")');
  const refused = rules.refused.bind(rules);
  refused('SELECT * FROM a INNER JOIN m ON a.k = m.id', /table m is kept in data plane 0, where all parts would/);
  refused('SELECT * FROM a INNER JOIN newest ON a.k = newest.id', /table newest keeps its newest rows in the rule/);
  refused('SELECT v FROM a INNER JOIN t ON a.k + 1 = t.id', /ON has no column of the stream that equals one/);
  refused('SELECT v FROM a INNER JOIN t ON k = t.id', /ON has no column of the stream that equals one/);
  refused('SELECT v FROM a INNER JOIN t ON a.k = t.id AND rand() < 0.5', /rand in ON gives another value in each/);
  const windowed = (what: string, group: string) =>
    `SELECT ${what} FROM a LEFT JOIN t ON a.k = t.id GROUP BY ${group}TUMBLINGWINDOW(ss, 1)`;
  refused(windowed('count(*) AS c', ''), /count is over rows of all keys: GROUP BY beside the window/);
  refused(windowed('name', 'name, '), /GROUP BY beside the window, or PARTITION BY, needs a column of the stream/);
  // A row without k may have that of the table.
  refused(windowed('count(*) AS c', 'k, '), /needs a column of the stream with its name/);
  const back = 'SELECT lag(v) OVER (PARTITION BY name) AS l FROM a LEFT JOIN t ON a.k = t.id';
  refused(back, /lag looks back at rows of all keys: PARTITION BY has no common column/);
  const both = (group: string) =>
    `SELECT count(*) AS c FROM a INNER JOIN b ON a.k = b.k INNER JOIN t ON a.k = t.k
      GROUP BY ${group}, TUMBLINGWINDOW(ss, 1)`;
  refused(both('k'), /GROUP BY needs a key of the join beside the window \(a\.k, b\.k\)/);
  refused(both('t.k'), /GROUP BY needs a key of the join beside the window/);
});

test('EXPLAIN names the key and the tables', async () => {
  const because = async (sql: string) => {
    const lines = await engine.explain(ruleOf('r', sql, [['nop', {}]], { parallelism: 2 }));
    return JSON.parse(lines.split('\n').at(-1)!).because;
  };
  assert.equal(await because(statements['single rows']!.replace('{a}', 'a')), [
    'rows go to parts by k: each is looked up by itself',
    'each part asks table t for its rows',
  ]);
});

test.run();
