/**
 * Decoding speed of sources: MQTT packets of 90-byte JSON messages to columns, ns per message, on data that does not
 * repeat within a round. `npx tsx bench/micro/decode.ts [rounds] [each]`; "each" also measures every variation of
 * "varied" alone
 */
import type { ColumnUse } from '../../kernels/plan/ir.js';
import { field, publish } from '../../test/support/kernel/streams.js';
import { loadTextKernel, TestSource } from '../../test/support/kernel/text-kernel.js';
import { ID_MARK } from '../messages/frames.js';
import { payloadOf } from '../workloads/telemetry.js';

const rounds = Number(process.argv[2] ?? 15);
const count = 60_000;
const kernel = loadTextKernel();

interface Row {
  id: number;
  device: string;
  temp: number;
  speed: number;
  hum: number;
  ts: number;
}

function row(i: number): Row {
  const random = (i * 2654435761) >>> 0;
  return {
    id: 100_000 + i,
    device: `dev-${String(random % 1000).padStart(4, '0')}`,
    temp: Math.round((10 + (random % 2500) / 100) * 100) / 100,
    speed: Math.round((random >>> 3) % 1200) / 10,
    hum: ((random >>> 5) % 1000) / 10,
    ts: 1_700_000_000_000 + i,
  };
}

function shuffled(value: Row, i: number): string {
  const entries = Object.entries(value);
  for (let k = entries.length - 1, r = (i * 2246822519) >>> 0; k > 0; k--, r = (r * 16807 + 11) >>> 0) {
    const j = (r >>> 8) % (k + 1);
    [entries[k], entries[j]] = [entries[j]!, entries[k]!];
  }
  return JSON.stringify(Object.fromEntries(entries));
}

const four = ['id', 'device', 'temp', 'speed'].map(field);
const typed: ColumnUse[] = four.map((use, i) => ({
  kind: 'field',
  name: (use as { name: string }).name,
  type: { type: (['bigint', 'string', 'float', 'float'] as const)[i]! },
}));
/** Message `i` of the workloads' data set "varied", in variation `kind` of six. */
const varied = (i: number, kind: number) => payloadOf(row(i), 'varied', kind).replace(ID_MARK, String(100_000_000 + i));
const sets: { name: string; text: (i: number) => string; columns?: ColumnUse[]; ints?: boolean }[] = [
  { name: 'the plain shape, 4 of 6 columns', text: (i) => JSON.stringify(row(i)) },
  { name: 'the plain shape, 2 of 6 columns', text: (i) => JSON.stringify(row(i)), columns: four.slice(1, 3) },
  {
    name: 'typed (bigint, string, float, float)',
    text: (i) => JSON.stringify(row(i)),
    columns: typed,
  },
  { name: 'space after colons and commas', text: (i) => JSON.stringify(row(i)).replace(/([:,])"/g, '$1 "') },
  { name: '4 shapes in turn', text: (i) => shuffled(row(i), i % 4) },
  { name: 'random key order', text: (i) => shuffled(row(i), i) },
  {
    name: 'extra fields (string, null, list)',
    text: (i) => JSON.stringify({ ...row(i), site: 'north', fault: null, tags: ['a', i % 9] }),
  },
  { name: 'escapes and accents in the text', text: (i) => JSON.stringify({ ...row(i), device: `d"v-é${i % 1000}` }) },
  { name: 'mixed: one of the above each', text: (i) => sets[[0, 3, 4, 5, 6, 7][(i * 7919 + (i >> 3)) % 6]!]!.text(i) },
  { name: 'workloads, varied in turn', text: (i) => varied(i, i), columns: typed },
  { name: 'workloads, varied at random', text: (i) => varied(i, ((i * 2246822519) >>> 7) % 6), columns: typed },
  { name: 'workloads, varied, 3 of 6 columns', text: (i) => varied(i, i), columns: typed.slice(1) },
];
if (process.argv[3] === 'each') {
  for (let k = 0; k < 6; k++) sets.push({ name: `variation ${k} alone`, text: (i) => varied(i, k), columns: typed });
}

for (const { name, text, columns } of sets) {
  const packets: Buffer[] = [];
  let payloadBytes = 0;
  for (let i = 0; i < count; i++) {
    const payload = text(i);
    payloadBytes += Buffer.byteLength(payload);
    packets.push(publish('bench/telemetry', payload));
  }
  const bytes = Buffer.concat(packets);
  const source = new TestSource(kernel, { framing: 'mqtt' }, columns ?? four, 1024);
  const at: number = kernel.alloc(bytes.length + 64, 0) >>> 0;
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    // Behind each fill the kernel writes a sentinel only at the end, so the input stays as it is.
    new Uint8Array(kernel.memory.buffer).set(bytes, at);
    const started = process.hrtime.bigint();
    let p = at;
    let rows = 0;
    do {
      p = kernel.sourceFill(source.node, p, at + bytes.length) >>> 0;
      rows += kernel.filledRows.value;
    } while (kernel.fillMore.value);
    times.push(Number(process.hrtime.bigint() - started) / count);
    if (rows !== count || kernel.filledErrors.value !== 0) throw new Error(`${name}: ${rows} rows`);
  }
  times.sort((a, b) => a - b);
  const median = times[times.length >> 1]!;
  console.log(
    `${name.padEnd(38)} ${(payloadBytes / count).toFixed(0).padStart(4)} B  best ` +
      `${times[0]!.toFixed(1).padStart(6)}  median ${median.toFixed(1).padStart(6)} ns/message`,
  );
  kernel.free(at, bytes.length + 64, 0);
  source.close();
}
