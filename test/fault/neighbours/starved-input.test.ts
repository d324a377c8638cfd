/**
 * A rule that fills the memory of the kernel ends, and the input of its neighbours waits meanwhile: none of it is lost.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRawBroker, publish } from '../../support/brokers/raw-broker.js';
import { openEngine } from '../../support/engine/engine-harness.js';
import { eventually, freePort, request, startServer, temporaryFolder } from '../../support/harness.js';

const mb = 1 << 20;
const limit = 64 * mb;
/** What the greedy rule keeps: more than there is memory, in long lines. */
const flood = `${JSON.stringify({ v: 1, k: 'y'.repeat(mb) })}\n`.repeat(80);
const greedy = 'SELECT v, k FROM flood GROUP BY SLIDINGWINDOW(hh, 1)';

test('every push answered 200 is in the output, and after the end of the greedy rule long messages pass', async () => {
  const port = await freePort();
  const server = await startServer({
    env: { KUIPER__SOURCE__HTTPSERVERPORT: String(port), KUIPER__BASIC__MAXDATAMEMORY: String(limit) },
  });
  try {
    writeFileSync(join(server.data, 'flood.txt'), flood);
    const path = join(server.data, 'calm.txt');
    const conf = { fileType: 'lines', interval: '1s', path: server.data };
    await server.request('PUT', '/metadata/sources/file/confKeys/flood', conf);
    for (const sql of [
      'CREATE STREAM flood () WITH (TYPE="file", DATASOURCE="flood.txt", CONF_KEY="flood")',
      'CREATE STREAM calm () WITH (TYPE="httppush", DATASOURCE="/calm")',
    ]) {
      assert.is((await server.request('POST', '/streams', { sql })).status, 201);
    }
    const calm = {
      id: 'calm',
      sql: 'SELECT id, length(k) AS l FROM calm',
      actions: [{ file: { path, sendSingle: true } }],
    };
    assert.is((await server.request('POST', '/rules', calm)).status, 201);
    const status = async (id: string) => (await server.request('GET', `/rules/${id}/status`)).json;
    await eventually('the path', async () => (await status('calm')).source_calm_0_connection_status === 1 || undefined);
    const answered: number[] = [];
    const push = async (id: number) => {
      const { status } = await request(`http://127.0.0.1:${port}`, 'POST', '/calm', { id, k: 'z'.repeat(2 * mb) });
      if (status === 200) answered.push(id);
      return status;
    };
    assert.is((await server.request('POST', '/rules', { id: 'x', sql: greedy, actions: [{ nop: {} }] })).status, 201);
    let next = 0;
    await eventually(
      'the end of the greedy rule',
      async () => {
        await push(next++);
        const { status: state, message } = await status('x');
        if (state !== 'stopped: by error' && !/memory is exhausted/.test(JSON.stringify(message ?? '')))
          return undefined;
        assert.match(JSON.stringify(message), /memory is exhausted: .* 64\.0 MiB \(basic\.maxDataMemory\)/);
        return true;
      },
      60_000,
    );
    for (let i = 0; i < 5; i++) assert.is(await push(next++), 200);
    const rows = () => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []);
    await eventually('all rows', () => rows().length >= answered.length || undefined);
    const found = rows().map((row) => JSON.parse(row));
    assert.equal(
      found.map(({ id }) => id),
      answered,
    );
    assert.ok(found.every(({ l }) => l === 2 * mb));
  } finally {
    await server.stop();
  }
});

test('long MQTT messages of QoS 1 wait for memory and all come, over the same connection', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'flood'), flood);
  const count = 12;
  const messages = Array.from({ length: count }, (_, i) =>
    publish(JSON.stringify({ id: i + 1, text: 'x'.repeat(3 * mb) }), i + 1),
  );
  const broker = await openRawBroker((socket) => socket.write(Buffer.concat(messages)));
  const opened = openEngine({ maxMemoryBytes: limit });
  opened.stream('CREATE STREAM flood () WITH (TYPE="file", DATASOURCE="flood", CONF_KEY="flood")', {
    fileType: 'lines',
    path: folder,
    interval: 3_600_000,
  });
  opened.stream('CREATE STREAM s () WITH (TYPE="mqtt", DATASOURCE="a", CONF_KEY="s")', { server: broker.url, qos: 1 });
  opened.run('x', greedy, [['nop', {}]]);
  opened.run('calm', 'SELECT id FROM s', [['nop', {}]]);
  const { message } = await opened.reach('x', 'stopped by error', 60_000);
  assert.match(message, /^memory is exhausted: .* 64\.0 MiB \(basic\.maxDataMemory\)/);
  assert.is(await opened.figure('calm', 'sinkRecordsOutTotal', (value) => value >= count, 30_000), count);
  await eventually('the acknowledgements', () => broker.acknowledged.length >= count || undefined);
  assert.equal(
    broker.acknowledged,
    Array.from({ length: count }, (_, i) => i + 1),
  );
  assert.is(broker.connections, 1);
  assert.is((await opened.engine.status('calm')).metrics.exceptionsTotal, 0);
  await opened.close();
  broker.close();
});

test.run();
