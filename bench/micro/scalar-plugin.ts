/**
 * A function of numbers that a user brings, beside the built-in operation for the same: ns per row over batches of
 * 1,024 rows that differ and take turns, the least of all rounds, in turns. The call from the kernel to the host is not
 * in it.
 *
 *     npx tsx bench/micro/scalar-plugin.ts [ROUNDS]
 */
import asc from 'assemblyscript/asc';
import { addEights, eight, resultExport } from '../../host/plugins/wasm/binary/eights.js';
import { fuelExport, meter } from '../../host/plugins/wasm/binary/meter.js';
import { freeFunctions, type PureFunction, pureFunctions } from '../../host/plugins/wasm/binary/pure.js';
import type { ValueType } from '../../host/plugins/wasm/binary/types.js';
import { wrapperFor } from '../../host/plugins/wasm/binary/wrapper.js';
import type { WrapperExports } from '../../host/plugins/wasm/binary/wrapper-form.js';
import { argument, column } from '../../kernels/gen/layouts.js';
import { col, constant, type Program, reg } from '../../kernels/ir.js';
import { VmKernel } from '../../test/support/kernel/vm-kernel.js';

const rows = 1024;
const batchCount = 16;
const rounds = Number(process.argv[2] ?? 20);
const repeats = 320;
const plenty = 1n << 40n;

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

const kernel = new VmKernel();
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

const fueled = meter(await compile());
const pure = pureFunctions(fueled);
const free = freeFunctions(fueled, fuelExport);
const names = ['absolute', 'linear', 'digits', 'calibrated', 'smooth', 'power'];
const { bytes: metered, exports: eights } = addEights(fueled, names, (name) => free.has(name));
const guest = new WebAssembly.Instance(new WebAssembly.Module(metered), {}).exports as unknown as Record<
  string,
  object
>;
const table = kernel.exports.alloc(64 * argument.size, 0);
const result = kernel.exports.registerAt(7);

function builtIn(program: Program): (batch: number) => void {
  const made = kernel.load(program);
  return (batch) => {
    const [a = 0, b = 0, c = 0] = batches[batch] ?? [];
    kernel.exports.batchColumns(a, b, c);
    kernel.exports.vmRun(made);
  };
}

function wrapped(
  name: string,
  params: readonly ValueType[],
  results: readonly ValueType[],
  columns: readonly number[],
  how: PureFunction | 'eights' | 'one by one' = 'eights',
) {
  const sister = eights.get(name);
  const hasEight = how === 'eights' && sister !== undefined;
  const taken = Array.from({ length: eight }, (_, row) => [`result${row}`, guest[resultExport(row)]]);
  const imports = {
    kernel: { memory: kernel.exports.memory },
    guest: {
      call: guest[name],
      fuel: guest[fuelExport],
      ...(hasEight ? { eight: guest[sister], ...Object.fromEntries(taken) } : {}),
    },
  };
  const shape = { pure: typeof how === 'string' ? undefined : how, isFree: free.has(name), hasEight };
  const wrapper = new WebAssembly.Instance(
    new WebAssembly.Module(wrapperFor({ params, results }, shape)),
    imports as unknown as Record<string, Record<string, never>>,
  ).exports as unknown as WrapperExports;
  const sel = kernel.exports.selectionAt();
  return (batch: number): void => {
    wrapper.callFuel.value = 1_000_000n;
    wrapper.batchFuel.value = plenty;
    columns.forEach((one, i) => {
      const block = batches[batch]?.[one] ?? 0;
      const view = kernel.values.view();
      view.setUint32(table + i * argument.size + argument.at.vals, block + column.at.vals, true);
      view.setUint32(table + i * argument.size + argument.at.tags, block + column.at.tags, true);
      view.setUint32(table + i * argument.size + argument.at.stride, 1, true);
    });
    const marked = wrapper.run(0, rows, sel, table, result + column.at.vals, result + column.at.tags);
    if (marked !== 0) throw new Error(`${marked} rows of ${name} have no result`);
  };
}

function measure(runs: Readonly<Record<string, (batch: number) => void>>): void {
  const best = new Map<string, number>();
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of Object.entries(runs)) {
      const began = performance.now();
      for (let i = 0; i < repeats; i++) run(i % batchCount);
      const ns = ((performance.now() - began) * 1e6) / repeats / rows;
      best.set(name, Math.min(best.get(name) ?? Number.POSITIVE_INFINITY, ns));
    }
  }
  for (const [name, ns] of best) console.log(`${name.padEnd(30)} ${ns.toFixed(2).padStart(6)} ns/row`);
}

const one: Program['consts'] = [{ tag: 'i64', value: 1n }];
measure({
  'abs(a)': builtIn({ ops: [{ op: 'math.abs', dst: 0, a: col(0) }], consts: [] }),
  'absolute(a), one by one': wrapped('absolute', ['f64'], ['f64'], [0], 'one by one'),
  'absolute(a)': wrapped('absolute', ['f64'], ['f64'], [0]),
  'absolute(a), inside': wrapped('absolute', ['f64'], ['f64'], [0], pure.get('absolute')),
  'a * b + 1': builtIn({
    ops: [
      { op: 'arith.mul', dst: 0, a: col(0), b: col(1) },
      { op: 'arith.add', dst: 1, a: reg(0), b: constant(0) },
    ],
    consts: one,
  }),
  'linear(a, b), one by one': wrapped('linear', ['f64', 'f64'], ['f64'], [0, 1], 'one by one'),
  'linear(a, b)': wrapped('linear', ['f64', 'f64'], ['f64'], [0, 1]),
  'linear(a, b), inside': wrapped('linear', ['f64', 'f64'], ['f64'], [0, 1], pure.get('linear')),
  'calibrated(a), one by one': wrapped('calibrated', ['f64'], ['f64'], [0], 'one by one'),
  'calibrated(a), with a table': wrapped('calibrated', ['f64'], ['f64'], [0]),
  'smooth(a), one by one': wrapped('smooth', ['f64'], ['f64'], [0], 'one by one'),
  'smooth(a), with a global': wrapped('smooth', ['f64'], ['f64'], [0]),
  'power(a), one by one': wrapped('power', ['f64'], ['f64'], [0], 'one by one'),
  'power(a), with a loop': wrapped('power', ['f64'], ['f64'], [0]),
  'digits(n), one by one': wrapped('digits', ['i64'], ['i32'], [2], 'one by one'),
  'digits(n), with a loop': wrapped('digits', ['i64'], ['i32'], [2]),
});
