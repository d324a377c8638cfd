import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { nativePlugin, portablePlugin, wasmModule } from '../../support/rest/archives.js';
import { type ControlPlane, startControlPlane } from '../../support/rest/control-plane.js';
import { fileUri, type Refusal, wrongAnswer } from '../../support/rest/given-files.js';
import { writeZip } from '../../support/rest/zip-writer.js';

let plane: ControlPlane;
test.before.each(async () => {
  plane = await startControlPlane();
});
test.after.each(() => plane.close());

for (const kind of ['sources', 'sinks', 'functions']) {
  test(`keeps native ${kind} plugins as records`, async () => {
    const path = `/plugins/${kind}`;
    assert.equal((await plane.request('GET', `${path}/prebuild`)).json, {});
    const created = await plane.request('POST', path, { name: 'rnd', file: nativePlugin('rnd', '@v2') });
    assert.equal([created.status, created.text], [201, `${kind} plugin rnd is created`]);
    assert.equal((await plane.request('GET', path)).json, ['rnd']);
    assert.equal((await plane.request('GET', `${path}/rnd`)).json, { name: 'rnd', version: 'v2' });
    const updated = await plane.request('PUT', `${path}/rnd`, { name: 'rnd', file: nativePlugin('rnd', '@v3') });
    assert.match(updated.text, /^plugin rnd is updated and eKuiper must restart/);
    assert.is((await plane.request('GET', `${path}/rnd`)).json.version, 'v3');
    const deleted = await plane.request('DELETE', `${path}/rnd`);
    assert.is(deleted.text, `${kind} plugin rnd is deleted and eKuiper must restart for the change to take effect.`);
    assert.equal((await plane.request('GET', path)).json, []);
    assert.is(plane.stopRequests, 0);
  });
}

test('stops the server after a deletion that asks for it', async () => {
  await plane.request('POST', '/plugins/sinks', { name: 'rnd', file: nativePlugin('rnd') });
  assert.match((await plane.request('DELETE', '/plugins/sinks/rnd?stop=1')).text, /will be stopped/);
  assert.is(plane.stopRequests, 1);
  await plane.request('DELETE', '/plugins/sinks/none?stop=1');
  assert.is(plane.stopRequests, 1);
});

test('names the functions of a native plugin', async () => {
  await plane.request('POST', '/plugins/functions', { name: 'geo', file: nativePlugin('geo') });
  assert.equal((await plane.request('GET', '/plugins/udfs')).json, ['geo']);
  const answer = await plane.request('POST', '/plugins/functions/geo/register', { functions: ['near', 'far'] });
  assert.is(answer.text, 'function plugin geo function list is registered');
  assert.equal((await plane.request('GET', '/plugins/udfs')).json, ['far', 'near']);
  assert.equal((await plane.request('GET', '/plugins/udfs/near')).json, { name: 'near', plugin: 'geo' });
});

test('installs, describes, replaces and deletes a portable plugin', async () => {
  const path = '/plugins/portables';
  const created = await plane.request('POST', path, {
    name: 'py',
    file: portablePlugin('py', { functions: ['pyEcho'] }),
  });
  assert.equal([created.status, created.text], [201, 'portable plugin py is created']);
  assert.equal((await plane.request('GET', path)).json, ['py']);
  const described = (await plane.request('GET', `${path}/py`)).json;
  assert.equal([described.version, described.language, described.functions], ['v1', 'python', ['pyEcho']]);
  const { errMsg, ...status } = (await plane.request('GET', `${path}/py/status`)).json;
  assert.equal(status, { refCount: {}, status: 'stop', restarts: 0 });
  assert.is(errMsg, '');
  assert.equal((await plane.request('GET', '/plugins/udfs/pyEcho')).json, { name: 'pyEcho', plugin: 'py' });
  const updated = await plane.request('PUT', `${path}/py`, {
    file: portablePlugin('py', { version: 'v2', functions: ['pyEcho'] }),
  });
  assert.is(updated.text, 'portable plugin py is updated');
  const folders = readdirSync(join(plane.data, 'plugins/portable'));
  assert.is(folders.length, 1);
  assert.ok(existsSync(join(plane.data, 'plugins/portable', folders[0] as string, 'run.py')));
  await plane.request('DELETE', `${path}/py`);
  assert.equal(readdirSync(join(plane.data, 'plugins/portable')), []);
  assert.equal((await plane.request('GET', '/plugins/udfs')).json, []);
});

test('installs wasm modules from bytes and from files, and keeps them', async () => {
  const path = '/plugins/wasm';
  const created = await plane.request('POST', path, { name: 'one', bytecode: wasmModule('plus', '_start') });
  assert.equal([created.status, created.json], [201, { name: 'one', functions: ['plus'] }]);
  const file = fileUri('two.wasm', Buffer.from(wasmModule('more', 'less'), 'base64'));
  assert.equal((await plane.request('POST', path, { name: 'two', file })).json.functions, ['more', 'less']);
  const { data } = plane;
  await plane.close();
  plane = await startControlPlane(data);
  assert.equal((await plane.request('GET', path)).json, [
    { name: 'one', functions: ['plus'] },
    { name: 'two', functions: ['more', 'less'] },
  ]);
  assert.is((await plane.request('DELETE', `${path}/one`)).text, 'wasm plugin one is deleted');
  assert.is(readdirSync(join(data, 'plugins/wasm')).length, 1);
});

