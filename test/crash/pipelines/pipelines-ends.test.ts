/** Rules with windows that feed each other by a memory topic, over ends of the server and of the writer. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';

async function made(server: TestServer, path: string, body: object): Promise<void> {
  const { status, text } = await server.request('POST', path, body);
  assert.is(status, 201, text);
}

test('a chain goes on over all ends as if there had been none', async () => {
  const data = temporaryFolder();
  const count = 3000;
  writeFileSync(join(data, 'in'), Array.from({ length: count }, (_, id) => `{"id":${id}}\n`).join(''));
  const out = join(data, 'out');
  let server = await startServer({ data });
  const conf = { path: data, fileType: 'lines', sendInterval: '1ms' };
  await server.request('PUT', '/metadata/sources/file/confKeys/in', conf);
  await made(server, '/streams', { sql: 'CREATE STREAM s () WITH (TYPE="file", DATASOURCE="in", CONF_KEY="in")' });
  await made(server, '/streams', { sql: 'CREATE STREAM m () WITH (TYPE="memory", DATASOURCE="m/#")' });
  const rule = (id: string, sql: string, action: object) => ({
    id,
    sql,
    actions: [action],
    options: { qos: 2, checkpointInterval: '100ms' },
  });
  const low = 'min(id) AS id';
  const writer = rule('a', `SELECT ${low} FROM s GROUP BY COUNTWINDOW(5)`, {
    memory: { topic: 'm/a', sendSingle: true },
  });
  await made(
    server,
    '/rules',
    rule('b', `SELECT ${low} FROM m GROUP BY COUNTWINDOW(2)`, { file: { path: out, sendSingle: true } }),
  );
  await made(server, '/rules', writer);
  const written = () => readFileSync(out, 'utf8').length;
  const steps: (() => Promise<void>)[] = [
    async () => {
      await server.stop('SIGTERM');
      server = await startServer({ data });
    },
    async () => {
      await server.request('POST', '/rules/a/stop');
      await server.request('POST', '/rules/a/start');
    },
    async () => {
      assert.is((await server.request('PUT', '/rules/a', writer)).status, 200);
    },
    async () => {
      await server.stop('SIGKILL');
      server = await startServer({ data });
    },
  ];
  for (const step of steps) {
    const before = written();
    await eventually('a row', () => written() > before, 60_000);
    await step();
  }
  const expected = Array.from({ length: count / 10 }, (_, i) => `{"id":${i * 10}}\n`).join('');
  await eventually('the last row', () => written() >= expected.length, 120_000);
  await server.stop();
  assert.is(readFileSync(out, 'utf8'), expected);
});

test.run();
