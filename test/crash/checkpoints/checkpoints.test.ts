/**
 * kill -9 of the server in a loop, at any moment: with qos 1 no row of a file is missing in the windows that come out,
 * and each window that is whole is right. `HAUMEA_CHECKPOINT_ROUNDS=200` runs as many rounds as a release wants.
 */
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectClient } from '../../support/brokers/broker.js';
import { hasMosquitto, openMosquitto } from '../../support/brokers/mosquitto.js';
import { announceSkip, eventually, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';

const rounds = Number(process.env.HAUMEA_CHECKPOINT_ROUNDS ?? 2);

async function made(server: TestServer, path: string, body: object): Promise<void> {
  const { status, text } = await server.request('POST', path, body);
  assert.is(status, 201, text);
}

/** Waits until there is a checkpoint after the one of that number of times. */
function nextCheckpoint(server: TestServer, id = 'r'): Promise<unknown> {
  let before: number | undefined;
  return eventually('a checkpoint', async () => {
    const { json } = await server.request('GET', `/rules/${id}/status`);
    // At the end of the input there is none any more.
    if (json.message === 'done') return json;
    const count = json.checkpointsTotal as number | undefined;
    before ??= count;
    return count !== undefined && count > before! ? json : undefined;
  });
}

function linesOf(path: string): { [name: string]: number }[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        // A line that was cut off by the kill.
        return JSON.parse(line) as { [name: string]: number }[];
      } catch {
        return [];
      }
    });
}

function idsIn(path: string): Set<number> {
  return new Set(linesOf(path).flatMap((rows) => (rows as unknown as { ids: number[] }).ids));
}

test('kill -9 at any moment loses no row of a file in windows of rows and of event time', async () => {
  const data = temporaryFolder();
  const count = 1500 * rounds;
  const first = 1_700_000_000_000;
  const rows = Array.from({ length: count }, (_, id) => JSON.stringify({ id, ts: first + id * 10 }));
  writeFileSync(join(data, 'in'), `${rows.join('\n')}\n`);
  let server = await startServer({ data });
  const conf = { path: data, fileType: 'lines', sendInterval: '1ms' };
  await server.request('PUT', '/metadata/sources/file/confKeys/in', conf);
  const sql = 'CREATE STREAM s () WITH (TYPE="file", DATASOURCE="in", CONF_KEY="in", TIMESTAMP="ts")';
  await made(server, '/streams', { sql });
  const rule = (id: string, query: string, options: object) => ({
    id,
    sql: query,
    actions: [{ file: { path: join(data, `${id}.out`) } }],
    options: { qos: 1, checkpointInterval: '100ms', ...options },
  });
  const select = 'SELECT min(id) AS low, max(id) AS high, count(*) AS n FROM s GROUP BY';
  await made(server, '/rules', rule('r', `${select} COUNTWINDOW(100)`, {}));
  await made(
    server,
    '/rules',
    rule('e', `${select} TUMBLINGWINDOW(ss, 1)`, { isEventTime: true, lateTolerance: '0s' }),
  );
  for (let round = 0; round < rounds; round++) {
    await nextCheckpoint(server);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 300));
    await server.stop('SIGKILL');
    server = await startServer({ data });
  }
  const whole = (id: string) =>
    linesOf(join(data, `${id}.out`)).some(({ high }) => high === count - 1 || (id === 'e' && high === count - 101));
  await eventually('the last windows', () => whole('r') && whole('e'), 60_000 + 5 * count);
  await server.stop();
  for (const id of ['r', 'e']) {
    const seen = new Set<number>();
    for (const { low, high, n } of linesOf(join(data, `${id}.out`))) {
      assert.equal([low! % 100, high, n], [0, low! + 99, 100], `a window of rule ${id}`);
      seen.add(low!);
    }
    const expected = Array.from({ length: count / 100 - (id === 'e' ? 1 : 0) }, (_, i) => i * 100);
    assert.equal(
      expected.filter((low) => !seen.has(low)),
      [],
      `windows that are missing in rule ${id}`,
    );
  }
});

