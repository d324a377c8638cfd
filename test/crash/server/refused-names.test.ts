/**
 * Rules that feed each other, and a disk that refuses the name of one's checkpoint when it counts already: none goes
 * back alone.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';

const count = 800;
const rule = (id: string, stream: string, action: object) => ({
  id,
  sql: `SELECT id FROM ${stream}`,
  actions: [action],
  options: { qos: 2, checkpointInterval: '100ms' },
});

/**
 * Refuses names of rule `b` while `turn` is tried, which begins when a checkpoint that counts has none; returns the
 * data folder.
 */
async function refuse(turn: (server: TestServer, heal: () => void, again: () => Promise<void>) => Promise<void>) {
  const data = temporaryFolder();
  const refused = join(data, 'refused');
  const env = {
    REFUSED_NAMES: refused,
    NODE_OPTIONS: `--import ${new URL('../../support/crash/refused-names.mjs', import.meta.url).href}`,
  };
  const start = () => startServer({ data, env });
  const heal = () => rmSync(refused, { force: true });
  writeFileSync(join(data, 'in'), Array.from({ length: count }, (_, id) => `{"id":${id}}\n`).join(''));
  let server = await start();
  test.after(() => server.stop('SIGKILL').then(() => {}));
  const request = async (method: string, path: string, body?: object) => {
    const answer = await server.request(method, path, body);
    assert.ok(answer.status < 300, answer.text);
    return answer;
  };
  const conf = { path: data, fileType: 'lines', sendInterval: '1ms' };
  await server.request('PUT', '/metadata/sources/file/confKeys/in', conf);
  await request('POST', '/streams', { sql: 'CREATE STREAM s () WITH (TYPE="file", DATASOURCE="in", CONF_KEY="in")' });
  await request('POST', '/streams', { sql: 'CREATE STREAM m () WITH (TYPE="memory", DATASOURCE="m")' });
  const out = join(data, 'out');
  await request('POST', '/rules', rule('b', 'm', { file: { path: out, sendSingle: true } }));
  await request('POST', '/rules', rule('a', 's', { memory: { topic: 'm', sendSingle: true } }));
  const status = async (id: string) => (await request('GET', `/rules/${id}/status`)).json;
  await eventually('a checkpoint', async () => (await status('b')).checkpointsTotal > 1);
  writeFileSync(refused, '/checkpoints/b/');
  await eventually('a refused name', async () =>
    /could not get its name: EIO/.test((await status('b')).lastCheckpointFailure),
  );
  assert.is((await status('a')).lastCheckpointFailure, '');
  const before = readFileSync(out, 'utf8').length;
  await eventually('more rows', () => readFileSync(out, 'utf8').length > before);
  await turn(server, heal, async () => {
    server = await start();
  });
  const expected = Array.from({ length: count }, (_, id) => `{"id":${id}}\n`).join('');
  await eventually('the last row', () => readFileSync(out, 'utf8').length >= expected.length);
  assert.is((await status('b')).lastCheckpointFailure, '');
  await server.stop();
  assert.is(readFileSync(out, 'utf8'), expected);
  return data;
}

const marksOf = (data: string) => readdirSync(join(data, 'checkpoint-marks'));

for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
  test(`over an end by ${signal}`, async () => {
    const data = await refuse(async (server, heal, again) => {
      await server.stop(signal);
      heal();
      await again();
    });
    assert.equal(marksOf(data), []);
  });
}

test('over a start of the rule, which fails as long as the disk refuses', async () => {
  await refuse(async (server, heal) => {
    for (const id of ['a', 'b']) await server.request('POST', `/rules/${id}/stop`);
    await server.request('POST', '/rules/b/start');
    const status = async () => (await server.request('GET', '/rules/b/status')).json;
    await eventually('the failure', async () => (await status()).status === 'Stopped: canceled by error.');
    assert.match((await status()).message, /counts with those of other rules, but can't get its name: EIO/);
    heal();
    for (const id of ['b', 'a']) await server.request('POST', `/rules/${id}/start`);
  });
});

test('as long as it runs: the next checkpoint has its name', async () => {
  await refuse(async (_server, heal) => heal());
});

test.run();
