/** A sink with transactions: what others see of a rule with qos 2 is what its checkpoints have, over kill -9. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { committedRows } from '../../../bench/chaos/ledger.js';
import { eventually, freePort, haumea, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';

const folder = temporaryFolder();
const data = join(folder, 'data');
const book = join(folder, 'ledger');
const input = join(folder, 'in');
const env = { HAUMEA_TRIAL_CONNECTORS: '1' };
let port = 0;
let server: TestServer;
let kill = () => {};
process.on('exit', () => kill());

function startLedger(): void {
  const child = spawn(process.execPath, [...haumea, 'bench', '--role', 'ledger', book, String(port)], {
    stdio: 'inherit',
  });
  kill = () => child.kill('SIGKILL');
}

const rows = () => committedRows(book);
const row = (id: number) => `{"id":${id}}`;
const figure = (name: string, fits: (value: number) => boolean) =>
  eventually(name, async () => {
    const { json } = await server.request('GET', '/rules/r/status');
    return fits(json[name]) ? true : undefined;
  });
const restart = async () => {
  await server.stop('SIGKILL');
  server = await startServer({ data, env });
};

test.before(async () => {
  port = await freePort();
  startLedger();
  server = await startServer({ data, env });
});
test.after(async () => {
  await server.stop();
  kill();
});

test('rows are seen when their checkpoint counts, all at once, and never twice', async () => {
  writeFileSync(input, `${row(0)}\n${row(1)}\n`);
  const conf = { path: folder, fileType: 'lines', interval: '1h' };
  await server.request('PUT', '/metadata/sources/file/confKeys/in', conf);
  const sql = 'CREATE STREAM s () WITH (TYPE="file", DATASOURCE="in", CONF_KEY="in")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  const made = await server.request('POST', '/rules', {
    id: 'r',
    sql: 'SELECT id FROM s',
    actions: [{ ledger: { port, sendSingle: true } }],
    options: { qos: 2, checkpointInterval: '1h' },
  });
  assert.is(made.status, 201, made.text);
  assert.match((await server.request('GET', '/rules/r/explain')).text, /"guarantee":"exactly once"}/);
  // The other side has them, and nobody else.
  await figure('sink_ledger_0_0_records_out_total', (value) => value === 2);
  assert.equal(rows(), []);
  await restart();
  await figure('sink_ledger_0_0_records_out_total', (value) => value === 2);
  assert.equal(rows(), []);
  // An orderly end takes a checkpoint.
  await server.request('POST', '/rules/r/stop');
  await eventually('the rows', () => rows().length > 0);
  assert.equal(rows(), [row(0), row(1)]);
});

test('the ledger may be killed in the middle of a transaction', async () => {
  appendFileSync(input, `${row(2)}\n`);
  await server.request('POST', '/rules/r/start');
  await figure('sink_ledger_0_0_records_out_total', (value) => value === 1);
  kill();
  await figure('sink_ledger_0_0_connection_status', (value) => value !== 1);
  startLedger();
  await figure('sink_ledger_0_0_connection_status', (value) => value === 1);
  await server.request('POST', '/rules/r/stop');
  await eventually('the row', () => rows().length > 2);
  assert.equal(rows(), [row(0), row(1), row(2)]);
});

test('a run of the engine that was killed is not heard any more, however late what it sent is read', async () => {
  const socket = connect(port, '127.0.0.1');
  socket.write(`${JSON.stringify({ do: 'open', sink: 'r/0', session: '0', recover: 0 })}\n`);
  const [answer] = await once(socket, 'data');
  assert.match(String(answer), /a later run of the sink is there/);
  socket.destroy();
});

test('users are not offered the ledger', async () => {
  const plain = await startServer();
  const { status, text } = await plain.request('POST', '/rules', {
    id: 'r',
    sql: 'SELECT 1',
    actions: [{ ledger: { port: 1 } }],
  });
  assert.ok(status >= 400);
  assert.not.match((await plain.request('GET', '/metadata/sinks')).text, /ledger/);
  assert.ok(text.length > 0);
  await plain.stop();
});

test.run();
