/** What plugins say of themselves: read from a section of the module or a text beside it, held against its exports. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parseManifest } from '../../../host/plugins/manifest.js';
import { ByteWriter } from '../../../host/plugins/wasm/binary/writer.js';
import { prepare } from '../../../host/plugins/wasm/prepare/prepare.js';
import { compileText } from '../../support/plugins/modules.js';

const concat = { name: 'concat2', args: ['string', 'string'], result: 'string' };
const manifest = (members: object) => JSON.stringify({ abi: 1, functions: [concat], ...members });

/** The module with a custom section behind it. */
function withSection(bytes: Uint8Array, text: string, name = 'haumea'): Uint8Array {
  const out = new ByteWriter().raw(bytes);
  out.section(0, (body) => body.name(name).raw(new TextEncoder().encode(text)));
  return out.take();
}

test('a manifest in short form says the same as one in long form', () => {
  const long = {
    abi: 1,
    functions: [
      {
        name: 'concat2',
        export: 'concat2',
        args: [
          { name: 'arg1', type: 'string' },
          { name: 'arg2', type: 'string' },
        ],
        result: 'string',
        nulls: 'skip',
        batch: false,
      },
    ],
  };
  assert.equal(parseManifest(manifest({})), long);
  assert.equal(parseManifest(JSON.stringify(long)), long);
  assert.equal(parseManifest('{"version":"1.0.0","functions":["fib"],"wasmEngine":"wasmedge"}'), { names: ['fib'] });
});

test('what is wrong with a manifest is told with the name of the field', () => {
  const of = (fn: object) => manifest({ functions: [{ ...concat, ...fn }] });
  const wrong: [string, RegExp][] = [
    ['{"abi": 1', /invalid manifest: it is no JSON/],
    ['[]', /it must be an object, not \[\]/],
    ['{"functions": []}', /abi is missing/],
    ['{"abi": "1"}', /abi must be a whole number, not "1"/],
    ['{"abi": 2, "functions": []}', /abi is 2, this server speaks version 1/],
    ['{"abi": 1}', /functions is missing/],
    [manifest({ functions: [] }), /functions is empty/],
    [manifest({ functions: 'x' }), /functions must be a list, not "x"/],
    [manifest({ functions: [1] }), /functions\[0\] must be an object, not 1/],
    [manifest({ functions: [concat, concat] }), /functions\[1\]\.name: concat2 is there twice/],
    [manifest({ convention: 'c' }), /convention must be one of pointers, assemblyscript, extism, not "c"/],
    [manifest({ author: 'x' }), /author is not known/],
    [of({ name: 'two words' }), /functions\[0\]\.name must be a name of letters, digits and underscores/],
    [of({ result: undefined }), /functions\[0\]\.result is missing/],
    [of({ result: 'text' }), /functions\[0\]\.result must be one of bigint, .*, any, not "text"/],
    [of({ args: ['string', { type: 'str' }] }), /functions\[0\]\.args\[1\]\.type must be one of/],
    [of({ args: [{ type: 'string', kind: 1 }] }), /functions\[0\]\.args\[0\]\.kind is not known/],
    [of({ args: [{ type: 'string', optional: true }, 'string'] }), /args\[0\]\.optional: the argument behind it/],
    [of({ args: [{ type: 'string', variadic: true }, 'string'] }), /args\[0\]\.variadic: only the last argument/],
    [of({ nulls: 'no' }), /functions\[0\]\.nulls must be one of skip, pass/],
    [of({ aggregate: 1 }), /functions\[0\]\.aggregate must be an object, not 1/],
    [of({ aggregate: true, batch: true }), /functions\[0\]\.batch: an aggregate takes its rows one by one/],
  ];
  for (const [text, reason] of wrong) assert.throws(() => parseManifest(text), reason, text);
});

test('the manifest is taken from the module, that of the archive counts more', async () => {
  const bytes = await compileText(
    `export function twice(a: f64): f64 { return a * 2; }
     export function inner(a: f64): f64 { return a; }`,
  );
  const names = (module: Uint8Array, beside?: string) =>
    prepare(module, beside).manifest.functions.map(({ name, export: own }) => [name, own]);
  const of = (name: string) =>
    manifest({ functions: [{ name, export: 'twice', args: ['float'], result: 'float', doc: 'a * 2' }] });
  assert.equal(names(bytes), [
    ['twice', 'twice'],
    ['inner', 'inner'],
  ]);
  assert.equal(names(withSection(bytes, of('doubled'))), [['doubled', 'twice']]);
  assert.equal(names(withSection(bytes, of('doubled')), of('two_of')), [['two_of', 'twice']]);
  assert.equal(names(bytes, '{"functions": ["inner"]}'), [['inner', 'inner']]);
  assert.throws(() => names(bytes, '{"functions": ["other"]}'), /names function other, which the module does not/);
  assert.throws(
    () => names(withSection(withSection(bytes, of('a')), of('b'))),
    /2 custom sections haumea, one is allowed/,
  );
});

test('exports that are not what the manifest says are refused with both types', async () => {
  const bytes = await compileText(
    `export function twice(a: f64): f64 { return a * 2; }
     export function state(): i32 { return 0; }
     export function haumea_alloc(size: i32): i32 { return size; }`,
  );
  const wrong: [object, RegExp][] = [
    [{ export: 'no' }, /functions\[0\]: the module exports no function no/],
    [{ args: ['bigint'] }, /functions\[0\]: twice is \(f64\) -> f64, by the manifest it must be \(i64\) -> f64/],
    [{ args: ['string'], result: 'any' }, /twice is \(f64\) -> f64, by the manifest it must be \(i32, i32\) -> i64/],
    [{ batch: true }, /twice is \(f64\) -> f64, by the manifest it must be \(i32, i32, i32\) -> i32/],
    [
      { aggregate: { init: 'state', accumulate: 'twice' } },
      /aggregate\.accumulate: .* must be \(i32, f64\) -> nothing/,
    ],
    [{ args: [{ type: 'float', optional: true }] }, /args: only guests of Extism have arguments that are optional/],
  ];
  for (const [members, reason] of wrong) {
    const fn = { name: 'twice', args: ['float'], result: 'float', ...members };
    assert.throws(() => prepare(bytes, manifest({ functions: [fn] })), reason, JSON.stringify(members));
  }
  const empty = await compileText('export function f(a: i32, b: i32): i64 { return 0; }');
  const one = manifest({ functions: [{ name: 'f', args: ['string'], result: 'string' }] });
  assert.throws(() => prepare(empty, one), /haumea_alloc: the module exports no function haumea_alloc/);
  const assemblyscript = manifest({
    convention: 'assemblyscript',
    functions: [{ name: 'f', args: [], result: 'any' }],
  });
  assert.throws(() => prepare(empty, assemblyscript), /functions\[0\]: f is \(i32, i32\) -> i64/);
});

test.run();
