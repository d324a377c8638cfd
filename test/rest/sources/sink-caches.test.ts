/**
 * Properties of caches as clients and operators give them: defaults, refusals, warnings, and the files of rules that
 * change or go.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';

let server: TestServer;
/** Nobody answers there. */
const away = { server: 'tcp://127.0.0.1:1', topic: 'out' };

test.before(async () => {
  const data = temporaryFolder();
  const orphan = join(data, 'sink-cache', 'nobody', '0-mqtt-messages', 'main');
  mkdirSync(orphan, { recursive: true });
  writeFileSync(join(orphan, '00000000000000.pages'), 'x');
  server = await startServer({ data, env: { KUIPER__SINK__ENABLECACHE: 'true', KUIPER__SINK__BUFFERPAGESIZE: '8' } });
  await server.request('PUT', '/metadata/sources/simulator/confKeys/fast', { data: [{ a: 1 }], interval: 5 });
  const sql = 'CREATE STREAM s () WITH (TYPE="simulator", CONF_KEY="fast")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
});
test.after(async () => {
  await server.stop();
});

async function create(id: string, action: Record<string, unknown>): Promise<{ status: number; text: string }> {
  return server.request('POST', '/rules', { id, sql: 'SELECT a FROM s', actions: [action] });
}

function figure(id: string, name: string, fits: (value: number) => boolean): Promise<number> {
  return eventually(`${name} of ${id}`, async () => {
    const value = Number((await server.request('GET', `/rules/${id}/status`)).json[name]);
    return fits(value) ? value : undefined;
  });
}

const cacheOf = (id: string) => join(server.data, 'sink-cache', id);
const log = () => readFileSync(join(server.data, 'log', 'stream.log'), 'utf8');

test('what rules that are gone have left is removed at the start', async () => {
  await eventually('the removal', () => !existsSync(cacheOf('nobody')));
  await eventually('the line', () =>
    /level=warn msg="messages in \S+nobody wait for sinks of a rule that is deleted: they are removed"/.test(log()),
  );
});

test('the configuration has the defaults, an action may have others', async () => {
  assert.is((await create('default', { mqtt: away })).status, 201);
  assert.is((await create('without', { mqtt: { ...away, enableCache: false } })).status, 201);
  await figure('default', 'sink_mqtt_0_0_cache_disk_length', (value) => value > 20);
  // Pages of eight messages, whatever came together.
  assert.ok((await figure('default', 'sink_mqtt_0_0_cache_flush_total', (value) => value > 0)) > 0);
  const { json } = await server.request('GET', '/rules/without/status');
  assert.is(json.sink_mqtt_0_0_cache_length, undefined);
  assert.not(existsSync(cacheOf('without')));
  assert.is((await server.request('DELETE', '/rules/without')).status, 200);
});

test('an action with another sink leaves what waits for the former one where it is, and the log says so', async () => {
  assert.is((await create('changing', { mqtt: away })).status, 201);
  await figure('changing', 'sink_mqtt_0_0_cache_disk_length', (value) => value > 0);
  const change = { id: 'changing', sql: 'SELECT a FROM s', actions: [{ nop: {} }] };
  assert.is((await server.request('PUT', '/rules/changing', change)).status, 200);
  await eventually('the line', () =>
    /level=warn msg="messages in \S+0-mqtt-messages wait for a sink that the rule does not have: .*rule=changing/.test(
      log(),
    ),
  );
  assert.ok(existsSync(join(cacheOf('changing'), '0-mqtt-messages')));
  assert.is((await server.request('DELETE', '/rules/changing')).status, 200);
  assert.not(existsSync(cacheOf('changing')));
});

test('names of rules that are no names of folders have folders all the same', async () => {
  const id = '../a b/..%2f';
  const { status, text } = await create(id, { mqtt: away });
  if (status !== 201) {
    assert.match(text, /id/i);
    return;
  }
  await eventually('its folder', () => existsSync(cacheOf('%2E%2E%2Fa%20b%2F%2E%2E%252f')));
  await server.request('DELETE', `/rules/${encodeURIComponent(id)}`);
});

test('no rule writes into the folders of caches, checkpoints, their marks and input logs', async () => {
  for (const folder of ['sink-cache', 'checkpoints', 'checkpoint-marks', 'input-logs']) {
    const { status, text } = await create('writer', { file: { path: `${folder}/x` } });
    assert.is(status, 400, folder);
    assert.match(text, /path: access is denied/);
  }
});

const refusals: [props: Record<string, unknown>, reason: RegExp][] = [
  [{ mqtt: { ...away, bufferPageSize: 0 } }, /bufferPageSize must be at least 1/],
  [{ mqtt: { ...away, resendPriority: 2 } }, /resendPriority must be at most 1/],
  [{ mqtt: { ...away, cacheFullPolicy: 'drop' } }, /cacheFullPolicy must be one of block, dropOldest/],
  [{ mqtt: { ...away, cacheSync: 'often' } }, /cacheSync must be one of always, never/],
  [
    { mqtt: { ...away, enableCache: true, resendAlterQueue: true, resendDestination: 'a/#' } },
    /resendDestination must not have wildcards/,
  ],
  [
    { file: { path: 'f', enableCache: true, resendAlterQueue: true, resendDestination: 'g' } },
    /resendDestination: sinks of type file have only one destination/,
  ],
];
for (const [action, reason] of refusals) {
  test(`${JSON.stringify(action)} is refused with the name of the property`, async () => {
    const { status, text } = await create('refused', action);
    assert.is(status, 400, text);
    assert.match(text, reason);
  });
}

test('properties that change nothing are named in the answer', async () => {
  const action = { mqtt: { ...away, enableCache: false, maxDiskCache: 100, resendInterval: '1s' } };
  const { text } = await create('idle', action);
  assert.match(text, /actions\[0\]\.mqtt\.maxDiskCache has no effect without enableCache/);
  assert.match(text, /actions\[0\]\.mqtt\.resendInterval has no effect without enableCache/);
  const other = { mqtt: { ...away, resendPriority: 1, resendAlterQueue: false } };
  assert.match((await create('idle2', other)).text, /resendPriority has no effect without resendAlterQueue/);
  const marked = { mqtt: { ...away, resendAlterQueue: true, resendIndicatorField: 'late', dataTemplate: 'x' } };
  assert.match(
    (await create('idle3', marked)).text,
    /resendIndicatorField has no effect but on messages in plain JSON/,
  );
  for (const id of ['idle', 'idle2', 'idle3']) await server.request('DELETE', `/rules/${id}`);
});

test('forms have the properties', async () => {
  const { json } = await server.request('GET', '/metadata/sinks/mqtt');
  const names = JSON.stringify(json);
  for (const name of ['enableCache', 'maxDiskCache', 'resendDestination', 'cacheSync'])
    assert.ok(names.includes(name), name);
});

test.run();
