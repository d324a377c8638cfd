/**
 * Functions of numbers that a user brings, with all passes over their module and without each of those that only speed
 * up, beside the built-in operation for the same: ns per row over batches of 1,024 rows that differ and take turns, the
 * least of all rounds, in turns. The call from the kernel to the host is not in it.
 *
 *     npx tsx bench/micro/scalar-plugin.ts [ROUNDS]
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import asc from 'assemblyscript/asc';
import type { CodeHost } from '../../host/plugins/define.js';
import { loadModule } from '../../host/plugins/wasm/load.js';
import { passes } from '../../host/plugins/wasm/passes/list.js';
import { prepare } from '../../host/plugins/wasm/prepare/prepare.js';
import type { HostColumns } from '../../kernels/api.js';
import { column } from '../../kernels/gen/layouts.js';
import { col, constant, type Program, reg } from '../../kernels/plan/ir.js';
import { VmKernel } from '../../test/support/kernel/vm-kernel.js';

const rows = 1024;
const batchCount = 16;
const rounds = Number(process.argv[2] ?? 20);
/** Calls of the module in one call from the kernel. */
const calls = 20;
const limits = { callFuel: 20_000_000n, batchFuel: 250_000_000n };

const text = `
  export function absolute(x: f64): f64 { return abs(x); }
  export function linear(a: f64, b: f64): f64 { return a * b + 1; }
  export function digits(n: i64): i32 {
    let count = 1;
    for (let rest = n / 10; rest; rest /= 10) count++;
    return count;
  }
  const table = memory.data<f64>([${Array.from({ length: 64 }, (_, i) => i * 1.5).join()}]);
  export function calibrated(x: f64): f64 { return load<f64>(table + ((<i32>x & 63) << 3)) * x + 1; }
  let last: f64 = 0;
  export function smooth(x: f64): f64 { last = last * 0.9 + x * 0.1; return last; }
  export function power(x: f64): f64 {
    let y: f64 = 1;
    for (let i = 0; i < 4; i++) y *= x;
    return y;
  }`;

let seed = 12345;
const random = () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};

async function compile(): Promise<Uint8Array<ArrayBuffer>> {
  let binary: Uint8Array | undefined;
  const { error, stderr } = await asc.main(['module.ts', '--outFile', 'module.wasm', '-O3', '--runtime', 'stub'], {
    readFile: (name) => (name === 'module.ts' ? text : null),
    writeFile: (name, contents) => {
      if (name === 'module.wasm') binary = contents as Uint8Array;
    },
    listFiles: () => [],
  });
  if (error !== null || binary === undefined) throw new Error(stderr.toString());
  return Uint8Array.from(binary);
}

let run: (columns: HostColumns) => void = () => {};
const kernel = new VmKernel((_fn, columns) => run(columns));
const all = Array.from({ length: rows }, (_, i) => i);
/** Blocks of the columns of each batch: two of doubles, one of whole numbers. */
const batches = Array.from({ length: batchCount }, () => {
  const columns = [
    all.map(() => random() * 40 - 20),
    all.map(() => random() * 50),
    all.map(() => BigInt(Math.floor(random() ** 4 * 1e9))),
  ];
  kernel.setBatch(columns, rows, all, true);
  return columns.map((_column, i) => {
    const at = kernel.exports.columnAt(i);
    const bytes = new Uint8Array(kernel.values.bytes().subarray(at, at + column.size));
    const kept = kernel.exports.alloc(bytes.length, 0);
    kernel.values.bytes().set(bytes, kept);
    return kept;
  });
});
kernel.exports.batchSize(rows, rows);

const { ready, manifest } = prepare(await compile());
const folder = mkdtempSync(join(tmpdir(), 'scalar-plugin-'));
const path = join(folder, 'module.wasm');
writeFileSync(path, ready);
const host: CodeHost = {
  log: () => {},
  fault: (reason) => {
    throw new Error(reason);
  },
};
const code = { kind: 'wasm', name: 'numbers', version: 1, path, manifest, limits } as const;
const optional = passes.filter(({ optional }) => optional !== undefined);
const modules = new Map([
  ['all passes', await loadModule(code, host)],
  ...(await Promise.all(
    optional.map(async (pass) => {
      const others = passes.filter((one) => one !== pass);
      return [`without ${pass.name}`, await loadModule(code, host, others)] as const;
    }),
  )),
  [
    'without these',
    await loadModule(
      code,
      host,
      passes.filter((one) => !optional.includes(one)),
    ),
  ],
]);

/** Runs a program over a batch; returns how long it took, ms. */
type Run = (batch: number) => number;

function builtIn(program: Program): Run {
  const made = kernel.load(program);
  return (batch) => {
    const [a = 0, b = 0, c = 0] = batches[batch] ?? [];
    kernel.exports.batchColumns(a, b, c);
    const began = performance.now();
    for (let i = 0; i < calls; i++) kernel.exports.vmRun(made);
    return performance.now() - began;
  };
}

function called(entry: string, columns: readonly number[]): Record<string, Run> {
  const program = kernel.load({ ops: [{ op: 'call.host', dst: 0, args: columns.map(col), imm: 0 }], consts: [] });
  const runs = [...modules].map(([how, module]): [string, Run] => [
    `${entry}, ${how}`,
    (batch) => {
      const [a = 0, b = 0, c = 0] = batches[batch] ?? [];
      kernel.exports.batchColumns(a, b, c);
      let took = 0;
      run = (given) => {
        const began = performance.now();
        for (let i = 0; i < calls; i++) module.call(entry, given);
        took = performance.now() - began;
      };
      kernel.exports.vmRun(program);
      return took;
    },
  ]);
  return Object.fromEntries(runs);
}

function measure(runs: Readonly<Record<string, Run>>): void {
  const best = new Map<string, number>();
  for (let round = 0; round < rounds; round++) {
    for (const [name, one] of Object.entries(runs)) {
      let took = 0;
      for (let batch = 0; batch < batchCount; batch++) took += one(batch);
      const ns = (took * 1e6) / calls / batchCount / rows;
      best.set(name, Math.min(best.get(name) ?? Number.POSITIVE_INFINITY, ns));
    }
  }
  for (const [name, ns] of best) console.log(`${name.padEnd(32)} ${ns.toFixed(2).padStart(6)} ns/row`);
}

const one: Program['consts'] = [{ tag: 'i64', value: 1n }];
measure({
  'abs(a)': builtIn({ ops: [{ op: 'math.abs', dst: 0, a: col(0) }], consts: [] }),
  ...called('absolute', [0]),
  'a * b + 1': builtIn({
    ops: [
      { op: 'arith.mul', dst: 0, a: col(0), b: col(1) },
      { op: 'arith.add', dst: 1, a: reg(0), b: constant(0) },
    ],
    consts: one,
  }),
  ...called('linear', [0, 1]),
  ...called('calibrated', [0]),
  ...called('smooth', [0]),
  ...called('power', [0]),
  ...called('digits', [2]),
});
rmSync(folder, { recursive: true });
