/**
 * States of functions of plugins over a kill -9 of the server: with qos 1 aggregates and functions that look back go on
 * where they were, though the numbers of the functions are other ones then. With qos 2 those of a plugin on a thread
 * of its own give each row once. `HAUMEA_CHECKPOINT_ROUNDS` sets how many
 * rounds are run.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withManifest } from '../../../host/plugins/wasm/exports/embed.js';
import { eventually, eventuallyWritten, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';

const rounds = Number(process.env.HAUMEA_CHECKPOINT_ROUNDS ?? 2);
const rules = ['a', 'b', 'c'] as const;

async function made(server: TestServer, path: string, body: object): Promise<void> {
  const { status, text } = await server.request('POST', path, body);
  assert.is(status, 201, text);
}

/** Waits until rules have a checkpoint after those that they have. */
async function nextCheckpoints(server: TestServer): Promise<void> {
  for (const id of rules) {
    let before: number | undefined;
    await eventually('a checkpoint', async () => {
      const { json } = await server.request('GET', `/rules/${id}/status`);
      // At the end of the input there is none any more.
      if (json.message === 'done') return true;
      const count = json.checkpointsTotal as number | undefined;
      before ??= count;
      return count !== undefined && count > before!;
    });
  }
}

function linesOf(path: string): Record<string, number | string>[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return [JSON.parse(line) as Record<string, number | string>];
      } catch {
        // A line that was cut off by the kill.
        return [];
      }
    });
}

test('states of plugins are those of the last checkpoint, however often the server is killed', async () => {
  const data = temporaryFolder();
  const count = 900 * rounds;
  writeFileSync(join(data, 'in'), Array.from({ length: count }, (_, id) => `{"id":${id}}\n`).join(''));
  let server = await startServer({ data });
  const conf = { path: data, fileType: 'lines', sendInterval: '1ms' };
  await server.request('PUT', '/metadata/sources/file/confKeys/in', conf);
  await made(server, '/streams', { sql: 'CREATE STREAM s () WITH (TYPE="file", DATASOURCE="in", CONF_KEY="in")' });
  const bytecode = readFileSync(new URL('../../guests/states.wasm', import.meta.url)).toString('base64');
  await made(server, '/plugins/wasm', { name: 'states', bytecode });
  const kit = readFileSync(new URL('../../guests/kit.wasm', import.meta.url));
  const functions = [{ name: 'tally', export: 'times', args: ['bigint'], result: 'any', analytic: true }];
  const tally = Buffer.from(withManifest(kit, JSON.stringify({ abi: 1, functions }))).toString('base64');
  await made(server, '/plugins/wasm', { name: 'kit', bytecode: tally });
  const looksBack = { init: 'state_init', step: 'running_step', save: 'state_save', load: 'state_load' };
  const apart = [{ name: 'apart', args: ['bigint'], result: 'bigint', analytic: looksBack }];
  const manifest = JSON.stringify({ abi: 1, convention: 'pointers', functions: apart });
  const onThread = withManifest(readFileSync(new URL('../../guests/states.wasm', import.meta.url)), manifest);
  await made(server, '/plugins/wasm', {
    name: 'apart',
    bytecode: Buffer.from(onThread).toString('base64'),
    isolate: true,
  });
  const rule = (id: (typeof rules)[number], sql: string, qos = 1) => ({
    id,
    sql,
    actions: [{ file: { path: join(data, `${id}.out`), sendSingle: true } }],
    options: { qos, checkpointInterval: '100ms' },
  });
  // The rule that is made first is not the first that is started again, so that functions get each other's numbers.
  const aggregate = 'SELECT min(id) AS low, count(*) AS n, total(id, 1) AS sum, path(cast(id % 10, "string")) AS path';
  await made(server, '/rules', rule('b', `${aggregate} FROM s GROUP BY COUNTWINDOW(300)`));
  await made(
    server,
    '/rules',
    rule(
      'a',
      'SELECT id, running(1) AS n, running(id) OVER (PARTITION BY id % 3) AS sum, tally(id) OVER (PARTITION BY id % ' +
        '3) AS calls FROM s',
    ),
  );
  await made(
    server,
    '/rules',
    rule(
      'c',
      'SELECT id, apart(1) AS n, apart(id) OVER (PARTITION BY id % 3) AS sum, apart(apart(1) OVER (WHEN id % 2 = 0)) ' +
        'AS halves FROM s',
      2,
    ),
  );
  for (let round = 0; round < rounds; round++) {
    await nextCheckpoints(server);
    await server.stop('SIGKILL');
    server = await startServer({ data });
  }
  const [ofA, ofB, ofC] = rules.map((id) => join(data, `${id}.out`)) as [string, string, string];
  await eventuallyWritten(
    'the last rows',
    [ofA, ofB, ofC],
    () =>
      [ofA, ofC].every((path) => linesOf(path).some(({ id }) => id === count - 1)) &&
      linesOf(ofB).some(({ low }) => low === count - 300),
  );
  await server.stop();
  const lows = new Set<number>();
  for (const { low, n, sum, path } of linesOf(ofB) as { low: number; n: number; sum: number; path: string }[]) {
    assert.equal([low % 300, n, sum], [0, 300, 300 * low + (299 * 300) / 2], `window from ${low}`);
    assert.is(path, '0123456789'.repeat(30));
    lows.add(low);
  }
  assert.is(lows.size, count / 300);
  const sumOf = (id: number) => {
    const first = id % 3;
    const before = (id - first) / 3;
    return (before + 1) * first + (3 * before * (before + 1)) / 2;
  };
  let halves = 0;
  assert.equal(
    linesOf(ofC),
    Array.from({ length: count }, (_, id) => {
      halves += Math.floor(id / 2) + 1;
      return { halves, id, n: id + 1, sum: sumOf(id) };
    }),
  );
  const ids = new Set<number>();
  for (const { id, n, sum, calls } of linesOf(ofA) as { id: number; n: number; sum: number; calls: number }[]) {
    assert.equal([n, sum, calls], [id + 1, sumOf(id), Math.floor(id / 3) + 1], `row ${id}`);
    ids.add(id);
  }
  assert.is(ids.size, count);
});

test.run();
