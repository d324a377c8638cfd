/**
 * Modules without a manifest that export more than functions for SQL: what is reserved stays where it is, addresses are
 * told.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Code } from '../../../host/plugins/wasm/binary/code.js';
import { Op } from '../../../host/plugins/wasm/binary/opcodes.js';
import { type Signature, signatureOf } from '../../../host/plugins/wasm/binary/types.js';
import { ByteWriter } from '../../../host/plugins/wasm/binary/writer.js';
import { startServer } from '../../support/harness.js';
import { compileText, moduleOf } from '../../support/plugins/modules.js';
import { RowsThrough } from '../../support/rest/rows-through.js';

const server = await startServer();
test.after(async () => {
  await server.stop();
});
const rule = new RowsThrough(server);

type Exported = readonly [name: string, signature: Signature, code: Code];

/** A module with a memory, which is exported. */
function program(...functions: Exported[]): Uint8Array {
  const exports = new Code()
    .u32(functions.length + 1)
    .name('memory')
    .byte(2)
    .u32(0);
  functions.forEach(([name], i) => {
    exports.name(name).byte(0).u32(i);
  });
  return moduleOf({
    types: functions.map(([, signature]) => signature),
    functions: functions.map(([, , code], type) => ({ type, code: [...code.take()] })),
    sections: { 5: Uint8Array.of(1, 0, 1), 7: exports.take() },
  });
}

async function put(name: string, bytes: Uint8Array) {
  const bytecode = Buffer.from(bytes).toString('base64');
  return server.request('POST', '/plugins/wasm', { name, bytecode });
}

const one = (name: string, params = 'ii', results = 'i'): Exported => [
  name,
  signatureOf(params, results),
  results === '' ? new Code() : new Code().i32(1),
];

test('two programs that export main, an allocator and starts bring their own functions alone', async () => {
  for (const name of ['first', 'second']) {
    const reserved = ['malloc', 'realloc', 'haumea_alloc', 'cabi_realloc', 'alloc'].map((each) => one(each));
    const bytes = program(
      one('_start', '', ''),
      one('main'),
      one('__main_void', ''),
      ...reserved,
      one(`own_${name}`, 'i'),
    );
    const { status, json } = await put(name, bytes);
    assert.is(status, 201, json.message);
    assert.equal(json, { name, functions: [`own_${name}`], program: true });
  }
  const { json } = await server.request('GET', '/plugins/wasm/first');
  assert.equal(
    json.notCallable.map((each: { name: string }) => each.name),
    ['main', 'malloc', 'realloc', 'haumea_alloc', 'cabi_realloc', 'alloc'],
  );
  assert.match(json.notCallable[0].reason, /it is reserved for the run time of the module/);
});

test('a manifest names no export that is reserved', async () => {
  for (const name of ['_start', 'haumea_alloc']) {
    const { withManifest } = await import('../../../host/plugins/wasm/exports/embed.js');
    const text = JSON.stringify({
      abi: 1,
      functions: [{ name: 'f', export: name, args: ['bigint'], result: 'bigint' }],
    });
    const { status, json } = await put('starts', withManifest(program(one(name, 'i')), text));
    assert.is(status, 400);
    assert.match(json.message, new RegExp(`functions\\[0\\]: the export ${name} is reserved`));
  }
});

/** As xxhash, and others that take an address and a length. */
const hashing = compileText(
  `export function hash32(at: usize, length: i32, seed: i32): i32 {
    let sum = seed;
    for (let i = 0; i < length; i++) sum = sum * 31 + load<u8>(at + i);
    return sum;
  }
  export function mixed(a: i32, b: i32): i32 { return a * 31 + b; }
  const table = memory.data<u8>([7, 5, 3, 1]);
  export function looked_up(i: i32): i32 { return load<u8>(table + (i & 3)); }
  export function nth(i: i32): i32 { return load<u8>((i & 3) + table); }`,
);

test('a function that takes an address is told with a warning and the manifest it lacks; others are not', async () => {
  const bytes = await hashing;
  const made = await put('hashing', bytes);
  assert.is(made.status, 201);
  assert.equal(made.json.functions, ['hash32', 'mixed', 'looked_up', 'nth']);
  const warning =
    'function hash32: argument 1 is an address, not a number: a manifest is missing, with a line such as ' +
    '{"name":"hash32","args":["string","bigint"],"result":"bigint"}';
  assert.equal(made.json.warnings, [warning]);
  assert.match(made.headers.get('warning') ?? '', /299 - "function hash32: argument 1 is an address/);
  const bytecode = Buffer.from(bytes).toString('base64');
  const replaced = await server.request('PUT', '/plugins/wasm/hashing', { name: 'hashing', bytecode });
  assert.is(replaced.text, `wasm plugin hashing is updated\nWarning: ${warning}`);
  const { json } = await server.request('GET', '/plugins/wasm/hashing');
  assert.equal(json.warnings, [warning]);
  assert.equal(await rule.results('SELECT nth(v) AS r FROM s', [{ v: 1 }]), [{ r: 5 }]);
});

test('a module without files is told that a path leads nowhere', async () => {
  const imports = new ByteWriter().u32(2);
  imports.name('wasi_snapshot_preview1').name('path_open').byte(0).u32(0);
  imports.name('wasi_snapshot_preview1').name('fd_prestat_get').byte(0).u32(1);
  const exports = new Code().u32(3).name('memory').byte(2).u32(0);
  exports.name('opens').byte(0).u32(2).name('folder').byte(0).u32(3);
  const opens = new Code().get(0).i32(0).i32(0).i32(4).i32(0).i64(0).i64(0).i32(0).i32(64).at(Op.call, 0);
  const folder = new Code().get(0).i32(64).at(Op.call, 1);
  const bytes = moduleOf(
    {
      types: [signatureOf('iiiiillii', 'i'), signatureOf('ii', 'i'), signatureOf('i', 'i')],
      functions: [
        { type: 2, code: [...opens.take()] },
        { type: 2, code: [...folder.take()] },
      ],
      sections: { 2: imports.take(), 5: Uint8Array.of(1, 0, 1), 7: exports.take() },
    },
    2,
  );
  assert.is((await put('files', bytes)).status, 201);
  // ENOENT of a path, below whatever folder; EBADF of a folder that is none.
  assert.equal(await rule.results('SELECT opens(v) AS o, folder(v) AS f FROM s', [{ v: -1 }, { v: 3 }]), [
    { o: 44, f: 8 },
    { o: 44, f: 8 },
  ]);
});

test.run();
