/** Calls of plugins that take long for little fuel: they end by the time of the processor. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { CallLimits, CodeHost, LoadedCode, WasmCode } from '../../../host/plugins/define.js';
import { loadModule } from '../../../host/plugins/wasm/load.js';
import { prepare } from '../../../host/plugins/wasm/prepare/prepare.js';
import { col } from '../../../kernels/plan/ir.js';
import { type Value, ValueError } from '../../../kernels/values/value.js';
import { VmKernel } from '../../support/kernel/vm-kernel.js';
import { compileText } from '../../support/plugins/modules.js';

const folder = mkdtempSync(join(tmpdir(), 'call-time-'));
test.after(() => {
  rmSync(folder, { recursive: true });
});

const binary = compileText(
  `
  export function turns(n: i64): i64 {
    let x: i64 = 1;
    for (let i: i64 = 0; i < n; i++) { x = x * 31 + i; store<i64>(1024, x); }
    return n;
  }
  export function endless(n: i64): i64 {
    let p: u32 = <u32>n;
    while (p != 1) p = load<u32>(p & 0xfffc) + p * 1664525 + 1013904223;
    return n;
  }
  export function sizes(text: string): i32 { let x = 0; while (text.length > 2) x += 3; return x + text.length; }
`,
  '--exportRuntime',
);

const run: { code?: LoadedCode; entry: string } = { entry: '' };
const kernel = new VmKernel((_fn, columns) => run.code?.call(run.entry, columns));
const never = 10n ** 15n;
let versions = 0;

async function results(
  entry: string,
  values: readonly Value[],
  limits: CallLimits,
  more: Partial<WasmCode> = {},
): Promise<{ results: Value[]; faults: string[] }> {
  const { ready, manifest } = prepare(
    await binary,
    more.manifest === undefined ? undefined : JSON.stringify(more.manifest),
  );
  const version = ++versions;
  const path = join(folder, `${version}.wasm`);
  writeFileSync(path, ready);
  const faults: string[] = [];
  const host: CodeHost = { log: () => {}, fault: (reason) => faults.push(reason) };
  run.code = await loadModule({ kind: 'wasm', name: 'slow', version, path, limits, ...more, manifest }, host);
  run.entry = entry;
  const rows = values.map((_value, i) => i);
  kernel.setBatch([[...values]], rows.length, rows);
  const call = { ops: [{ op: 'call.host' as const, dst: 0, args: [col(0)], imm: 0 }], consts: [] };
  return { results: kernel.run(call, rows, 0), faults };
}

const messageOf = (value: Value) => (value instanceof ValueError ? value.message : `no error: ${String(value)}`);

test('an endless call ends by its time, whatever fuel it has, and the rows behind it go on', async () => {
  const limits = { callFuel: never, batchFuel: never * 8n, callMs: 5, batchMs: 60_000 };
  const { results: found, faults } = await results('endless', [1n, 2n, 1n], limits);
  assert.equal([found[0], found[2]], [1n, 1n]);
  assert.is(messageOf(found[1] as Value), 'function endless of slow: the call took longer than it may');
  assert.equal(faults, ['function endless: the call took longer than it may']);
});

test('calls that are short each end with the time of the batch', async () => {
  const limits = { callFuel: never, batchFuel: never * 8n, callMs: 60_000, batchMs: 30 };
  const { results: found, faults } = await results('turns', new Array(1000).fill(300_000n), limits);
  assert.is(found[0], 300_000n);
  assert.is(
    messageOf(found.at(-1) as Value),
    'function turns of slow: the calls for a batch took longer than they may',
  );
  assert.equal(faults, ['function turns: the calls for a batch took longer than they may']);
});

test('a call goes on with its fuel, part by part, up to the last', async () => {
  const limits = { callFuel: 50_000_000n, batchFuel: 400_000_000n, callMs: 600_000, batchMs: 600_000 };
  const { results: found } = await results('turns', [1_000_000n, 100n, 10_000_000n, 1_000_000n], limits);
  assert.equal([found[0], found[1], found[3]], [1_000_000n, 100n, 1_000_000n]);
  assert.is(messageOf(found[2] as Value), 'function turns of slow: the call took more fuel than it may');
});

test('on a thread of its own the time of the thread counts, not this', async () => {
  const limits = { callFuel: never, batchFuel: never, callMs: 1, batchMs: 1 };
  const { results: found } = await results('turns', [20_000_000n], limits, { isolate: { timeoutMs: 600_000 } });
  assert.equal(found, [20_000_000n]);
});

test('functions over texts end likewise', async () => {
  const manifest = {
    abi: 1,
    convention: 'assemblyscript',
    functions: [{ name: 'sizes', args: [{ name: 'text', type: 'string' }], result: 'bigint' }],
  } as never;
  const limits = { callFuel: never, batchFuel: never * 8n, callMs: 5, batchMs: 60_000 };
  const { results: found } = await results('sizes', ['ab', 'abc', 'a'], limits, { manifest });
  assert.equal([found[0], found[2]], [2n, 1n]);
  assert.is(messageOf(found[1] as Value), 'function sizes of slow: the call took longer than it may');
});

test.run();