test(
  'with qos 2 a file that is written from a file has each window once, in order, however often the server is ' +
    'killed',
  async () => {
    const data = temporaryFolder();
    const count = 1000 * rounds;
    writeFileSync(join(data, 'in'), Array.from({ length: count }, (_, id) => `{"id":${id}}\n`).join(''));
    const out = join(data, 'out');
    writeFileSync(out, '{"low":-1}\n');
    let server = await startServer({ data });
    await server.request('PUT', '/metadata/sources/file/confKeys/in', {
      path: data,
      fileType: 'lines',
      sendInterval: '1ms',
    });
    await made(server, '/streams', { sql: 'CREATE STREAM s () WITH (TYPE="file", DATASOURCE="in", CONF_KEY="in")' });
    const sql = 'SELECT min(id) AS low FROM s GROUP BY COUNTWINDOW(5)';
    const options = { qos: 2, checkpointInterval: '100ms' };
    await made(server, '/rules', { id: 'r', sql, actions: [{ file: { path: out, sendSingle: true } }], options });
    const { text } = await server.request('GET', '/rules/r/explain');
    assert.match(text, /{"op":"Note","of":"rule","guarantee":"exactly once"}/);
    // The first kill comes before there is any row in a checkpoint.
    for (let round = 0; round < rounds; round++) {
      if (round > 0) await nextCheckpoint(server);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 300));
      await server.stop('SIGKILL');
      server = await startServer({ data });
    }
    const expected = ['{"low":-1}', ...Array.from({ length: count / 5 }, (_, i) => `{"low":${i * 5}}`), ''].join('\n');
    await eventually('the last window', () => readFileSync(out, 'utf8').length >= expected.length, 60_000 + 5 * count);
    assert.is(readFileSync(out, 'utf8'), expected);
    await server.stop();
  },
);

test(
  'with qos 2 a file with columns has their names once and each row once, however often the server is ' + 'killed',
  async () => {
    const data = temporaryFolder();
    const count = 400 * rounds;
    writeFileSync(join(data, 'in'), Array.from({ length: count }, (_, id) => `{"id":${id}}\n`).join(''));
    const outs = ['single.csv', 'lists.csv'].map((name) => join(data, name));
    let server = await startServer({ data });
    await server.request('PUT', '/metadata/sources/file/confKeys/in', {
      path: data,
      fileType: 'lines',
      sendInterval: '2ms',
    });
    await made(server, '/streams', { sql: 'CREATE STREAM s () WITH (TYPE="file", DATASOURCE="in", CONF_KEY="in")' });
    const actions = outs.map((path, i) => ({
      file: { path, format: 'delimited', hasHeader: true, sendSingle: i === 0 },
    }));
    const options = { qos: 2, checkpointInterval: '60ms' };
    await made(server, '/rules', { id: 'r', sql: 'SELECT *, id * 2 AS twice FROM s', actions, options });
    // The first kills come while the files may still be empty.
    for (let round = 0; round < 2 * rounds; round++) {
      if (round > 1) await nextCheckpoint(server);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 150));
      await server.stop('SIGKILL');
      server = await startServer({ data });
    }
    const expected = `id,twice\n${Array.from({ length: count }, (_, id) => `${id},${id * 2}\n`).join('')}`;
    for (const out of outs) {
      await eventually('the last row', () => readFileSync(out, 'utf8').length >= expected.length, 60_000 + 5 * count);
      assert.is(readFileSync(out, 'utf8'), expected);
    }
    await server.stop();
  },
);

test('a checkpoint that is damaged is named, and the one before it is used', async () => {
  const data = temporaryFolder();
  const input = join(data, 'in');
  writeFileSync(input, Array.from({ length: 200 }, (_, id) => `{"id":${id}}\n`).join(''));
  let server = await startServer({ data });
  await server.request('PUT', '/metadata/sources/file/confKeys/in', {
    path: data,
    fileType: 'lines',
    sendInterval: '10ms',
  });
  await made(server, '/streams', { sql: 'CREATE STREAM s () WITH (TYPE="file", DATASOURCE="in", CONF_KEY="in")' });
  const sql = 'SELECT count(*) AS n, max(id) AS high FROM s GROUP BY COUNTWINDOW(200)';
  const out = join(data, 'out');
  const options = { qos: 1, checkpointInterval: '50ms' };
  await made(server, '/rules', { id: 'r', sql, actions: [{ file: { path: out } }], options });
  await nextCheckpoint(server);
  await nextCheckpoint(server);
  await server.stop('SIGKILL');
  const folder = join(data, 'checkpoints', 'r');
  const newest = readdirSync(folder)
    .filter((name) => name.endsWith('.checkpoint'))
    .sort()
    .at(-1)!;
  const bytes = readFileSync(join(folder, newest));
  bytes[bytes.length - 40]! ^= 1;
  writeFileSync(join(folder, newest), bytes);
  server = await startServer({ data });
  await eventually('the window', () => linesOf(out).length > 0);
  assert.equal(linesOf(out), [{ n: 200, high: 199 }]);
  const log = readFileSync(join(server.data, 'log', 'stream.log'), { encoding: 'utf8', flag: 'a+' }) + server.output();
  assert.match(log, new RegExp(`${newest}.*can't be used`));
  await server.stop();
});

