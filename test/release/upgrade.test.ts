/**
 * A server on the data folder of the release before, which was killed: its definitions are there, and its rules go on
 * from their checkpoints. `node tools/release/upgrade-data.mjs` has made the folder; what was sent to it stands there.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, freePort, request, startServer, temporaryFolder } from '../support/harness.js';

const archive = new URL('data/before.tgz', import.meta.url).pathname;
const data = temporaryFolder();
execFileSync('tar', ['-xzf', archive, '-C', data]);
const port = await freePort();
const server = await startServer({ data, env: { KUIPER__SOURCE__HTTPSERVERPORT: String(port) } });
test.after(async () => void (await server.stop()));

const json = async (path: string) => (await server.request('GET', path)).json;
const rowsOf = (id: string) =>
  readFileSync(join(data, `${id}.txt`), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line) => JSON.parse(line) as Record<string, unknown>[]);
const rules = ['added', 'counted', 'hours', 'named'];

test('all definitions are there', async () => {
  assert.equal((await json('/streams')).sort(), ['pushed', 'readings']);
  assert.equal(await json('/tables'), ['names']);
  const list = (await json('/rules')) as { id: string; tags: string[] | null }[];
  assert.equal(
    list.map(({ id }) => id),
    [...rules, 'stopped'],
  );
  assert.equal(list[0]?.tags, ['before']);
  assert.equal(await json('/udf/javascript'), ['triple']);
  assert.equal(await json('/schemas/protobuf'), ['plant']);
  assert.is((await json('/connections/away')).id, 'away');
  const { confKeys } = { confKeys: await json('/metadata/sources/yaml/mqtt') };
  assert.is(confKeys.plant.qos, 1);
  assert.equal(await json('/losses'), []);
});

test('rules go on from their checkpoints', async () => {
  for (const id of rules) {
    const status = await eventually(`rule ${id} runs`, async () => {
      const found = await json(`/rules/${id}/status`);
      return /^running$/i.test(found.status) ? found : undefined;
    });
    assert.match(status.stateAtStart, /^goes on with its state of /, id);
  }
  // Four of seven rows had made a window; these two fill the next, and add to the sums of those before.
  const before = { added: rowsOf('added').length, named: rowsOf('named').length };
  await eventually('the data server', async () => {
    const base = `http://127.0.0.1:${port}`;
    // Until it listens there is nobody at its port.
    const answer = await request(base, 'POST', '/rows', { id: 1, v: 100 }).catch(() => undefined);
    return answer?.status === 200;
  });
  const windows = await eventually('the second window', () => {
    const rows = rowsOf('counted');
    return rows.length > 1 ? rows : undefined;
  });
  assert.equal(windows, [
    { n: 4, sum: 62 },
    { n: 4, sum: 12 + 13 + 22 + 100 },
  ]);
  const added = await eventually('the sum', () => rowsOf('added')[before.added]);
  assert.equal(added, { id: 1, sum: 10 + 11 + 12 + 13 + 100 });
  const named = await eventually('the row with its name', () => rowsOf('named')[before.named]);
  assert.equal(named, { name: 'press', v3: 300 });
});

test('an update keeps what the release before has left', async () => {
  const rule = {
    id: 'hours',
    sql: 'SELECT id, max(v) AS most, collect(v) AS all, "x" AS extra FROM pushed GROUP BY id, TUMBLINGWINDOW(hh, 24)',
    actions: [{ file: { path: 'hours.txt' } }],
    options: { qos: 1 },
  };
  const { state } = (await server.request('PUT', '/rules/hours?dryRun=true', rule)).json;
  assert.equal(state.lost, []);
  assert.ok(
    state.kept.some((part: string) => part.startsWith('TUMBLINGWINDOW')),
    JSON.stringify(state),
  );
});

test.run();
