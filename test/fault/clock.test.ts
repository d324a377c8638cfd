/** The system's clock is set back or forth under a running server: windows of all kinds go on. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, temporaryFolder } from '../support/harness.js';

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const windows = {
  tumbling: 'TUMBLINGWINDOW(ms, 100)',
  hopping: 'HOPPINGWINDOW(ms, 200, 100)',
  sliding: 'SLIDINGWINDOW(ms, 100)',
  session: 'SESSIONWINDOW(ms, 200, 50)',
};

test('a clock that is set back or forth does not stop windows, nor lets them grow', async () => {
  const clock = join(temporaryFolder(), 'clock');
  const move = (ms: number) => writeFileSync(clock, String(ms));
  const seen = () =>
    readdirSync(dirname(clock))
      .filter((name) => name.startsWith('clock.'))
      .map((name) => Number(readFileSync(join(dirname(clock), name), 'utf8') || Number.NaN));
  move(dayMs);
  const server = await startServer({
    env: {
      NODE_OPTIONS: `--import ${new URL('../support/crash/moved-clock.mjs', import.meta.url).href}`,
      MOVED_CLOCK: clock,
    },
  });
  const key = { data: [{ a: 1 }], interval: 5 };
  assert.is((await server.request('PUT', '/metadata/sources/simulator/confKeys/fast', key)).status, 200);
  const stream = 'CREATE STREAM s () WITH (TYPE="simulator", CONF_KEY="fast", SHARED="true")';
  assert.is((await server.request('POST', '/streams', { sql: stream })).status, 201);
  const folder = temporaryFolder();
  const lines = (id: string) => readFileSync(join(folder, id), 'utf8').trim().split('\n');
  for (const [id, window] of Object.entries(windows)) {
    const sql = `SELECT count(*) AS n, window_end() AS e FROM s GROUP BY ${window}`;
    const actions = [{ file: { path: join(folder, id) } }];
    assert.is((await server.request('POST', '/rules', { id, sql, actions })).status, 201);
  }
  const sent = async (id: string) => (await server.request('GET', `/rules/${id}/status`)).json.sinkRecordsOutTotal;
  for (const [what, ms] of [
    ['back by a day', 0],
    ['back to 1970', -Date.now() + dayMs],
    ['forth by a week', 7 * dayMs],
    ['back by a second and a half', 7 * dayMs - 1500],
  ] as const) {
    move(ms);
    await eventually(`${what} to be seen by all threads`, () => seen().length > 1 && seen().every((one) => one === ms));
    for (const id of Object.keys(windows)) {
      const before = await sent(id);
      await eventually(`results of the ${id} window ${what}`, async () => (await sent(id)) > before + 3);
    }
    const last = JSON.parse(lines('sliding').at(-1) ?? '')[0].n;
    assert.ok(last <= 60, `${what}: the sliding window of 100 ms holds ${last} rows`);
    for (const id of Object.keys(windows)) {
      const off = JSON.parse(lines(id).at(-1) ?? '')[0].e - (Date.now() + ms);
      assert.ok(Math.abs(off) < hourMs, `${what}: the ${id} window ends ${off} ms from the time of the clock`);
    }
  }
  // Files of the log turn with the clock, and old ones go.
  const folderOfLog = join(server.data, 'log');
  const log = readdirSync(folderOfLog).flatMap((name) => readFileSync(join(folderOfLog, name), 'utf8').split('\n'));
  const said = log.filter((line) =>
    /clock of the system was set back by \d+ s: open windows go on as those/.test(line),
  );
  assert.ok(said.length > 0, 'it is said in the log');
  assert.is(await server.stop(), 0);
});

test.run();
