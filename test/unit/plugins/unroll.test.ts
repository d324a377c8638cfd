/**
 * Functions of numbers that are called for eight rows at once: each row is what it is when rows are called one by one.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { CodeHost, LoadedCode } from '../../../host/plugins/define.js';
import { inspect } from '../../../host/plugins/wasm/binary/inspect.js';
import { loadModule } from '../../../host/plugins/wasm/load.js';
import { meter } from '../../../host/plugins/wasm/passes/meter.js';
import { addUnrolled, unrolledRows } from '../../../host/plugins/wasm/passes/unroll.js';
import { prepare } from '../../../host/plugins/wasm/prepare/prepare.js';
import { col, constant } from '../../../kernels/plan/ir.js';
import { type Value, ValueError } from '../../../kernels/values/value.js';
import { VmKernel } from '../../support/kernel/vm-kernel.js';
import { isValid, moduleOf } from '../../support/plugins/modules.js';
import { randomFrom } from '../../support/plugins/programs.js';

const folder = mkdtempSync(join(tmpdir(), 'unroll-'));
test.after(() => {
  rmSync(folder, { recursive: true });
});

const binary = new Uint8Array(readFileSync(new URL('../../guests/unroll.wasm', import.meta.url)));

const host = (faults: string[]): CodeHost => ({ log: () => {}, fault: (reason) => faults.push(reason) });
const run: { code?: LoadedCode } = {};
let name = '';
const kernel = new VmKernel((_fn, columns) => run.code?.call(name, columns));
const count = 136;

test('rows of functions with memory, globals, loops and calls are what they are one by one', async () => {
  const { ready, manifest } = prepare(binary);
  const path = join(folder, 'unroll.wasm');
  writeFileSync(path, ready);
  const random = randomFrom(8_808);
  const sampleOf = (type: string): Value => {
    if (random(40) === 0) return [null, undefined, 'text', 2.5, 2n ** 40n, -1n, new ValueError('bad')][random(7)];
    return type === 'bigint' ? BigInt(random(30)) : random(2000) / 32;
  };
  const all = (step: number) => Array.from({ length: count }, (_, i) => i * step);
  for (let round = 0; round < 2; round++) {
    for (const fn of manifest.functions) {
      name = fn.name;
      const isConstant = round === 1 && fn.args.length === 2;
      const columns = fn.args.map(({ type }) => Array.from({ length: count }, () => sampleOf(type)));
      /** Rows that follow one another are taken together, others are not. */
      const results = async (step: number, limits: { callFuel: bigint; batchFuel: bigint }) => {
        const faults: string[] = [];
        run.code = await loadModule({ kind: 'wasm', name: 'm', version: 1, path, manifest, limits }, host(faults));
        const rows = all(step);
        kernel.setBatch(
          columns.map((column) => Array.from({ length: count * step }, (_, row) => column[Math.floor(row / step)])),
          count * step,
          rows,
        );
        const args = columns.map((_column, i) => (isConstant && i === 1 ? constant(0) : col(i)));
        const consts = [{ tag: 'i64', value: 5n }] as const;
        const found = kernel.run({ ops: [{ op: 'call.host', dst: 0, args, imm: 0 }], consts: [...consts] }, rows, 0);
        const shown = found.map((value) => (value instanceof ValueError ? value.message : String(value)));
        return { shown, faults };
      };
      const plenty = { callFuel: 100_000n, batchFuel: 50_000_000n };
      const few = { callFuel: 2_000n, batchFuel: 60_000n };
      for (const limits of [plenty, few]) {
        assert.equal(await results(1, limits), await results(2, limits), `${name}, round ${round}`);
      }
    }
  }
});

test('the row that traps is known among eight, and those before it keep what they were', async () => {
  const { ready, manifest } = prepare(binary);
  const path = join(folder, 'traps.wasm');
  writeFileSync(path, ready);
  const limits = { callFuel: 100_000n, batchFuel: 50_000_000n };
  run.code = await loadModule({ kind: 'wasm', name: 'm', version: 1, path, manifest, limits }, host([]));
  name = 'numbered';
  const rows = Array.from({ length: 16 }, (_, i) => i);
  kernel.setBatch([[1n, 2n, 3n, 4n, 5n, 13n, 7n, 8n, 9n, 10n, 11n, 12n, 1n, 14n, 15n, 16n]], 16, rows);
  const found = kernel.run({ ops: [{ op: 'call.host', dst: 0, args: [col(0)], imm: 0 }], consts: [] }, rows, 0);
  assert.equal(found.slice(0, 5), [1001n, 2002n, 3003n, 4004n, 5005n]);
  assert.instance(found[5], ValueError);
  assert.match((found[5] as ValueError).message, /unreachable/);
  assert.equal(found.slice(6, 9), [1007n, 2008n, 3009n]);
});

test('functions that are no rows of numbers are not unrolled', () => {
  const functions = [
    { type: 0, export: 'two', code: [0x20, 0, 0x20, 0] },
    { type: 1, export: 'none', code: [] },
    { type: 2, export: 'many', code: [0x41, 0] },
    { type: 3, export: 'one', code: [0x20, 0, 0x0f] },
  ];
  const types = [
    { params: ['i32'], results: ['i32', 'i32'] },
    { params: [], results: [] },
    { params: new Array(9).fill('i32'), results: ['i32'] },
    { params: ['i64'], results: ['i64'] },
  ] as const;
  const bytes = meter(moduleOf({ types: [...types] as never, functions }));
  const made = addUnrolled(bytes, ['two', 'none', 'many', 'one', 'absent'], () => true);
  assert.ok(isValid(made.bytes));
  assert.equal([...made.exports.keys()], ['one']);
  const unrolled = inspect(made.bytes).exports.find((one) => one.name === made.exports.get('one'));
  assert.equal(unrolled?.kind === 'function' && unrolled.signature, {
    params: new Array(unrolledRows).fill('i64'),
    results: [],
  });
});

test.run();
