/** What happens when a portable plugin is installed: scripts, environments, programs that never come up. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, temporaryFolder } from '../../support/harness.js';
import { freshName, pythonPlugin } from '../../support/plugins/portable.js';
import { RowsThrough } from '../../support/rest/rows-through.js';

const env = { KUIPER__PORTABLE__PYTHONBIN: '/bin/sh', KUIPER__PORTABLE__INITTIMEOUT: '300ms' };
const server = await startServer({ env });
const open = await startServer({ env: { ...env, KUIPER__BASIC__ALLOWINSTALLSCRIPTS: 'true' } });
test.after(async () => {
  await Promise.all([server.stop(), open.stop()]);
});

/** Programs of the shell do here, for they never speak. */
const plugin = (name: string, program: string, more: object = {}) =>
  pythonPlugin(name, { program, functions: [`f_${name}`], ...more });
const install = async (name: string, file: string, at = server) =>
  at.request('POST', '/plugins/portables', { name, file, shellParas: ['one', 'two'] });
const status = async (name: string) => (await server.request('GET', `/plugins/portables/${name}/status`)).json;

// sh takes the -u of Python as well: a variable that is not set is an error.
test('a plugin that ends at once is installed, its status and its rules say why it does not run', async () => {
  const name = freshName('ends');
  const made = await install(name, plugin(name, 'echo no such module >&2; exit 4'));
  assert.is(made.status, 201, made.text);
  const { status: now, errMsg, refCount } = await status(name);
  assert.equal([now, refCount], ['error', {}]);
  assert.match(errMsg, /it has ended with status 4: no such module/);
  await server.request('POST', '/streams', { sql: 'CREATE STREAM e () WITH (TYPE="simulator", FORMAT="json")' });
  const rule = { id: name, sql: `SELECT f_${name}(1) FROM e`, actions: [{ nop: {} }] };
  assert.is((await server.request('POST', '/rules', rule)).status, 201);
  await eventually('the reason', async () => {
    const { text } = await server.request('GET', `/rules/${name}/status`);
    return text.includes('no such module');
  });
});

test('a plugin that ends again and again is started after longer and longer pauses, and says when', async () => {
  const name = freshName('again');
  assert.is((await install(name, plugin(name, 'exit 3'))).status, 201);
  await server.request('POST', '/streams', { sql: 'CREATE STREAM f () WITH (TYPE="simulator", FORMAT="json")' });
  const options = { restartStrategy: { attempts: 1000, delay: '100ms', multiplier: 1 } };
  const rule = { id: name, sql: `SELECT f_${name}(1) FROM f`, actions: [{ nop: {} }], options };
  assert.is((await server.request('POST', '/rules', rule)).status, 201);
  // Who needs it waits for the next start only while that is near.
  await eventually('a long pause', async () => {
    const { text } = await server.request('GET', `/rules/${name}/status`);
    return /is down \(it has ended with status 3\); its next start is in [3-9] s/.test(text);
  });
  const { restarts } = await status(name);
  assert.ok(restarts >= 4, `${restarts} restarts`);
  assert.is((await server.request('DELETE', `/rules/${name}`)).status, 200);
});

test('aggregates of a description are functions of it', async () => {
  const name = freshName('sums');
  const answer = await install(name, plugin(name, 'exit 3', { aggregates: ['other'] }));
  assert.is(answer.status, 400);
  assert.match(answer.json.message, /aggregates has other, which is none of its functions/);
});

test('a plugin that does not connect in time is ended', async () => {
  const name = freshName('mute');
  const folder = temporaryFolder();
  assert.is((await install(name, plugin(name, `echo $$ > ${folder}/pid; sleep 1000`))).status, 201);
  assert.match((await status(name)).errMsg, /it has not connected within 300 ms/);
  const pid = readFileSync(join(folder, 'pid'), 'utf8').trim();
  await eventually('its end', () => !existsSync(`/proc/${pid}`));
});

test('a socket that another program has is not taken from it', async () => {
  const name = freshName('taken');
  const path = `/tmp/plugin_${name}.ipc`;
  const other = createServer().listen(path);
  await new Promise((resolve) => other.once('listening', resolve));
  try {
    assert.is((await install(name, plugin(name, 'sleep 100'))).status, 201);
    assert.match((await status(name)).errMsg, /is in use: another process listens there/);
  } finally {
    other.close();
  }
});

test('an archive with a script is refused unless scripts are allowed, and the refusal says how', async () => {
  const name = freshName('script');
  const script = { name: 'install.sh', content: 'echo "$1 $2 $KUIPER__PORTABLE__PYTHONBIN." > made.txt' };
  const file = pythonPlugin(name, { program: 'exit 0', sinks: [`s_${name}`], files: [script] });
  const refused = await install(name, file);
  assert.is(refused.status, 400);
  assert.match(refused.json.message, /install\.sh.*set basic\.allowInstallScripts to true/);
  const made = await install(name, file, open);
  assert.is(made.status, 201, made.text);
  const folder = join(open.data, 'plugins/portable');
  const [own = ''] = readdirSync(folder).filter((one) => one.startsWith(name));
  assert.is(readFileSync(join(folder, own, 'made.txt'), 'utf8'), 'one two .\n');
});

test('a script that fails fails the installation, and leaves nothing', async () => {
  const name = freshName('broken');
  const script = { name: 'install.sh', content: 'echo no compiler >&2; exit 3' };
  const answer = await install(name, pythonPlugin(name, { program: '', sinks: [`s_${name}`], files: [script] }), open);
  assert.is(answer.status, 400);
  assert.match(answer.json.message, /install\.sh: it has ended with status 3: no compiler/);
  assert.is((await open.request('GET', `/plugins/portables/${name}`)).status, 404);
});

test('environments that can not be are refused', async () => {
  const name = freshName('env');
  const wrong: [object, RegExp][] = [
    [{ virtualEnvType: 'venv', env: 'x' }, /virtualEnvType must be conda, not venv/],
    [{ virtualEnvType: 'conda' }, /env is required/],
    [{ env: 'x' }, /env needs virtualEnvType/],
  ];
  for (const [more, reason] of wrong) {
    const answer = await install(name, pythonPlugin(name, { program: '', sinks: ['s'], ...more }));
    assert.is(answer.status, 400);
    assert.match(answer.json.message, reason);
  }
});

test('there are no prebuilt plugins, and schemas of Avro are a list', async () => {
  assert.equal((await server.request('GET', '/plugins/portables/prebuild')).json, []);
  assert.equal((await server.request('GET', '/schemas/avro')).json, []);
});

test('names of connectors of the engine stay those', async () => {
  const name = freshName('hides');
  assert.is((await install(name, pythonPlugin(name, { program: '', sinks: ['file'] }))).status, 201);
  assert.equal(await new RowsThrough(server).results('SELECT a FROM s', [{ a: 1 }]), [{ a: 1 }]);
});

test.run();
