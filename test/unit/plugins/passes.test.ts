/** Passes over modules: what each needs runs before it, and those that only speed up change no result. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { CodeHost, LoadedCode } from '../../../host/plugins/define.js';
import { loadModule } from '../../../host/plugins/wasm/load.js';
import { passes, runPasses, unpassed } from '../../../host/plugins/wasm/passes/list.js';
import type { Pass } from '../../../host/plugins/wasm/passes/pass.js';
import { prepare } from '../../../host/plugins/wasm/prepare/prepare.js';
import { col, constant } from '../../../kernels/plan/ir.js';
import { type Value, ValueError } from '../../../kernels/values/value.js';
import { VmKernel } from '../../support/kernel/vm-kernel.js';
import { compileText } from '../../support/plugins/modules.js';
import { randomFrom } from '../../support/plugins/programs.js';

const folder = mkdtempSync(join(tmpdir(), 'passes-'));
test.after(() => {
  rmSync(folder, { recursive: true });
});

const optional = passes.filter((pass) => pass.optional !== undefined);
const without = (left: readonly Pass[]) => passes.filter((pass) => !left.includes(pass));
const lists = new Map<string, readonly Pass[]>([
  ['all passes', passes],
  ...optional.map((pass): [string, readonly Pass[]] => [`without ${pass.name}`, without([pass])]),
  ['without these', without(optional)],
]);

const guest = (name: string) => new Uint8Array(readFileSync(new URL(`../../guests/${name}.wasm`, import.meta.url)));

/** Functions that are copied into their callers, some of which trap. */
const inlined = `
  export function linear(a: f64, b: f64): f64 { return a * b + 1; }
  export function quotient(a: i64, b: i64): i64 { return a / b; }
  export function grade(a: f64): i32 { if (a < 0) return -1; return a > 40 ? 2 : 1; }
  export function rounded(a: f64): i32 { return <i32>(a * 100_000_000); }
  let last = 0.0;
  export function previous(a: f64): f64 { const before = last; last = a; return before; }
  export function table(a: i64): f32 { return load<f32>(<u32>a << 20); }`;

const count = 136;
const called: { code?: LoadedCode; name: string } = { name: '' };
const kernel = new VmKernel((_fn, columns) => called.code?.call(called.name, columns));

test('modules give the same results, errors and faults without the passes that only speed up', async () => {
  const random = randomFrom(102_102);
  const sampleOf = (type: string): Value => {
    if (random(40) === 0) return [null, undefined, 'text', 2.5, true, 2n ** 40n, -1n, new ValueError('bad')][random(8)];
    return type === 'bigint' ? BigInt(random(30)) : random(2000) / 32;
  };
  const modules = { numbers: guest('numbers'), unroll: guest('unroll'), inlined: await compileText(inlined) };
  for (const [module, bytes] of Object.entries(modules)) {
    const { ready, manifest } = prepare(bytes);
    const path = join(folder, `${module}.wasm`);
    writeFileSync(path, ready);
    for (const fn of manifest.functions) {
      const columns = fn.args.map(({ type }) => Array.from({ length: 2 * count }, () => sampleOf(type)));
      const results = async (list: readonly Pass[], step: number, limits: { callFuel: bigint; batchFuel: bigint }) => {
        const faults: string[] = [];
        const host: CodeHost = { log: () => {}, fault: (reason) => faults.push(reason) };
        called.name = fn.name;
        called.code = await loadModule({ kind: 'wasm', name: 'm', version: 1, path, manifest, limits }, host, list);
        const rows = Array.from({ length: count }, (_, i) => i * step);
        kernel.setBatch(columns, 2 * count, rows);
        const args = columns.map((_column, i) => (i === 1 && step === 2 ? constant(0) : col(i)));
        const consts = [{ tag: 'i64', value: 5n }] as const;
        const found = kernel.run({ ops: [{ op: 'call.host', dst: 0, args, imm: 0 }], consts: [...consts] }, rows, 0);
        return { shown: found.map((value) => (value instanceof ValueError ? value.message : String(value))), faults };
      };
      const plenty = { callFuel: 100_000n, batchFuel: 50_000_000n };
      const few = { callFuel: 2_000n, batchFuel: 60_000n };
      for (const step of [1, 2]) {
        for (const limits of [plenty, few]) {
          const wanted = await results(passes, step, limits);
          for (const [how, list] of lists)
            assert.equal(await results(list, step, limits), wanted, `${module}.${fn.name} ${how}, step ${step}`);
        }
      }
    }
  }
});

test('a pass is left out with the one that it needs, unless modules are unsafe without it', () => {
  const seen: string[] = [];
  const pass = (name: string, needs: readonly string[], gain?: string): Pass => ({
    name,
    does: 'notes that it ran',
    stage: 'load',
    needs,
    ...(gain === undefined ? {} : { optional: gain }),
    run(module) {
      seen.push(name);
      return module;
    },
  });
  const all = [pass('fuel', []), pass('dense', [], 'much'), pass('unroll', ['fuel', 'dense'], 'more')];
  const module = unpassed(new Uint8Array());
  runPasses('load', module, all);
  assert.equal(seen.splice(0), ['fuel', 'dense', 'unroll']);
  runPasses('load', module, [all[0]!, all[2]!]);
  assert.equal(seen.splice(0), ['fuel']);
  runPasses('install', module, all);
  assert.equal(seen, []);
  assert.throws(() => runPasses('load', module, [pass('export', ['fuel'])]), 'export needs fuel');
});

test('each pass has a name of its own, and needs only passes before it', () => {
  const before = new Set<string>();
  for (const { name, needs } of passes) {
    assert.not.ok(before.has(name), name);
    assert.ok(
      needs.every((need) => before.has(need)),
      name,
    );
    before.add(name);
  }
});

test.run();