test(
  'a rule goes on with its state after a stop, an update that leaves its plan alone and a restart; the answer says ' +
    'so',
  async () => {
    const data = temporaryFolder();
    writeFileSync(join(data, 'in'), '{"id":0}\n{"id":1}\n{"id":2}\n');
    let server = await startServer({ data });
    await server.request('PUT', '/metadata/sources/file/confKeys/in', {
      path: data,
      fileType: 'lines',
      interval: '1h',
    });
    await made(server, '/streams', { sql: 'CREATE STREAM s () WITH (TYPE="file", DATASOURCE="in", CONF_KEY="in")' });
    const out = join(data, 'out');
    const windowOf = (n: number) => `SELECT collect(id) AS ids FROM s GROUP BY COUNTWINDOW(${n})`;
    const ruleOf = (sql: string, more: object = {}) => ({
      id: 'r',
      sql,
      actions: [{ file: { path: out } }],
      options: { qos: 1, checkpointInterval: '1h', ...more },
    });
    await made(server, '/rules', ruleOf(windowOf(4)));
    const rowsRead = (count: number) =>
      eventually(`${count} rows`, async () => {
        const { json } = await server.request('GET', '/rules/r/status');
        return json.source_s_0_records_in_total === count;
      });
    await rowsRead(3);
    await server.request('POST', '/rules/r/stop');
    appendFileSync(join(data, 'in'), '{"id":3}\n{"id":4}\n');
    await server.request('POST', '/rules/r/start');
    await eventually('the first window', () => linesOf(out).length === 1);
    assert.equal(linesOf(out), [{ ids: [0, 1, 2, 3] }]);
    const kept = await server.request('PUT', '/rules/r', ruleOf(windowOf(4), { debug: true }));
    assert.match(kept.headers.get('warning')!, /the rule goes on with its state of/);
    await server.stop();
    appendFileSync(join(data, 'in'), '{"id":5}\n{"id":6}\n{"id":7}\n{"id":8}\n');
    server = await startServer({ data });
    await eventually('the second window', () => linesOf(out).length === 2);
    assert.equal(linesOf(out)[1], { ids: [4, 5, 6, 7] });
    const changed = await server.request('PUT', '/rules/r', ruleOf(windowOf(2)));
    assert.match(
      changed.headers.get('warning')!,
      /goes on with a part of its state.*lost: COUNTWINDOW\(4\).*begins empty: COUNTWINDOW\(2\)/,
    );
    const reset = { type: 1, params: { streamName: 's', input: {} } };
    assert.is((await server.request('PUT', '/rules/r/reset_state', reset)).status, 200);
    await eventually('all rows, again', () => linesOf(out).length === 6);
    assert.equal(linesOf(out).slice(2), [{ ids: [0, 1] }, { ids: [2, 3] }, { ids: [4, 5] }, { ids: [6, 7] }]);
    await server.stop();
    // As a kill leaves it while a rule is deleted.
    mkdirSync(join(data, 'checkpoints', 'gone'));
    server = await startServer({ data });
    await eventually('a tidy folder', () => readdirSync(join(data, 'checkpoints')).join() === 'r');
    await server.request('DELETE', '/rules/r');
    assert.not.ok(existsSync(join(data, 'checkpoints', 'r')));
    await server.stop();
  },
);

if (!hasMosquitto) announceSkip('windows over a broker', 'mosquitto is not installed');
const withBroker = hasMosquitto ? test : test.skip;

withBroker(
  'kill -9 loses no message of a broker in windows, whose window of 20 messages holds none of them up',
  async () => {
    const broker = await openMosquitto();
    const client = await connectClient(broker.url);
    const data = temporaryFolder();
    let server = await startServer({ data });
    const conf = { server: broker.url, qos: 1, clientid: 'checkpoints-test', enableClientSession: true };
    await server.request('PUT', '/metadata/sources/mqtt/confKeys/in', conf);
    await made(server, '/streams', {
      sql: 'CREATE STREAM s () WITH (TYPE="mqtt", DATASOURCE="t", CONF_KEY="in", SHARED="true")',
    });
    // Only early checkpoints can let the broker go on.
    const options = { qos: 1, checkpointInterval: '1h' };
    const sql = 'SELECT collect(id) AS ids FROM s GROUP BY COUNTWINDOW(30)';
    const ids = ['a', 'b'];
    for (const id of ids) {
      await made(server, '/rules', { id, sql, actions: [{ file: { path: join(data, `${id}.out`) } }], options });
    }
    const count = 150 * rounds;
    const isDone = (id: string) => idsIn(join(data, `${id}.out`)).size >= count;
    let sent = 0;
    for (let round = 0; round < rounds; round++) {
      for (const end = sent + 150; sent < end; sent++) await client.publishAsync('t', `{"id":${sent}}`, { qos: 1 });
      await server.stop('SIGKILL');
      server = await startServer({ data });
    }
    // What fills the last window.
    for (let i = 0; i < 45; i++) await client.publishAsync('t', `{"id":${sent + i}}`, { qos: 1 });
    await eventually('all messages', () => ids.every(isDone), 60_000).catch(() => {});
    for (const id of ids) {
      const seen = idsIn(join(data, `${id}.out`));
      const missing = Array.from({ length: count }, (_, i) => i).filter((one) => !seen.has(one));
      assert.equal(missing, [], `rule ${id}`);
    }
    await server.stop();
    await client.endAsync(true);
    await broker.close();
  },
);

test.run();
