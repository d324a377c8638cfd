/**
 * Rules that are divided among two data planes, beside one in one piece, while the server is killed at any moment: with
 * `qos` 2 each row comes once, with 1 none is missing, and all are those of the whole.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, eventuallyWritten, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';

const kills = Number(process.env.HAUMEA_PARTS_KILLS ?? 3);
const count = 1000;
const env = { KUIPER__BASIC__DATAPLANES: '2' };

let server: TestServer;
test.after.each(async () => {
  await server?.stop('SIGKILL');
});

async function made(path: string, body: object): Promise<void> {
  const { status, text } = await server.request('POST', path, body);
  assert.is(status, 201, text);
}

const statusOf = async (id: string): Promise<Record<string, unknown>> =>
  (await server.request('GET', `/rules/${id}/status`)).json;

/** Rows out of order by up to 300 ms; a window ends between the last row that goes on and the watermark. */
function input(shift: number): string {
  const begin = 1_700_000_000_000;
  const line = (n: number, ts: number) => `${JSON.stringify({ n, k: `key ${((n + shift) * 31) % 17}`, ts })}\n`;
  const lines = Array.from({ length: count }, (_, n) => line(n, begin + n * 10 + ((n * 7919) % 300)));
  const end = begin + count * 10 + 5000;
  return [...lines, ...[0, 900, 1500].map((ms, i) => line(count + i, end + ms))].join('');
}

for (const [what, sql, options] of [
  [
    'groups of windows',
    `SELECT k, count(*) AS c, sum(n) AS s, collect(n) AS all, window_end() AS e FROM {f} WHERE n % 5 != 0
       GROUP BY k, HOPPINGWINDOW(ss, 2, 1)`,
    { isEventTime: true, lateTolerance: '200ms' },
  ],
  [
    'functions that look back',
    'SELECT n, lag(n) OVER (PARTITION BY k) AS before, acc_sum(n) OVER (PARTITION BY k) AS total FROM {f}',
    {},
  ],
  [
    'joined streams',
    `SELECT coalesce(x.k, y.k) AS k, count(*) AS c, collect(x.n) AS xs, sum(y.n) AS s, window_end() AS e
       FROM {f} AS x FULL JOIN {g} AS y ON x.k = y.k AND x.n % 2 = 0
       GROUP BY coalesce(x.k, y.k), HOPPINGWINDOW(ss, 2, 1)`,
    // Nothing is late: two files are read in any order.
    { isEventTime: true, lateTolerance: '400ms' },
  ],
  [
    'streams joined by time',
    `SELECT x.k AS k, x.n AS n, y.n AS m FROM {f} AS x FULL JOIN {g} AS y ON x.k = y.k AND x.n % 3 > 0
       AND y.ts BETWEEN x.ts - INTERVAL '200' MILLISECOND AND x.ts + 300`,
    { isEventTime: true, lateTolerance: '400ms' },
  ],
  [
    'newest rows of another stream',
    `SELECT x.k AS k, x.n AS n, y.n AS m FROM {f} AS x
       ASOF LEFT JOIN {g} AS y MATCH_CONDITION (x.ts >= y.ts + 50) ON x.k = y.k`,
    { isEventTime: true, lateTolerance: '400ms' },
  ],
  [
    'rows that are looked up',
    'SELECT x.n, x.ts, lag(x.n) OVER (PARTITION BY x.k) AS before, name FROM {f} AS x LEFT JOIN t ON t.id = x.k',
    {},
  ],
] as const) {
  test(`${what}: a divided rule has the rows of the whole over kills`, async () => {
    const data = temporaryFolder();
    server = await startServer({ data, env });
    const table =
      '{\\"data\\":[{\\"id\\":\\"key 1\\",\\"name\\":\\"one\\"},{\\"id\\":\\"key 2\\",\\"name\\":\\"two\\"}]}';
    await made('/tables', {
      sql: `CREATE TABLE t () WITH (TYPE="simulator", KIND="lookup", KEY="id", EXTRA="${table}")`,
    });
    const streams = ['f', 'g'].filter((name) => sql.includes(`{${name}}`));
    for (const [i, name] of streams.entries()) {
      writeFileSync(join(data, name), input(i));
      const key = { path: data, fileType: 'lines', sendInterval: '1ms' };
      await server.request('PUT', `/metadata/sources/file/confKeys/${name}`, key);
    }
    const ofName = (name: string) =>
      `TYPE="file", DATASOURCE="${name}", CONF_KEY="${name}", SHARED="true", TIMESTAMP="ts"`;
    const rules = { whole: { qos: 2 }, once: { qos: 2, parallelism: 3 }, least: { qos: 1, parallelism: 2 } };
    const outOf = (id: string) => join(data, `${id}.out`);
    for (const [id, change] of Object.entries(rules)) {
      for (const name of streams)
        await made('/streams', { sql: `CREATE STREAM ${name}_${id} () WITH (${ofName(name)})` });
      await made('/rules', {
        id,
        sql: sql.replace(/\{(\w)\}/g, `$1_${id}`),
        actions: [{ file: { path: outOf(id), sendSingle: true } }],
        options: { ...options, ...change, checkpointInterval: '20ms' },
      });
    }
    for (let i = 0; i < kills; i++) {
      await eventually('its rows', async () => {
        const { status, checkpointsTotal } = await statusOf('once');
        return status === 'Stopped' || (status === 'Running' && Number(checkpointsTotal) > 1);
      });
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 400));
      await server.stop('SIGKILL');
      server = await startServer({ data, env });
    }
    const ids = Object.keys(rules);
    await eventuallyWritten('the ends', ids.map(outOf), async () => {
      const all = await Promise.all(ids.map(statusOf));
      for (const { status, message } of all) assert.not.match(String(status), /error/i, String(message));
      return all.every(({ status }) => status === 'Stopped');
    });
    const rowsOf = (id: string) => {
      const lines = existsSync(outOf(id)) ? readFileSync(outOf(id), 'utf8').split('\n') : [];
      return lines.filter((line) => line.endsWith('}')).sort();
    };
    const whole = rowsOf('whole');
    assert.ok(whole.length > 100);
    assert.equal(rowsOf('once'), whole);
    // A line that a kill has cut is there once more.
    const isRow = new Set(whole);
    assert.equal([...new Set(rowsOf('least'))].filter((row) => isRow.has(row)).sort(), whole);
  });
}

test.run();
