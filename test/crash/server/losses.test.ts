/**
 * A flipped byte among the definitions: whose it was is told by name, everywhere an operator looks, until that is
 * acknowledged.
 */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, haumea, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';

const data = temporaryFolder();
let server: TestServer;

test.after(() => server.stop('SIGKILL').then(() => {}));

const get = async (path: string) => (await server.request('GET', path)).json;

async function post(path: string, body: object): Promise<void> {
  const answer = await server.request('POST', path, body);
  assert.is(answer.status, 201, answer.text);
}

/** Runs the command line against the server; returns what it printed and its exit code. */
async function cli(...args: string[]): Promise<[string, number]> {
  const run = promisify(execFile)(process.execPath, [...haumea, '--url', server.base, ...args]);
  return run.then(
    ({ stdout }) => [stdout, 0],
    (error: { stdout: string; code: number }) => [error.stdout, error.code],
  );
}

const rule = (id: string) => ({
  id,
  sql: 'SELECT count(*) AS n FROM s GROUP BY COUNTWINDOW(1000)',
  actions: [{ nop: {} }],
  options: { qos: 1, checkpointInterval: '100ms' },
});

test('a rule that a damaged journal has lost', async () => {
  server = await startServer({ data });
  writeFileSync(join(data, 'in'), '{"id":0}\n');
  const conf = { path: data, fileType: 'lines', interval: '1h' };
  await server.request('PUT', '/metadata/sources/file/confKeys/in', conf);
  await post('/streams', { sql: 'CREATE STREAM s () WITH (TYPE="file", DATASOURCE="in", CONF_KEY="in")' });
  for (const id of ['hot', 'cold']) await post('/rules', rule(id));
  const state = join(data, 'checkpoints', 'hot');
  await eventually(
    'a checkpoint',
    () => existsSync(state) && readdirSync(state).some((name) => name.endsWith('.checkpoint')),
  );
  await server.stop('SIGKILL');
  const name = readdirSync(data).find((one) => /\.changes-\d+$/.test(one))!;
  const bytes = readFileSync(join(data, name));
  bytes[bytes.indexOf('COUNTWINDOW')]! ^= 4;
  writeFileSync(join(data, name), bytes);

  server = await startServer({ data });
  assert.match(server.output(), /rule hot is lost: the journal/);
  const text = /^rule hot is lost: the journal \S+ is damaged; what was damaged is kept as (\S+)$/;
  const [loss, ...others] = await get('/losses');
  assert.equal([loss.resource, loss.name, loss.what, others], ['rule', 'hot', 'definition', []]);
  const [, kept = ''] = text.exec(loss.text) ?? [];
  assert.equal(readFileSync(kept), bytes);
  assert.is(kept, loss.file);
  assert.is((await get('/')).losses, 1);
  await eventually('the other rule runs', async () => (await get('/rules'))[0].status === 'Running');
  const rules = await get('/rules?trouble=true');
  assert.equal(
    rules.map(({ id, status }: { id: string; status: string }) => [id, status]),
    [
      ['cold', 'Running'],
      ['hot', 'Lost'],
    ],
  );
  assert.match(rules[1].trouble[0], text);
  assert.equal(
    (await get('/rules')).map(({ id }: { id: string }) => id),
    ['cold'],
  );
  for (const path of ['/rules/hot', '/rules/hot/status']) {
    const answer = await server.request('GET', path);
    assert.is(answer.status, 404);
    assert.match(answer.text, 'rule hot is not found: rule hot is lost: the journal');
  }
  assert.match((await server.request('GET', '/metrics')).text, /^kuiper_losses 1$/m);
  const [shown, code] = await cli('show', 'losses');
  assert.match(shown, /^1 +\S+Z +rule hot is lost/m);
  assert.is(code, 1);
  // It is told again after the next start, and what the rule kept is still there for who makes it anew.
  await server.stop();
  server = await startServer({ data });
  assert.equal(await get('/losses'), [loss]);
  await eventually('all rules run', async () => (await get('/rules'))[0].status === 'Running');
  assert.ok(existsSync(state));
  await post('/rules', rule('hot'));
  assert.match((await get('/rules/hot/status')).stateAtStart, /^goes on with its state of /);
  assert.match((await get('/rules/hot/status')).losses, text);
});

test('a loss that is acknowledged is told no more', async () => {
  assert.equal(await cli('drop', 'loss', '1'), ['Loss 1 is acknowledged.\n', 0]);
  assert.equal(await get('/losses'), []);
  assert.is((await get('/')).losses, undefined);
  assert.is((await get('/rules/hot/status')).losses, undefined);
  assert.equal(await cli('show', 'losses'), ['Nothing is lost\n', 0]);
  await server.stop('SIGKILL');
  server = await startServer({ data });
  assert.equal(await get('/losses'), []);
});

test.run();
