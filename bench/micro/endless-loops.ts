/**
 * How long guests that do not end hold the thread of all rules: a batch of 1,024 rows of which each call is endless, in
 * a module that V8 has not seen yet and in one that it has optimised, beside the built-in function over the same batch.
 * Times of the clock, and of the processor (a busy machine makes the former longer, threads of V8 that compile the
 * latter): the least of all rounds.
 *
 *     npx tsx bench/micro/endless-loops.ts [ROUNDS [LOOP]]
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import asc from 'assemblyscript/asc';
import type { CodeHost, LoadedCode } from '../../host/plugins/define.js';
import { loadCode } from '../../host/plugins/index.js';
import { SectionId } from '../../host/plugins/wasm/binary/sections.js';
import { ByteWriter } from '../../host/plugins/wasm/binary/writer.js';
import { prepare } from '../../host/plugins/wasm/prepare/prepare.js';
import { col, type Program } from '../../kernels/plan/ir.js';
import { VmKernel } from '../../test/support/kernel/vm-kernel.js';

const rows = 1024;
const rounds = Number(process.argv[2] ?? 10);
const only = process.argv[3];
const limits = { callFuel: 20_000_000n, batchFuel: 250_000_000n, callMs: 30, batchMs: 45 };
const folder = mkdtempSync(join(tmpdir(), 'endless-'));

const loops: Readonly<Record<string, string>> = {
  nothing: 'let i = 1; while (i != 0) i |= 1; return i;',
  'square roots': 'let x = <f64>n; while (x != -1) x = sqrt(x + 1e6); return <i32>x;',
  divisions: 'let x = n | 12345; while (x != 0) x = (7654321 / x) | 1; return x;',
  'memory far and wide':
    'let p: u32 = n; while (p != 1) p = (load<u32>(p & 0x3fffffc) + p * 1664525 + ' + '1013904223); return p;',
  'filling memory': 'while (n != -5) memory.fill(1024, 7, 32 << 20); return n;',
  recursion: 'return deep(n);',
  'growing by nothing': 'while (memory.grow(0) > 0) n++; return n;',
};
const textOf = (body: string) => `
  ${body.includes('memory.fill') || body.includes('load') ? 'memory.grow(1000);' : ''}
  function deep(n: i32): i32 { return n == -1 ? 0 : deep(n + 1) + deep(n + 2); }
  export function called(n: i32): i32 { deep(-1); ${body} }`;

async function compile(text: string): Promise<Uint8Array> {
  let binary: Uint8Array | undefined;
  const { error, stderr } = await asc.main(['m.ts', '--outFile', 'm.wasm', '-O3', '--runtime', 'stub'], {
    readFile: (name) => (name === 'm.ts' ? text : null),
    writeFile: (name, contents) => {
      if (name === 'm.wasm') binary = contents as Uint8Array;
    },
    listFiles: () => [],
  });
  if (error !== null || binary === undefined) throw new Error(stderr.toString());
  return binary;
}

const host: CodeHost = { log: () => {}, fault: () => {} };
let versions = 0;

/** A module that differs from all before: V8 knows those that it has seen. */
async function loaded(bytes: Uint8Array): Promise<LoadedCode> {
  const fresh = new ByteWriter().raw(bytes).section(SectionId.custom, (body) => body.name('x').raw(randomBytes(16)));
  const { ready, manifest } = prepare(fresh.take());
  const version = ++versions;
  const path = join(folder, `${version}.wasm`);
  writeFileSync(path, ready);
  return loadCode({ kind: 'wasm', name: 'endless', version, path, manifest, limits }, host);
}

let code: LoadedCode | undefined;
const kernel = new VmKernel((_fn, columns) => code?.call('called', columns));
const all = Array.from({ length: rows }, (_, i) => i);
kernel.setBatch([all.map((i) => BigInt(i + 1))], rows, all);
const call: Program = { ops: [{ op: 'call.host', dst: 0, args: [col(0)], imm: 0 }], consts: [] };
const abs: Program = { ops: [{ op: 'math.abs', dst: 0, a: col(0) }], consts: [] };
const programs = { call: kernel.load(call), abs: kernel.load(abs) };

const seen = new Map<string, { clock: number; processor: number }>();
function timed(name: string, program: number): void {
  const began = performance.now();
  const before = process.cpuUsage();
  kernel.exports.vmRun(program);
  const { user, system } = process.cpuUsage(before);
  const { clock = Infinity, processor = Infinity } = seen.get(name) ?? {};
  seen.set(name, {
    clock: Math.min(clock, performance.now() - began),
    processor: Math.min(processor, (user + system) / 1000),
  });
}

const modules = new Map<string, Uint8Array>();
for (const [name, body] of Object.entries(loops)) {
  if (only === undefined || only === name) modules.set(name, await compile(textOf(body)));
}
for (let round = 0; round < rounds; round++) {
  timed('built-in abs', programs.abs);
  for (const [name, bytes] of modules) {
    code = await loaded(bytes);
    timed(`${name}, new`, programs.call);
    await new Promise((resolve) => setTimeout(resolve, 50));
    timed(`${name}, again`, programs.call);
    code.close();
  }
}
for (const [name, { clock, processor }] of seen) {
  console.log(
    `${name.padEnd(28)} clock ${clock.toFixed(2).padStart(8)} ms, processor ${processor.toFixed(2).padStart(8)} ms`,
  );
}
rmSync(folder, { recursive: true });
