/** What a module is seen from outside, and what is refused with which reason. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { WasmError } from '../../../host/plugins/wasm/binary/error.js';
import { inspect } from '../../../host/plugins/wasm/binary/inspect.js';
import { defaultLimits, type ModuleLimits } from '../../../host/plugins/wasm/binary/limits.js';
import type { Signature } from '../../../host/plugins/wasm/binary/types.js';
import { ByteWriter } from '../../../host/plugins/wasm/binary/writer.js';
import { compileText, head, isValid, moduleOf } from '../../support/plugins/modules.js';

const nothing: Signature = { params: [], results: [] };

/** A module of sections: their numbers and contents. */
function withSections(...sections: readonly (readonly [id: number, ...contents: number[]])[]): Uint8Array {
  const module = new ByteWriter().raw(head);
  for (const [id, ...contents] of sections) module.byte(id).sized(Uint8Array.from(contents));
  return module.take();
}

function refuses(bytes: Uint8Array, reason: string | RegExp, limits: Partial<ModuleLimits> = {}): void {
  try {
    inspect(bytes, { ...defaultLimits, ...limits });
  } catch (error) {
    assert.instance(error, WasmError);
    if (typeof reason === 'string') assert.is((error as Error).message, reason);
    else assert.match((error as Error).message, reason);
    return;
  }
  assert.unreachable(`not refused: ${reason}`);
}

const name = (text: string) => [text.length, ...Buffer.from(text)];

test('imports, exports, memory and tables are told with their types', async () => {
  const bytes = await compileText(
    `@external("env", "log") declare function log(x: f64, y: i64): void;
     export const limit: i32 = 7;
     export function scale(x: f64, by: i32): f64 { log(x, 1); return x * by; }
     export function pick(f: i32): i32 { return (f ? one : two)(f); }
     let one = (x: i32): i32 => x + 1; let two = (x: i32): i32 => x * 2;
     export function swap(): void { const old = one; one = two; two = old; }
     memory.data(100);`,
    '--initialMemory',
    '3',
    '--maximumMemory',
    '9',
  );
  const shape = inspect(bytes);
  assert.equal(shape.imports, [
    { module: 'env', name: 'log', kind: 'function', signature: { params: ['f64', 'i64'], results: [] } },
  ]);
  assert.equal(
    shape.exports.filter(({ kind }) => kind === 'function'),
    [
      { name: 'scale', kind: 'function', signature: { params: ['f64', 'i32'], results: ['f64'] } },
      { name: 'pick', kind: 'function', signature: { params: ['i32'], results: ['i32'] } },
      { name: 'swap', kind: 'function', signature: { params: [], results: [] } },
    ],
  );
  assert.equal(
    shape.exports.find((one) => one.name === 'limit'),
    { name: 'limit', kind: 'global', global: { type: 'i32', isMutable: false } },
  );
  assert.equal(shape.memory, { min: 3, max: 9, isImported: false });
  assert.equal([shape.tables.length, shape.tables[0]?.of, shape.hasStart], [1, 'funcref', false]);
  assert.ok(shape.functionCount >= 2 && shape.codeBytes > 0 && shape.largestFunctionBytes <= shape.codeBytes);
});

test('custom sections, a start function and an imported memory are told', () => {
  const bytes = withSections(
    [0, ...name('manifest'), 1, 2, 3],
    [1, 1, 0x60, 0, 0],
    [2, 1, ...name('env'), ...name('memory'), 2, 1, 1, 4],
    [3, 1, 0],
    [8, 0],
    [10, 1, 2, 0, 0x0b],
  );
  const shape = inspect(bytes);
  assert.equal(
    shape.customSections.map((section) => [section.name, ...section.bytes]),
    [['manifest', 1, 2, 3]],
  );
  assert.equal([shape.hasStart, shape.memory], [true, { min: 1, max: 4, isImported: true }]);
  assert.ok(isValid(bytes));
});

