/**
 * Functions of users over texts, by all the ways that there are, beside the built-in operation: ns per row over batches
 * of 1,024 rows, the least of all rounds, in turns, with the call from the kernel to the host.
 *
 *     npx tsx bench/micro/text-plugin.ts [ROUNDS]
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import asc from 'assemblyscript/asc';
import type { CodeHost, DirectCode, LoadedCode } from '../../host/plugins/define.js';
import { loadCode } from '../../host/plugins/index.js';
import { withManifest } from '../../host/plugins/wasm/exports/embed.js';
import { prepare } from '../../host/plugins/wasm/prepare/prepare.js';
import { col, type Program } from '../../kernels/plan/ir.js';
import { VmKernel } from '../../test/support/kernel/vm-kernel.js';

const rows = 1024;
const rounds = Number(process.argv[2] ?? 10);
const repeats = 40;
const limits = { callFuel: 20_000_000n, batchFuel: 1_000_000_000n };
const folder = mkdtempSync(join(tmpdir(), 'text-plugin-'));

const script = `
  export function upper_as(text: string): string { return text.toUpperCase(); }
  export function letters_as(text: string): i32 { return text.length; }`;

async function compile(): Promise<Uint8Array> {
  let binary: Uint8Array | undefined;
  const { error, stderr } = await asc.main(
    ['module.ts', '--outFile', 'module.wasm', '-O3', '--runtime', 'incremental', '--exportRuntime'],
    {
      readFile: (name) => (name === 'module.ts' ? script : null),
      writeFile: (name, contents) => {
        if (name === 'module.wasm') binary = contents as Uint8Array;
      },
      listFiles: () => [],
    },
  );
  if (error !== null || binary === undefined) throw new Error(stderr.toString());
  const functions = [
    { name: 'upper_as', args: ['string'], result: 'string' },
    { name: 'letters_as', args: ['string'], result: 'bigint' },
  ];
  return withManifest(binary, JSON.stringify({ abi: 1, functions }));
}

const host: CodeHost = {
  log: () => {},
  fault: (reason) => {
    throw new Error(reason);
  },
};

function wasmCode(name: string, bytes: Uint8Array): DirectCode {
  const { ready, manifest } = prepare(bytes);
  const path = join(folder, `${name}.wasm`);
  writeFileSync(path, ready);
  return { kind: 'wasm', name, version: 1, path, manifest, limits };
}

const guest = (name: string) =>
  new Uint8Array(readFileSync(new URL(`../../test/guests/${name}.wasm`, import.meta.url)));
const scriptLimits = { callMs: 1000, batchMs: 10_000, memoryBytes: 64 << 20, stackBytes: 256 << 10 };
const codes = {
  texts: await loadCode(wasmCode('texts', guest('texts')), host),
  kit: await loadCode(wasmCode('kit', guest('kit')), host),
  strings: await loadCode(wasmCode('strings', await compile()), host),
  script: await loadCode(
    {
      kind: 'javascript',
      name: 'upper_js',
      version: 1,
      script: 'function upper_js(text) { return text.toUpperCase(); }',
      limits: scriptLimits,
    },
    host,
  ),
  numbers: await loadCode(
    {
      kind: 'javascript',
      name: 'twice_js',
      version: 1,
      script: 'function twice_js(n) { return n * 2 + 0.5; }',
      limits: scriptLimits,
    },
    host,
  ),
};

const calls: [LoadedCode, string, number][] = [];
const kernel = new VmKernel((fn, columns) => {
  const [code, entry] = calls[fn] as (typeof calls)[number];
  code.call(entry, columns);
});
const all = Array.from({ length: rows }, (_, i) => i);
const texts = all.map((i) => `sensor-${(i * 7919) % 10_000} in hall`);
const numbers = all.map((i) => i * 0.37);

function fill(): void {
  kernel.setBatch([texts, numbers], rows, all);
}

function called(code: LoadedCode, entry: string, args: number[] = [0]): [Program, string] {
  const fn = calls.push([code, entry, 0]) - 1;
  return [{ ops: [{ op: 'call.host', dst: 0, args: args.map(col), imm: fn }], consts: [] }, entry];
}

const runs: Record<string, [Program, string]> = {
  'upper (built in)': [{ ops: [{ op: 'string.upper', dst: 0, a: col(0) }], consts: [] }, ''],
  'pointers, by row': called(codes.texts, 'shout'),
  'pointers, a batch': called(codes.texts, 'trims'),
  'pointers, to a number': called(codes.texts, 'size_of'),
  AssemblyScript: called(codes.strings, 'upper_as'),
  'AssemblyScript, to a number': called(codes.strings, 'letters_as'),
  'development kit': called(codes.kit, 'loud'),
  'script over texts': called(codes.script, 'upper_js'),
  'script over numbers': called(codes.numbers, 'twice_js', [1]),
  'pointers, a batch of numbers': called(codes.texts, 'sums', [1, 1]),
};

const best = new Map<string, number>();
const made = new Map(Object.entries(runs).map(([name, [program]]) => [name, kernel.load(program)]));
for (let round = 0; round < rounds; round++) {
  for (const [name, program] of made) {
    fill();
    const began = performance.now();
    for (let i = 0; i < repeats; i++) kernel.exports.vmRun(program);
    const ns = ((performance.now() - began) * 1e6) / repeats / rows;
    best.set(name, Math.min(best.get(name) ?? Number.POSITIVE_INFINITY, ns));
    const last = kernel.register(0, all.slice(-1))[0];
    if (last !== null && typeof last === 'object') throw new Error(`${name}: ${JSON.stringify(last)}`);
  }
}
for (const [name, ns] of best) {
  console.log(`${name.padEnd(28)} ${ns.toFixed(0).padStart(6)} ns/row ${(1e3 / ns).toFixed(2).padStart(8)} M rows/s`);
}
for (const code of Object.values(codes)) code.close();
rmSync(folder, { recursive: true });
