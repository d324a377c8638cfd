/**
 * ns per message of the whole kernel path on one core, without sockets: frame, decode, filter, project, encode.
 *
 *     w1     MQTT QoS 0 packets of 16 rotating devices, SELECT device, temp * 1.8 + 32 WHERE temp > 20, an object a
 *     line
 *     p      the same with eight columns passed through and one computed text comparison, messages of varied shape
 *     rules  filters without output on one stream: ns per rule and batch of five messages
 *
 * The data rotate through 32 MB of input, else the branch predictor would learn it by heart.
 */
import type { Kernel, NodeHandle } from '../../kernels/api.js';
import { createKernel } from '../../kernels/index.js';
import {
  type ColumnUse,
  col,
  constant,
  type NodePlan,
  type OutputPlan,
  type Program,
  reg,
} from '../../kernels/plan/ir.js';
import { encode, f64, filter, kernelUnderTest, linked } from '../../test/support/kernel/drive.js';
import { field, mqtt, output, publish } from '../../test/support/kernel/streams.js';

let seed = 12345;
const random = () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};
const round = (value: number, digits: number) => Number(value.toFixed(digits));

let bytesOut = 0;
let calls = 0;
const newKernel = (): Kernel =>
  createKernel(
    {
      onOutput: ({ bytes }) => {
        bytesOut += bytes.length;
        calls++;
      },
      onPacket: () => {},
      onAcknowledge: () => {},
      call: () => {},
    },
    kernelUnderTest,
  );

interface Workload {
  name: string;
  columns: ColumnUse[];
  condition: NodePlan;
  encode: NodePlan;
  message(i: number): string;
}

function computed(program: Program, fields: Record<string, number>): NodePlan {
  const shape: OutputPlan['shape'] = {
    kind: 'fields',
    fields: Object.entries(fields).map(([name, operand]) => ({ name, operand, plain: operand >= 0x4000 })),
  };
  return {
    kind: 'encode',
    input: { source: 0 },
    program,
    output: { ...output, shape },
    actions: [0],
    name: 'encode',
  };
}

const fahrenheit: Program = {
  ops: [
    { op: 'arith.mul', dst: 1, a: col(0), b: constant(0) },
    { op: 'arith.add', dst: 2, a: reg(1), b: constant(1) },
  ],
  consts: [f64(1.8), f64(32)],
};

const workloads: Workload[] = [
  {
    name: 'w1',
    columns: [field('temp'), field('device')],
    condition: filter('compare.gt', 0, f64(20)),
    encode: computed(fahrenheit, { device: col(1), f: reg(2) }),
    message: (i) =>
      `{"device":"dev-${String(i % 16).padStart(4, '0')}","temp":${round(random() * 40, 2)},` +
      `"hum":${round(random() * 100, 1)},"ts":${1_700_000_000_000 + i}}`,
  },
  {
    name: 'p',
    columns: ['temp', 'device', 'site', 'hum', 'ts', 'ok', 'state', 'speed'].map(field),
    condition: filter('compare.ne', 6, { tag: 'str', value: 'off' }),
    encode: encode({ device: 1, hum: 3, ok: 5, site: 2, speed: 7, state: 6, temp: 0, ts: 4 }),
    message: (i) => {
      const base = {
        device: `dev-${Math.floor(random() * 2000)}`,
        temp: round(random() * 40, 2),
        hum: round(random() * 100, 1),
        ts: 1_700_000_000_000 + i,
        site: `hall ${Math.floor(random() * 12)}`,
        ok: random() < 0.9,
        state: ['on', 'off', 'idle'][Math.floor(random() * 3)],
        ...(random() < 0.8 ? { speed: round(random() * 3000, 3) } : {}),
      };
      return JSON.stringify(base);
    },
  },
];

function run({ name, columns, condition, encode: plan, message }: Workload): void {
  const kernel = newKernel();
  const stream = kernel.openStream(mqtt);
  kernel.useColumns(stream, columns);
  const node = kernel.addNode({ stream }, linked(condition));
  const sink = kernel.addNode({ node }, linked(plan));
  const packets: Uint8Array[] = [];
  let size = 0;
  while (size < 32 << 20) {
    const packet = publish('fleet/a', message(packets.length));
    packets.push(packet);
    size += packet.length;
  }
  const input = Buffer.concat(packets);
  let best = Number.POSITIVE_INFINITY;
  for (let repeat = 0; repeat < 4; repeat++) {
    const start = performance.now();
    for (let at = 0; at < input.length; at += 65536) {
      const part = input.subarray(at, at + 65536);
      kernel.inputBuffer(stream).set(part);
      kernel.feed(stream, part.length, 1000);
    }
    best = Math.min(best, performance.now() - start);
  }
  const ns = (best * 1e6) / packets.length;
  const kept = kernel.counters(sink).recordsOut / 4 / packets.length;
  console.log(
    `${name.padEnd(6)} ${ns.toFixed(1)} ns/message, ${(1000 / ns).toFixed(2)} M/s, ` +
      `${(input.length / best / 1000).toFixed(0)} MB/s in, ${(kept * 100).toFixed(0)} % kept`,
  );
}

function rules(count: number): void {
  const kernel = newKernel();
  const stream = kernel.openStream(mqtt);
  kernel.useColumns(stream, [field('temp'), field('device')]);
  const before = kernel.memory().inUse;
  const start = performance.now();
  const sinks: NodeHandle[] = [];
  for (let i = 0; i < count; i++) {
    const node = kernel.addNode({ stream }, linked(filter('compare.gt', 0, f64(1000 + i)), { host: i }));
    sinks.push(kernel.addNode({ node }, linked(encode({ device: 1 }, { format: 'none' }), { host: i })));
  }
  const added = performance.now() - start;
  const bytes = (kernel.memory().inUse - before) / count;
  const batches = Array.from({ length: 64 }, () =>
    Buffer.concat(Array.from({ length: 5 }, () => publish('a', `{"device":"x","temp":${round(random() * 40, 2)}}`))),
  );
  const times = Math.max(64, Math.floor(2e6 / count));
  let best = Number.POSITIVE_INFINITY;
  for (let repeat = 0; repeat < 3; repeat++) {
    const from = performance.now();
    for (let i = 0; i < times; i++) {
      const batch = batches[i % 64] as Buffer;
      kernel.inputBuffer(stream).set(batch);
      kernel.feed(stream, batch.length, 1000);
    }
    best = Math.min(best, performance.now() - from);
  }
  const ns = (best * 1e6) / times / count;
  console.log(
    `rules  ${count} rules: ${ns.toFixed(1)} ns per rule and batch, ${bytes.toFixed(0)} bytes each, ` +
      `${((added * 1000) / count).toFixed(1)} µs to add`,
  );
}

for (const workload of workloads) run(workload);
for (const count of [1, 1000, 10_000]) rules(count);
console.log(`${(bytesOut / 1e6).toFixed(0)} MB out in ${calls} calls`);
