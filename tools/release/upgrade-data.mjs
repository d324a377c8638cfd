/**
 * Makes the data folder that the test of upgrades starts from:
 * `node tools/release/upgrade-data.mjs OLD/dist/main.mjs test/release/data/before.tgz`, with the program of the release
 * before. It makes one of each kind of definition, and rules with state; then the server is killed.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const [program, file] = process.argv.slice(2);
if (file === undefined) throw new Error('usage: node tools/release/upgrade-data.mjs OLD/dist/main.mjs FILE');

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  await new Promise((done) => probe.close(done));
  return port;
}

const data = mkdtempSync(join(tmpdir(), 'haumea-before-'));
const [rest, push] = [await freePort(), await freePort()];
const env = {
  ...process.env,
  KUIPER__BASIC__RESTIP: '127.0.0.1',
  KUIPER__BASIC__RESTPORT: String(rest),
  KUIPER__SOURCE__HTTPSERVERPORT: String(push),
};
writeFileSync(
  join(data, 'names.json'),
  JSON.stringify([
    { id: 1, name: 'press' },
    { id: 2, name: 'lathe' },
  ]),
);
const server = spawn(process.execPath, [resolve(program), 'serve', '--data', data], { env, stdio: ['ignore', 2, 2] });

async function ask(method, path, body, base = rest) {
  const answer = await fetch(`http://127.0.0.1:${base}${path}`, { method, body: body && JSON.stringify(body) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text;
}

async function until(what, look) {
  const end = Date.now() + 20_000;
  while (!(await look().catch(() => false))) {
    if (Date.now() > end) throw new Error(`${what} did not happen: ${await ask('GET', '/rules?trouble=true')}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

const figures = async (id) => JSON.parse(await ask('GET', `/rules/${id}/status`));
const sqlRules = {
  counted: 'SELECT count(*) AS n, sum(v) AS sum FROM pushed GROUP BY COUNTWINDOW(4)',
  added: 'SELECT id, acc_sum(v) OVER (PARTITION BY id) AS sum FROM pushed',
  named: 'SELECT name, triple(v) AS v3 FROM pushed INNER JOIN names ON pushed.id = names.id',
  hours: 'SELECT id, max(v) AS most, collect(v) AS all FROM pushed GROUP BY id, TUMBLINGWINDOW(hh, 24)',
};

try {
  await until('an answer', async () => (await fetch(`http://127.0.0.1:${rest}/ping`)).ok);
  await ask('PUT', '/metadata/sources/mqtt/confKeys/plant', {
    server: 'tcp://127.0.0.1:1',
    qos: 1,
    password: 'hidden',
  });
  await ask('PUT', '/metadata/sources/httppush/confKeys/rows', { method: 'POST' });
  await ask('POST', '/connections', { id: 'away', typ: 'mqtt', props: { server: 'tcp://127.0.0.1:1' } });
  await ask('POST', '/udf/javascript', { id: 'triple', script: 'function triple(x) { return x * 3; }', isAgg: false });
  const common = 'CONF_KEY="rows", SHARED="true"';
  const format = 'FORMAT="protobuf", SCHEMAID="plant.Reading"';
  const schema = 'message Reading { int64 id = 1; double v = 2; }';
  await ask('POST', '/schemas/protobuf', { name: 'plant', content: `syntax = "proto3"; ${schema}` });
  for (const sql of [
    `CREATE STREAM pushed (id BIGINT, v BIGINT) WITH (TYPE="httppush", DATASOURCE="/rows", ${common})`,
    `CREATE STREAM readings () WITH (TYPE="mqtt", DATASOURCE="r", CONF_KEY="plant", ${format})`,
  ]) {
    await ask('POST', '/streams', { sql });
  }
  const table =
    'CREATE TABLE names (id BIGINT, name STRING) WITH (TYPE="file", DATASOURCE="names.json", FORMAT="json")';
  await ask('POST', '/tables', { sql: table });
  for (const [id, sql] of Object.entries(sqlRules)) {
    const actions = [{ file: { path: `${id}.txt`, interval: 10, checkInterval: 10 } }];
    await ask('POST', '/rules', { id, sql, actions, options: { qos: 1, checkpointInterval: 100 }, tags: ['before'] });
  }
  await ask('POST', '/rules', {
    id: 'stopped',
    sql: 'SELECT * FROM readings',
    actions: [{ nop: {} }],
    triggered: false,
  });
  await until('running rules', async () => {
    const all = await Promise.all(Object.keys(sqlRules).map(figures));
    return all.every(({ status }) => /^running$/i.test(status));
  });
  for (const [id, v] of [
    [1, 10],
    [2, 20],
    [1, 11],
    [2, 21],
    [1, 12],
    [1, 13],
  ])
    await ask('POST', '/rows', { id, v }, push);
  await until('checkpoints of all rows', async () => {
    const all = await Promise.all(Object.keys(sqlRules).map(figures));
    return all.every(({ sourceRecordsInTotal, checkpointsTotal }) => sourceRecordsInTotal >= 6 && checkpointsTotal > 0);
  });
  // What came last is in the checkpoint after the next.
  const before = (await figures('counted')).lastCheckpointTime;
  await ask('POST', '/rows', { id: 2, v: 22 }, push);
  await until('one more checkpoint', async () => (await figures('counted')).lastCheckpointTime !== before);
  await new Promise((done) => setTimeout(done, 2000));
} finally {
  server.kill('SIGKILL');
  await once(server, 'exit');
}
execFileSync('tar', ['-czf', resolve(file), '--exclude=log', '-C', data, '.']);
rmSync(data, { recursive: true });
