/**
 * ns per message of functions that look back, partitioned by 1,000 devices, beside a plain JavaScript program of the same job: lines
 * of JSON in, lines of JSON out, without sockets. Both work on the same bytes in turns, the least of each counts.
 *
 *     npx tsx bench/micro/analytic.ts [ROUNDS]
 */
import { createKernel } from '../../kernels/index.js';
import { openRule } from '../../test/sql/rule-kernel.js';
import { kernelUnderTest } from '../../test/wasm/drive.js';

const rounds = Number(process.argv[2] ?? 8);
const devices = 1000;
const messages = 400_000;
const chunkBytes = 65536;

interface Message {
  device: string;
  temp: number;
  state: string;
  power: number;
}

let seed = 12345;
const random = () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};
const round = (value: number, digits: number) => Number(value.toFixed(digits));

function message(i: number): string {
  const device = `dev-${String(Math.floor(random() * devices)).padStart(4, '0')}`;
  const state = ['on', 'off', 'idle'][Math.floor(random() * 3)];
  return `{"device":"${device}","temp":${round(random() * 40, 2)},"state":"${state}","power":${round(random() * 900, 1)},"ts":${1_700_000_000_000 + i}}`;
}

interface Case {
  name: string;
  sql: string;
  /** What the statement gives for a row, from what is kept of its device. */
  step(row: Message, kept: Record<string, unknown>): object | undefined;
}

const cases: Case[] = [
  {
    name: 'lag of a number',
    sql: 'SELECT device, temp - lag(temp) OVER (PARTITION BY device) AS d FROM demo',
    step: ({ device, temp }, kept) => {
      const before = kept.temp as number | undefined;
      kept.temp = temp;
      return before === undefined ? { device } : { device, d: temp - before };
    },
  },
  {
    name: 'rows that changed',
    sql: 'SELECT device, state, lag(state) OVER (PARTITION BY device) AS was FROM demo WHERE had_changed(true, state) OVER (PARTITION BY device)',
    step: ({ device, state }, kept) => {
      const was = kept.state;
      if (was === state) return undefined;
      kept.state = state;
      return was === undefined ? { device, state } : { device, state, was };
    },
  },
  {
    name: 'five functions',
    sql:
      'SELECT device, lag(temp) OVER (PARTITION BY device) AS p, latest(state) OVER (PARTITION BY device) AS s, ' +
      'acc_sum(power) OVER (PARTITION BY device) AS e, acc_count(power) OVER (PARTITION BY device) AS n, ' +
      'acc_max(temp) OVER (PARTITION BY device) AS hi FROM demo',
    step: ({ device, temp, state, power }, kept) => {
      const p = kept.temp;
      kept.temp = temp;
      const e = ((kept.e as number | undefined) ?? 0) + power;
      const n = ((kept.n as number | undefined) ?? 0) + 1;
      const hi = Math.max((kept.hi as number | undefined) ?? temp, temp);
      Object.assign(kept, { e, n, hi });
      return { device, e, hi, n, ...(p === undefined ? {} : { p }), s: state };
    },
  },
];

const input = Buffer.from(`${Array.from({ length: messages }, (_, i) => message(i)).join('\n')}\n`);

/** Whole lines of about a chunk each: both sides get the same pieces. */
function chunks(): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0; at < input.length; ) {
    const end = input.lastIndexOf(10, Math.min(at + chunkBytes, input.length) - 1) + 1;
    parts.push(input.subarray(at, end));
    at = end;
  }
  return parts;
}

const parts = chunks();

function kernelRun({ sql }: Case): () => number {
  let written = 0;
  const kernel = createKernel(
    {
      onOutput: ({ bytes }) => {
        written += bytes.length;
      },
      onPacket: () => {},
      onAcknowledge: () => {},
      call: () => {},
    },
    kernelUnderTest,
  );
  const ddl = 'CREATE STREAM demo () WITH (DATASOURCE="demo", TYPE="memory")';
  const rule = openRule([ddl], sql, { kernel, props: { sendSingle: true } });
  return () => {
    written = 0;
    for (const part of parts) rule.feed('demo', part);
    return written;
  };
}

function twinRun({ step }: Case): () => number {
  const states = new Map<string, Record<string, unknown>>();
  return () => {
    let written = 0;
    for (const part of parts) {
      let out = '';
      for (const line of part.toString().split('\n')) {
        if (line === '') continue;
        const row = JSON.parse(line) as Message;
        const kept = states.get(row.device) ?? {};
        states.set(row.device, kept);
        const result = step(row, kept);
        if (result !== undefined) out += `${JSON.stringify(result)}\n`;
      }
      written += Buffer.from(out).length;
    }
    return written;
  };
}

for (const one of cases) {
  const sides = [kernelRun(one), twinRun(one)];
  const best = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  const written = [0, 0];
  for (let turn = 0; turn < rounds; turn++) {
    sides.forEach((run, side) => {
      const start = performance.now();
      written[side] = run();
      best[side] = Math.min(best[side]!, performance.now() - start);
    });
  }
  const [kernel, twin] = best.map((ms) => (ms * 1e6) / messages) as [number, number];
  if (Math.abs(written[0]! - written[1]!) > written[1]! / 1000)
    throw new Error(`${one.name}: ${written.join(' and ')} bytes`);
  console.log(
    `${one.name.padEnd(18)} ${kernel.toFixed(0).padStart(5)} ns/message, plain JavaScript ${twin.toFixed(0).padStart(5)}: ${(twin / kernel).toFixed(1)} times`,
  );
}
