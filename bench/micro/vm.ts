/**
 * ns per row of the program interpreter: `temp > 21 AND speed * 3.6 < 100 AND device LIKE 'dev-0%'` over batches of
 * 1024 rows. The batches differ and take turns, else the branch predictor would learn them by heart.
 */
import { column } from '../../kernels/gen/layouts.js';
import type { Program } from '../../kernels/plan/ir.js';
import { col, constant, reg } from '../../kernels/plan/ir.js';
import { VmKernel } from '../../test/support/kernel/vm-kernel.js';

const rows = 1024;
const batchCount = 16;
const rounds = 20_000;

let seed = 12345;
const random = () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};

const kernel = new VmKernel();
const all = Array.from({ length: rows }, (_, i) => i);

/** Fills the batches; `nulls` is the share of rows without a temperature. */
function prepare(nulls: number): Uint8Array[][] {
  return Array.from({ length: batchCount }, () => {
    const temp = all.map(() => (random() < nulls ? null : random() * 40));
    const speed = all.map(() => random() * 50);
    const device = all.map(
      () =>
        `dev-${Math.floor(random() * 2000)
          .toString()
          .padStart(4, '0')}`,
    );
    kernel.setBatch([temp, speed, device], rows, all, true);
    return [0, 1, 2].map((i) => {
      const at = kernel.exports.columnAt(i);
      return new Uint8Array(kernel.values.bytes().subarray(at, at + column.size));
    });
  });
}

function measure(name: string, program: Program, nulls: number): void {
  const batches = prepare(nulls);
  const kept = batches.map((columns) =>
    columns.map((bytes) => {
      const at = kernel.exports.alloc(bytes.length, 0);
      kernel.values.bytes().set(bytes, at);
      return at;
    }),
  );
  const made = kernel.load(program);
  kernel.exports.batchSize(rows, rows);
  let best = Number.POSITIVE_INFINITY;
  for (let repeat = 0; repeat < 5; repeat++) {
    const start = performance.now();
    for (let i = 0; i < rounds / 5; i++) {
      const blocks = kept[i % batchCount];
      if (blocks !== undefined) kernel.exports.batchColumns(blocks[0] ?? 0, blocks[1] ?? 0, blocks[2] ?? 0);
      kernel.exports.vmRun(made);
    }
    best = Math.min(best, ((performance.now() - start) * 1e6) / (rounds / 5) / rows);
  }
  console.log(`${name.padEnd(44)} ${best.toFixed(2)} ns/row`);
  kernel.exports.programFree(made);
}

const temp = { op: 'compare.gt', dst: 0, a: col(0), b: constant(0) } as const;
const product = { op: 'arith.mul', dst: 1, a: col(1), b: constant(1) } as const;
const speed = { op: 'compare.lt', dst: 2, a: reg(1), b: constant(2) } as const;
const both = { op: 'logic.and', dst: 3, a: reg(0), b: reg(2) } as const;
const device = { op: 'compare.like', dst: 4, a: col(2), b: constant(3) } as const;
const three = { op: 'logic.and', dst: 5, a: reg(3), b: reg(4) } as const;
const consts: Program['consts'] = [
  { tag: 'i64', value: 21n },
  { tag: 'f64', value: 3.6 },
  { tag: 'i64', value: 100n },
  { tag: 'str', value: 'dev-0%' },
];

measure('one comparison', { ops: [temp], consts }, 0);
measure('two terms', { ops: [temp, product, speed, both], consts }, 0);
measure('three terms', { ops: [temp, product, speed, both, device, three], consts }, 0);
measure(
  'three terms, 5 % of the temperatures null',
  { ops: [temp, product, speed, both, device, three], consts },
  0.05,
);
