/**
 * WebAssembly plugins as clients bring them: archives, addresses, files of the data folder, limits; what is told of
 * them.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { wasmModule } from '../../support/rest/archives.js';
import { type ControlPlane, startControlPlane } from '../../support/rest/control-plane.js';
import { fileUri, type Refusal, serveBytes, wrongAnswer } from '../../support/rest/given-files.js';
import { writeZip } from '../../support/rest/zip-writer.js';

const path = '/plugins/wasm';
const bytesOf = (...names: string[]) => Buffer.from(wasmModule(...names), 'base64');

let plane: ControlPlane;
test.before.each(async () => {
  plane = await startControlPlane();
});
test.after.each(() => plane.close());

test('a module comes in an archive: the only one, or that of the name of the plugin', async () => {
  const archives = {
    only: [
      { name: 'README', content: 'x' },
      { name: 'build/any.wasm', content: bytesOf('one') },
    ],
    two: [
      { name: 'one.wasm', content: bytesOf('never') },
      { name: 'two.wasm', content: bytesOf('two') },
    ],
  };
  for (const [name, items] of Object.entries(archives)) {
    const file = fileUri(`${name}.zip`, writeZip(items));
    const made = await plane.request('POST', path, { name, file });
    assert.is(made.status, 201, made.text);
  }
  const bytecode = writeZip([{ name: 'x.wasm', content: bytesOf('three') }]).toString('base64');
  assert.is((await plane.request('POST', path, { name: 'three', bytecode })).status, 201);
  assert.equal((await plane.request('GET', '/plugins/udfs')).json, ['one', 'three', 'two']);
});

test('the manifest of an archive is kept with its module, also over an export', async () => {
  const manifest = (name: string) =>
    JSON.stringify({
      abi: 1,
      functions: [
        {
          name,
          export: 'add',
          args: [
            { name: 'a', type: 'bigint' },
            { name: 'b', type: 'bigint' },
          ],
          result: 'bigint',
        },
      ],
    });
  const install = async (...names: string[]) => {
    for (const name of names) {
      const items = [
        { name: 'm.wasm', content: bytesOf('add') },
        { name: 'm.json', content: manifest(`add_${name}`) },
      ];
      const answer = await plane.request('POST', path, { name, file: fileUri('m.zip', writeZip(items)) });
      assert.is(answer.status, 201, answer.text);
    }
  };
  await install('one', 'two');
  const document = (await plane.request('GET', '/data/export')).text;
  for (const name of ['one', 'two']) await plane.request('DELETE', `${path}/${name}`);
  assert.is((await plane.request('POST', '/data/import', { content: document })).status, 200);
  assert.equal((await plane.request('GET', path)).json, [
    { name: 'one', functions: ['add_one'] },
    { name: 'two', functions: ['add_two'] },
  ]);
});

test('a module comes from an address, when private ones are allowed', async () => {
  const server = await serveBytes(bytesOf('fetched'));
  try {
    const body = { name: 'net', file: `${server.url}/net.wasm` };
    const refused = await plane.request('POST', path, body);
    assert.is(refused.status, 400);
    assert.match(refused.json.message, /private|loopback/);
    const { data } = plane;
    await plane.close();
    plane = await startControlPlane(data, { KUIPER__BASIC__ENABLEPRIVATENET: 'true' });
    const made = await plane.request('POST', path, body);
    assert.equal([made.status, made.json], [201, { name: 'net', functions: ['fetched'] }]);
    const missing = await plane.request('POST', path, { name: 'other', file: `${server.url}/missing.wasm` });
    assert.match(missing.json.message, /404/);
  } finally {
    server.close();
  }
});

test('a plugin is described with its functions, imports, memory and limits', async () => {
  const bytes = readFileSync(new URL('../../../examples/plugins/rust/report/report.wasm', import.meta.url));
  const limits = { callFuel: 5000 };
  const made = await plane.request('POST', path, { name: 'report', bytecode: bytes.toString('base64'), limits });
  assert.is(made.status, 201, made.text);
  const { json } = await plane.request('GET', `${path}/report`);
  assert.equal(
    json.manifest.functions.find(({ name }: { name: string }) => name === 'now_ms'),
    {
      name: 'now_ms',
      export: 'now_ms',
      args: [],
      result: 'float',
      nulls: 'skip',
      batch: false,
    },
  );
  assert.ok(json.imports.includes('wasi_snapshot_preview1.fd_write (i32, i32, i32, i32) -> i32'));
  assert.equal([json.name, json.sizeBytes, json.notCallable], ['report', bytes.length, []]);
  assert.equal(json.limits, { maxMemoryBytes: 64 << 20, callFuel: 5000, batchFuel: 250_000_000 });
  assert.is(json.memory.minBytes % 65_536, 0);
  assert.is((await plane.request('GET', `${path}/none`)).status, 404);
});

test('functions are listed with who brings them, and found in any letter case', async () => {
  await plane.request('POST', path, { name: 'one', bytecode: wasmModule('plus', 'minus') });
  assert.equal((await plane.request('GET', '/plugins/udfs')).json, ['minus', 'plus']);
  assert.equal((await plane.request('GET', '/plugins/udfs?details=true')).json, [
    { name: 'minus', plugin: 'one', kind: 'wasm plugin' },
    { name: 'plus', plugin: 'one', kind: 'wasm plugin' },
  ]);
  assert.equal((await plane.request('GET', '/plugins/udfs/PLUS')).json, { name: 'plus', plugin: 'one' });
});

test('of many uploads at once that bring one function, one wins', async () => {
  const uploads = Array.from({ length: 8 }, (_, i) => {
    const name = `p${i}`;
    const file = fileUri(`${name}.wasm`, bytesOf('same', `own${i}`));
    return plane.request('POST', path, i % 2 === 0 ? { name, file } : { name, bytecode: wasmModule('SAME') });
  });
  const answers = await Promise.all(uploads);
  assert.is(answers.filter(({ status }) => status === 201).length, 1);
  for (const { status, json } of answers)
    if (status !== 201) assert.match(json.message, /(same|SAME) is taken by wasm/);
  assert.is(readdirSync(join(plane.data, 'plugins/wasm')).length, 1, 'nothing stays of what is refused');
});

test('modules of the data folder are plugins from the start on, as long as they lie there', async () => {
  const { data } = plane;
  await plane.close();
  const folder = join(data, 'plugins/wasm');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'first.wasm'), bytesOf('early'));
  writeFileSync(join(folder, 'broken.wasm'), 'no module');
  writeFileSync(join(folder, 'two words.wasm'), bytesOf('late'));
  writeFileSync(join(folder, 'notes.txt'), 'x');
  const restart = async () => {
    await plane.close();
    plane = await startControlPlane(data);
    return (await plane.request('GET', path)).json;
  };
  plane = await startControlPlane(data);
  assert.equal((await plane.request('GET', path)).json, [{ name: 'first', functions: ['early'] }]);
  assert.equal(await restart(), [{ name: 'first', functions: ['early'] }], 'the same file is no change');
  writeFileSync(join(folder, 'first.wasm'), bytesOf('other'));
  assert.equal(await restart(), [{ name: 'first', functions: ['other'] }], 'another file takes its place');
  writeFileSync(join(folder, 'first.wasm'), 'no module any more');
  assert.equal(await restart(), [{ name: 'first', functions: ['other'] }], 'a bad one does not');
  await plane.request('POST', path, { name: 'sent', bytecode: wasmModule('bySender') });
  writeFileSync(join(folder, 'sent.wasm'), bytesOf('byFolder'));
  rmSync(join(folder, 'first.wasm'));
  assert.equal(await restart(), [{ name: 'sent', functions: ['bySender'] }], 'what a request installed stays');
});

test('what the configuration allows and what a plugin is given hold', async () => {
  const { data } = plane;
  await plane.close();
  plane = await startControlPlane(data, {
    KUIPER__PLUGIN__WASM__MAXMODULEBYTES: '2000',
    KUIPER__PLUGIN__WASM__MAXMEMORYBYTES: '1048576',
    KUIPER__PLUGIN__WASM__MAXEXPORTS: '3',
    KUIPER__PLUGIN__WASM__CALLFUEL: '10000',
  });
  const large = Buffer.concat([bytesOf('a'), Buffer.from([0, 0xd0, 0x0f, 1, 0x78]), Buffer.alloc(0x7ce)]);
  const bytecode = wasmModule('a');
  const memory = Buffer.concat([bytesOf('a').subarray(0, 8), Buffer.from([5, 3, 1, 0, 17])]).toString('base64');
  const refusals: Refusal[] = [
    ['POST', path, { name: 'x', bytecode: large.toString('base64') }, 400, 1000, /2000 are allowed \(moduleBytes\)/],
    ['POST', path, { name: 'x', bytecode: wasmModule('a', 'b', 'c', 'd') }, 400, 1000, /4 exports, at most 3/],
    ['POST', path, { name: 'x', bytecode: memory }, 400, 1000, /17 pages of 64 KiB, at most 16/],
    ['POST', path, { name: 'x', bytecode, limits: { callFuel: 20_000 } }, 400, 1000, /limits\.callFuel is 20000/],
    ['POST', path, { name: 'x', bytecode, limits: { callFuel: 'much' } }, 400, 1000, /limits.*callFuel/],
    ['POST', path, { name: 'x', bytecode, limits: { fuel: 1 } }, 400, 1000, /fuel is not known/],
    ['POST', path, { name: 'x', bytecode, isolate: 'yes' }, 400, 1000, /isolate must be true or false/],
    ['POST', path, { name: 'x', bytecode, limits: [] }, 400, 1000, /limits must be an object/],
  ];
  for (const refusal of refusals) assert.is(await wrongAnswer(plane, refusal), undefined, String(refusal[5]));
});

test('preparing a large module ends in time', async () => {
  const { data } = plane;
  await plane.close();
  // Starting a thread takes longer than that.
  plane = await startControlPlane(data, { KUIPER__PLUGIN__WASM__PREPARETIMEOUT: '1ms' });
  const padding = Buffer.concat([Buffer.from([0, 0x84, 0x80, 4, 3]), Buffer.from('pad'), Buffer.alloc(65_536)]);
  const file = fileUri('large.wasm', Buffer.concat([bytesOf('large'), padding]));
  const refused = await plane.request('POST', path, { name: 'large', file });
  assert.equal([refused.status, refused.json.error], [400, 1000]);
  assert.match(refused.json.message, /preparing it took more than 1 ms/);
  await plane.close();
  plane = await startControlPlane(data);
  const made = await plane.request('POST', path, { name: 'large', file });
  assert.equal(made.json, { name: 'large', functions: ['large'] });
});

test('archives and files that hold no module are refused', async () => {
  const zip = (...items: Parameters<typeof writeZip>[0]) => fileUri('x.zip', writeZip(items));
  const ok = bytesOf('a');
  const bomb = { name: 'x.wasm', content: Buffer.alloc(15 << 20) };
  const refusals: [string, RegExp][] = [
    [zip({ name: 'x.txt', content: 'x' }), /no file that ends with \.wasm/],
    [zip({ name: 'a.wasm', content: ok }, { name: 'b.wasm', content: ok }), /several modules \(a\.wasm, b\.wasm\)/],
    [zip({ name: 'x.wasm', content: 'MZ no module' }), /begins with 4d 5a 20 6e, not with 00 61 73 6d/],
    [zip({ name: 'x.wasm', content: ok.subarray(0, 20) }), /truncated|invalid wasm module/],
    [zip({ name: '../x.wasm', content: ok }), /path leaves the folder/],
    [zip({ name: '/x.wasm', content: ok }), /path is absolute/],
    [zip(bomb), /packed more than 200 to 1/],
    [
      zip({ name: 'x.wasm', content: ok }, { name: 'x.json', content: ' '.repeat((1 << 20) + 1) }),
      /packed more|x\.json has more/,
    ],
    [fileUri('x.zip', writeZip([{ name: 'x.wasm', content: ok }]).subarray(0, 40)), /invalid zip archive/],
    [fileUri('x.wasm', 'PK no zip'), /no WebAssembly module: it begins with 50 4b/],
    [fileUri('x.wasm', ''), /it is empty/],
    ['ftp://example.org/x.wasm', /only the schemes http, https and file/],
    ['file:///etc/hostname', /allowed/],
  ];
  for (const [file, message] of refusals) {
    const wrong = await wrongAnswer(plane, ['POST', path, { name: 'x', file }, 400, 1000, message]);
    assert.is(wrong, undefined, String(message));
  }
  assert.equal((await plane.request('GET', path)).json, []);
});

test.run();
