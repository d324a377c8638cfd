/** Guests that do what they should until the millionth row: that one costs what it would have cost as the first. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer } from '../../support/harness.js';
import { Neighbour } from '../../support/rest/neighbour.js';

const good = 1_000_000;

// Written before there is a server that could wait for a request.
const rows = (v: readonly number[]) => v.map((one) => `{"v":${one}}\n`).join('');
const input = `${'{"v":0}\n'.repeat(good - 1)}${rows([0, 0, 1, 0])}`;

const server = await startServer();
test.after(async () => {
  await server.stop();
});
const neighbour = await Neighbour.start(server);

test('rows before and behind the one at which a guest turns bad are as they were', async () => {
  const bytecode = readFileSync(new URL('../../guests/turned.wasm', import.meta.url)).toString('base64');
  const installed = await server.request('POST', '/plugins/wasm', { name: 'turned', bytecode });
  assert.is(installed.status, 201, installed.text);
  const folder = join(server.data, 'rows');
  mkdirSync(folder, { recursive: true });
  const [source, sink] = [join(folder, 'million.in'), join(folder, 'million.out')];
  writeFileSync(source, input);
  await server.request('PUT', '/metadata/sources/file/confKeys/lines', { fileType: 'lines' });
  const sql =
    `CREATE STREAM million (v BIGINT) WITH (TYPE="file", DATASOURCE="${source}", ` + 'FORMAT="json", CONF_KEY="lines")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  const made = await server.request('POST', '/rules', {
    id: 'million',
    sql: 'SELECT r FROM (SELECT turned(v) AS r FROM million) AS d WHERE r <> 0',
    actions: [{ file: { path: sink, fileType: 'lines', sendSingle: true } }],
    options: { sendError: true },
  });
  assert.is(made.status, 201, made.text);
  const status = async () => (await server.request('GET', '/rules/million/status')).json;
  await eventually('the end of the rule', async () => /^stopped/i.test((await status()).status), 90_000);
  // The one behind finds a guest that has begun anew.
  assert.equal(readFileSync(sink, 'utf8').trimEnd().split('\n'), [
    '{"r":1}',
    '{"r":2}',
    'function turned of turned: the call took more fuel than it may',
  ]);
  assert.is((await status()).source_million_0_records_in_total, good + 3);
  await neighbour.goesOn();
});

test.run();
