/**
 * Cost of a message that comes alone, and of each rule in it, for rules that compare a column with distinct constants,
 * in builds of the kernel, in strict turns.
 *
 *     npx tsx bench/micro/many-rules.ts CONDITION RULES ROUNDS none|json KERNEL.wasm…
 *
 * CONDITION is `threshold`, two thirds of which a message passes; `device`, one of which it passes; `list`, an IN of
 * 300 devices with the same; `range`, a BETWEEN of which it passes ten; or `texts`, one of texts. `none`: their rows
 * are only counted; `json`: they are written, and handed to a host that drops them. The host of this checkout must fit
 * all kernels given.
 */
import { readFileSync } from 'node:fs';
import { createKernel } from '../../kernels/index.js';
import { type ConstValue, col, constant, type NodePlan, type Op, type OutputPlan, reg } from '../../kernels/plan/ir.js';
import { encode, f64, filter, linked } from '../../test/support/kernel/drive.js';
import { field, mqtt, publish } from '../../test/support/kernel/streams.js';

const [condition, rules, rounds, format, ...kernels] = process.argv.slice(2);
if (rules === undefined || rounds === undefined || (format !== 'none' && format !== 'json') || kernels.length === 0) {
  throw new Error('usage: many-rules.ts threshold|device|list|range|texts RULES ROUNDS none|json KERNEL.wasm…');
}
const count = Number(rules);

/** Where the messages of the workload `rules` stand among the thresholds, as shares of all rules that they pass. */
const shares = Array.from({ length: 64 }, (_, i) => (i % 3 === 0 ? 0 : i % 3 === 1 ? 1 : ((i * 37) % 64) / 64 + 0.5));
const messages = shares.map((share, i) =>
  publish(
    'a',
    `{"id":${i},"device":"dev-${Math.floor((i * count) / shares.length)}",` +
      `"temp":${(21 + Math.min(share, 1)).toFixed(5)},"hum":${i}.5}`,
  ),
);

const listLength = 300;
const str = (value: string): ConstValue => ({ tag: 'str', value });

function filterBy(op: Op, consts: ConstValue[]): NodePlan {
  return { kind: 'filter', input: { source: 0 }, program: { ops: [op], consts }, condition: reg(0), name: 'filter' };
}

/** The filter of a rule. */
function filterOf(i: number): NodePlan {
  if (condition === 'device') return filter('compare.eq', 2, str(`dev-${i}`));
  if (condition === 'list') {
    const consts = Array.from({ length: listLength }, (_, k) => str(k === 0 ? `dev-${i}` : `none-${i}-${k}`));
    return filterBy({ op: 'compare.in', dst: 0, a: col(2), args: consts.map((_, k) => constant(k)) }, consts);
  }
  if (condition === 'texts') {
    // From one device to the next: `dev-7` to `dev-7~`.
    const op: Op = { op: 'compare.between', dst: 0, a: col(2), b: constant(0), c: constant(1) };
    return filterBy(op, [str(`dev-${i}`), str(`dev-${i}~`)]);
  }
  if (condition !== 'range') return filter('compare.gt', 0, f64(21 + i / count));
  const [low, high] = [21 + i / count, 21 + (i + 10) / count];
  const op: Op = { op: 'compare.between', dst: 0, a: col(0), b: constant(0), c: constant(1) };
  return filterBy(op, [f64(low), f64(high)]);
}

/** Opens the rules; the function returned sends each message and gives the times, ms. */
function open(path: string, output: OutputPlan['format']): () => number[] {
  const kernel = createKernel(
    { onOutput: () => {}, onPacket: () => {}, onAcknowledge: () => {}, call: () => {} },
    new WebAssembly.Module(new Uint8Array(readFileSync(path))),
  );
  const stream = kernel.openStream(mqtt);
  kernel.useColumns(stream, ['temp', 'id', 'device'].map(field));
  for (let i = 0; i < count; i++) {
    const node = kernel.addNode({ stream }, linked(filterOf(i), { host: i }));
    kernel.addNode({ node }, linked(encode({ id: 1, device: 2, temp: 0 }, { format: output }), { host: i }));
  }
  return () =>
    messages.map((message) => {
      kernel.inputBuffer(stream).set(message);
      const began = performance.now();
      kernel.feed(stream, message.length, 1000);
      return performance.now() - began;
    });
}

const runs = kernels.map((path) => ({ path, run: open(path, format), times: messages.map((): number[] => []) }));
// The lists of conditions are made and the compiler is done.
for (const { run } of runs) for (let i = 0; i < 20; i++) run();
for (let round = 0; round < Number(rounds); round++) {
  for (const { run, times } of runs) {
    run().forEach((ms, i) => {
      times[i]!.push(ms);
    });
  }
}
for (const { path, times } of runs) {
  const share = (at: number) =>
    times.reduce((sum, list) => sum + list.sort((a, b) => a - b)[Math.floor(list.length * at)]!, 0);
  const ns = (ms: number) => ((ms * 1e6) / messages.length / count).toFixed(2);
  const us = (ms: number) => ((ms * 1e3) / messages.length).toFixed(1);
  const mean = times.reduce((sum, list) => sum + list.reduce((a, b) => a + b, 0) / list.length, 0);
  console.log(
    `a message: least ${us(share(0))}, median ${us(share(0.5))} us; ` +
      `of it a rule: least ${ns(share(0))}, median ${ns(share(0.5))}, mean ${ns(mean)} ns  ${path}`,
  );
}