test('a large module of others is read', () => {
  const path = createRequire(import.meta.url).resolve('sql.js/dist/sql-wasm.wasm');
  const shape = inspect(new Uint8Array(readFileSync(path)));
  assert.ok(shape.functionCount > 1000 && shape.exports.length > 20 && shape.dataBytes > 10_000);
});

test('what is no module is refused with what was found', () => {
  refuses(new Uint8Array(0), 'it is no WebAssembly module: it is empty');
  refuses(
    Buffer.from('PK\x03\x04 zip'),
    'it is no WebAssembly module: it begins with 50 4b 03 04, not with 00 61 73 6d (at byte 0)',
  );
  refuses(Buffer.from('(module (func))'), /it is a module as text, which has to be compiled/);
  refuses(head.subarray(0, 6), 'the module is truncated: it ends before its version (at byte 6)');
  refuses(
    Uint8Array.of(...head.subarray(0, 4), 2, 0, 0, 0),
    'the module has version 2, only version 1 is supported (at byte 4)',
  );
  refuses(
    Uint8Array.of(...head.subarray(0, 4), 0x0d, 0, 1, 0),
    'it is a component, only core modules are supported (at byte 4)',
  );
});

test('truncated and malformed sections are refused with their place', () => {
  refuses(
    Uint8Array.of(...head, 1, 9, 1),
    'the module: the type section has 9 bytes, only 1 of them are there: it is truncated (at byte 8)',
  );
  refuses(withSections([99]), 'the module: there is no section 99 (at byte 8)');
  refuses(withSections([3, 0], [1, 0]), 'the module: the type section stands in the wrong place (at byte 11)');
  refuses(withSections([1, 0], [1, 0]), 'the module: the type section is there twice (at byte 11)');
  refuses(withSections([1, 0, 7]), 'the type section: 1 bytes are left over (at byte 11)');
  refuses(
    withSections([1, 0xff, 0xff, 0x03]),
    'the type section: it says that 65535 types follow and has 0 more bytes (at byte 10)',
  );
  refuses(withSections([1, 1, 0x40]), 'the type section: 0x40 does not begin a function type (at byte 11)');
  refuses(withSections([1, 1, 0x60, 1, 0x12, 0]), 'the type section: 0x12 is no type of a value (at byte 13)');
  refuses(withSections([3, 1, 4]), 'the function section: there is no type 4, there are 0 (at byte 11)');
  refuses(
    withSections([1, 1, 0x60, 0, 0], [3, 1, 0]),
    'the code section: it has 0 functions, 1 are declared (at byte 18)',
  );
  refuses(withSections([7, 1, 1, 0xff, 0, 0]), 'the export section: the name of an export is no UTF-8 (at byte 12)');
  refuses(
    withSections([5, 1, 1, 9, 3]),
    'the memory section: a memory has a maximum of 3 and begins with 9 (at byte 11)',
  );
  refuses(withSections([5, 2, 0, 1, 0, 1]), /there are several memories, only one is supported/);
  refuses(
    withSections([1, 0x80, 0x80, 0x80, 0x80, 0x80, 1]),
    'the type section: a number has more than 32 bits (at byte 10)',
  );
});

test('proposals that are not supported are refused by name', () => {
  refuses(withSections([5, 1, 3, 1, 2]), /the module uses a shared memory \(threads\), which is not supported/);
  refuses(withSections([5, 1, 4, 1]), /the module uses a 64-bit memory \(memory64\), which is not supported/);
  refuses(withSections([13, 1, 0, 0]), /the module uses exception handling \(a tag section\), which is not supported/);
  refuses(withSections([1, 1, 0x5f, 0]), /the module uses garbage collection \(a struct type\)/);
  refuses(withSections([1, 1, 0x60, 1, 0x69, 0]), /the module uses exception handling \(exnref\)/);
  refuses(withSections([1, 1, 0x60, 1, 0x64, 0, 0]), /the module uses typed function references/);
});