test('names of functions are unique over plugins of all kinds', async () => {
  await plane.request('POST', '/plugins/wasm', { name: 'one', bytecode: wasmModule('plus') });
  const second = await plane.request('POST', '/plugins/wasm', { name: 'two', bytecode: wasmModule('Plus') });
  assert.match(second.json.message, /Plus is taken by wasm plugin one/);
  const builtIn = await plane.request('POST', '/plugins/wasm', { name: 'two', bytecode: wasmModule('upper') });
  assert.match(builtIn.json.message, /upper is taken by a built-in function/);
  const file = portablePlugin('py', { functions: ['plus'] });
  assert.match((await plane.request('POST', '/plugins/portables', { name: 'py', file })).json.message, /plus is taken/);
  assert.equal(readdirSync(join(plane.data, 'plugins/portable')), [], 'nothing stays of what is refused');
});

test('of two creations at once one wins', async () => {
  const create = (name: string) => plane.request('POST', '/plugins/wasm', { name, bytecode: wasmModule('plus') });
  const answers = await Promise.all([create('a'), create('b'), create('a')]);
  assert.equal(answers.map(({ status }) => status).sort(), [201, 400, 400]);
  assert.is((await plane.request('GET', '/plugins/wasm')).json.length, 1);
});

const portables = '/plugins/portables';
const wasm = '/plugins/wasm';
const refusals: Refusal[] = [
  [
    'POST',
    '/plugins/sources',
    { name: 'x', file: fileUri('x.zip', writeZip([{ name: 'a' }])) },
    400,
    1000,
    /no file x\.so/,
  ],
  ['POST', '/plugins/sinks', { name: 'x', file: fileUri('x.zip', writeZip([{ name: 'x.so' }])) }, 400, 1000, /x\.yaml/],
  ['POST', '/plugins/sinks', { name: 'x' }, 400, 1000, /file is required/],
  ['POST', '/plugins/sinks', { name: '', file: 'file:///x' }, 400, 1000, /empty/],
  ['POST', '/plugins/sinks', { name: 'x', file: 'file:///x', shellParas: 'a' }, 400, 1000, /shellParas must be a list/],
  ['POST', '/plugins/functions', '{bad', 400, 1000, /no JSON/],
  ['POST', '/plugins/functions/none/register', { functions: ['a'] }, 404, 1002, /none/],
  ['GET', '/plugins/sources/none', undefined, 404, 1002, /none/],
  ['PUT', '/plugins/sources/none', { name: 'none', file: 'file:///x' }, 404, 1002, /none/],
  ['DELETE', '/plugins/sources/none', undefined, 404, 1002, /none/],
  ['GET', '/plugins/udfs/abs', undefined, 404, 1002, /abs/],
  ['POST', portables, { name: 'x', file: portablePlugin('y') }, 400, 1000, /no file x\.json/],
  [
    'POST',
    portables,
    { name: 'x', file: portablePlugin('x', { language: 'perl' }) },
    400,
    1000,
    /language must be one of/,
  ],
  ['POST', portables, { name: 'x', file: portablePlugin('x', { sinks: [] }) }, 400, 1000, /at least one source/],
  [
    'POST',
    portables,
    { name: 'x', file: portablePlugin('x', { functions: 'a' }) },
    400,
    1000,
    /functions must be a list/,
  ],
  [
    'POST',
    portables,
    { name: 'x', file: portablePlugin('x', {}, 'other.py') },
    400,
    1000,
    /no file run\.py, the executable/,
  ],
  ['POST', portables, { name: 'x', file: fileUri('x', 'text') }, 400, 1000, /invalid zip archive/],
  ['PUT', `${portables}/x`, { name: 'y', file: 'file:///x' }, 400, 1000, /path says x/],
  ['GET', `${portables}/none`, undefined, 404, 1002, /none/],
  ['GET', `${portables}/none/status`, undefined, 404, 1002, /none/],
  ['DELETE', `${portables}/none`, undefined, 404, 1002, /none/],
  ['POST', wasm, { name: 'x', bytecode: 'AAAA' }, 400, 1000, /invalid wasm module/],
  ['POST', wasm, { name: 'x', bytecode: 'no base64!' }, 400, 1000, /must be base64/],
  ['POST', wasm, { name: 'x', bytecode: wasmModule() }, 400, 1000, /exports no functions/],
  ['POST', wasm, { name: 'x', bytecode: wasmModule('a'), file: 'file:///x' }, 400, 1000, /both given/],
  ['POST', wasm, { name: 'x' }, 400, 1000, /file or bytecode is required/],
  ['POST', wasm, { name: 'x', file: 'file:///none.wasm' }, 400, 1000, /none\.wasm/],
  ['POST', wasm, { bytecode: wasmModule('a') }, 400, 1000, /empty/],
  ['DELETE', `${wasm}/none`, undefined, 404, 1002, /none/],
];

test('refuses what can not be installed and keeps nothing of it', async () => {
  for (const refusal of refusals) assert.is(await wrongAnswer(plane, refusal), undefined, String(refusal[5]));
  for (const kind of ['sources', 'sinks', 'functions', 'portables', 'wasm', 'udfs']) {
    assert.equal((await plane.request('GET', `/plugins/${kind}`)).json, []);
  }
  for (const method of ['GET', 'POST']) assert.is((await plane.request(method, '/plugins/nokind')).status, 404);
});

test.run();