test('limits are refused with what is too much and by how much', () => {
  const small = moduleOf({
    types: [nothing, { params: ['i32', 'i64', 'f32'], results: [] }],
    functions: [
      { type: 0, export: 'a', code: [] },
      { type: 1, export: 'b', locals: ['i32', 'i32'], code: [] },
    ],
    sections: {
      2: Uint8Array.of(2, ...name('m'), ...name('g'), 3, 0x7f, 0, ...name('m'), ...name('h'), 3, 0x7f, 0),
      4: Uint8Array.of(2, 0x70, 0, 5, 0x6f, 0, 6),
      5: Uint8Array.of(1, 0, 7),
      9: Uint8Array.of(2, 0, 0x41, 0, 0x0b, 2, 0, 1, 0, 0x41, 2, 0x0b, 1, 1),
      11: Uint8Array.of(2, 0, 0x41, 0, 0x0b, 3, 1, 2, 3, 0, 0x41, 0, 0x0b, 2, 1, 2),
    },
  });
  assert.ok(isValid(small));
  assert.is(inspect(small).dataBytes, 5);
  const cases: [keyof ModuleLimits, number, string][] = [
    [
      'moduleBytes',
      small.length - 1,
      `the module has ${small.length} bytes, at most ${small.length - 1} are allowed (moduleBytes)`,
    ],
    ['types', 1, 'the module has 2 types, at most 1 are allowed (types)'],
    ['imports', 1, 'the module has 2 imports, at most 1 are allowed (imports)'],
    ['exports', 1, 'the module has 2 exports, at most 1 are allowed (exports)'],
    ['functions', 1, 'the module has 2 functions, at most 1 are allowed (functions)'],
    ['params', 2, 'type 1 has 3 parameters or results, at most 2 are allowed (params)'],
    ['functionBytes', 3, 'function 1 has 6 bytes, at most 3 are allowed (functionBytes)'],
    ['locals', 4, 'function 1 has 5 local variables, at most 4 are allowed (locals)'],
    ['globals', 1, 'the module has 2 globals, at most 1 are allowed (globals)'],
    ['tables', 1, 'the module has 2 tables, at most 1 are allowed (tables)'],
    ['tableEntries', 5, 'table 1 has 6 entries, at most 5 are allowed (tableEntries)'],
    ['elements', 2, 'the module has 3 entries in element segments, at most 2 are allowed (elements)'],
    ['memoryPages', 6, 'the memory at the start has 7 pages of 64 KiB, at most 6 are allowed (memoryPages)'],
    ['dataSegments', 1, 'the module has 2 data segments, at most 1 are allowed (dataSegments)'],
    ['dataBytes', 4, 'the module has 5 bytes in data segments, at most 4 are allowed (dataBytes)'],
  ];
  for (const [limit, most, reason] of cases) refuses(small, reason, { [limit]: most });
  refuses(withSections([0, ...name('long')]), /the name of a custom section has 4 characters, at most 3 are allowed/, {
    nameBytes: 3,
  });
  refuses(withSections([0, ...name('a')], [0, ...name('b')]), /2 custom sections, at most 1/, { customSections: 1 });
});

test('counts that promise more than the module holds make nothing', () => {
  // Each count is some 4 billion: what would be made of it does not fit into memory.
  const most = [0xff, 0xff, 0xff, 0xff, 0x0f];
  for (const id of [1, 2, 3, 4, 5, 6, 7, 9, 10, 11]) refuses(withSections([id, ...most]), /4294967295 .* follow/);
  // Variables are counted, not made.
  const locals = withSections([1, 1, 0x60, 0, 0], [3, 1, 0], [10, 1, 8, 1, ...most, 0x7f, 0x0b]);
  refuses(locals, 'function 0 has 4294967295 local variables, at most 50000 are allowed (locals)');
});

test.run();
