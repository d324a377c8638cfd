/**
 * The engine for JavaScript with fuel, an instance for each script. Its interpreter asks now and then whether to go on.
 * Its built-in functions don't, though they may be given lengths up to 2^53: fuel ends these, and the instance.
 */
import { readFile } from 'node:fs/promises';
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSSyncVariant,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core';
import { isBundled, programFile, threadEntry } from '../../base/program/bundle.js';
import { startThread } from '../../base/program/heap.js';
import { fuelExport } from '../wasm/passes/meter.js';
import { firstPages, mostPages, pageBytes } from './memory-size.js';

/** An instance of the engine. */
export interface Engine {
  readonly quick: QuickJSWASMModule;
  /** Fuel until the interpreter asks again; below zero when it has ended a call. */
  readonly fuel: { value: bigint };
  readonly memory: EngineMemory;
}

/** Memory of an engine, which grows and never shrinks. */
export interface EngineMemory {
  /** Bytes of the memory, except those that are never touched. */
  readonly bytes: number;
  /** Tells whether the memory may grow to so many bytes. */
  mayHave: (bytes: number) => boolean;
}

/** Fuel until the interpreter asks again, some 50 to 200 ms of one loop: only long texts and lists need much of it. */
export const usualFuel = 500_000_000n;

/** File beside the bundles (tools/build.mjs). */
const built = 'quickjs.wasm';

/** Bytes of its stack of 5 MiB that are never touched: `maxStackBytes` is 1 MiB at most. */
const untouchedBytes = 4 << 20;

type Imports = ConstructorParameters<typeof WebAssembly.Instance>[1];

let module: Promise<WebAssembly.Module> | undefined;
/** An instance in reserve. */
let spare: Engine | undefined;

/** Resolves with a new instance, when another one is in reserve as well. */
export async function newEngine(): Promise<Engine> {
  module ??= metered().catch((error: unknown) => {
    module = undefined;
    throw error;
  });
  const made = await open(await module);
  await makeSpare();
  return made;
}

/** Takes the instance in reserve, if there is one; the next is made after the work under way. */
export function spareEngine(): Engine | undefined {
  const taken = spare;
  spare = undefined;
  void makeSpare();
  return taken;
}

async function makeSpare(): Promise<void> {
  if (spare !== undefined || module === undefined) return;
  try {
    const made = await open(await module);
    spare ??= made;
  } catch {
    // Without a reserve the next instance is waited for.
  }
}

async function open(compiled: WebAssembly.Module): Promise<Engine> {
  const { default: variant } = await import('@jitl/quickjs-ng-wasmfile-release-sync');
  let fuel = { value: 0n };
  const instantiateWasm = (imports: Imports, receive: (instance: WebAssembly.Instance) => void) => {
    const instance = new WebAssembly.Instance(compiled, imports);
    fuel = instance.exports[fuelExport] as unknown as { value: bigint };
    fuel.value = usualFuel;
    receive(instance);
  };
  const { memory, seen } = watchedMemory();
  // Its last prints are the error of a row.
  const silent = { print: () => {}, printErr: () => {} };
  const ours = newVariant(variant as unknown as QuickJSSyncVariant, {
    emscriptenModule: { instantiateWasm, wasmMemory: memory, ...silent } as object,
  });
  return { quick: await newQuickJSWASMModuleFromVariant(ours), fuel, memory: seen };
}

/** The memory of an engine, which asks before it grows. */
function watchedMemory(): { memory: WebAssembly.Memory; seen: EngineMemory } {
  const memory = new WebAssembly.Memory({ initial: firstPages, maximum: mostPages });
  const grow = memory.grow.bind(memory);
  const bytesAt = (pages: number) => memory.buffer.byteLength + pages * pageBytes - untouchedBytes;
  const seen: EngineMemory = {
    get bytes() {
      return bytesAt(0);
    },
    mayHave: () => true,
  };
  Object.defineProperty(memory, 'grow', {
    value: (pages: number) => {
      if (!seen.mayHave(bytesAt(pages))) throw new RangeError('there is no more memory');
      return grow(pages);
    },
  });
  return { memory, seen };
}

/** The module with fuel: part of the build. From sources a thread makes it, which takes most of a second. */
async function metered(): Promise<WebAssembly.Module> {
  const isBuilt = isBundled || process.env.HAUMEA_FROM_BUILD === '1';
  const bytes = isBuilt ? await readFile(programFile(built, `dist/${built}`)) : await meteredNow();
  return WebAssembly.compile(new Uint8Array(bytes));
}

async function meteredNow(): Promise<Uint8Array> {
  const worker = startThread(threadEntry('quickjs-worker.mjs', 'host/plugins/javascript/quickjs-worker.ts'), {});
  try {
    return await new Promise<Uint8Array>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.once('exit', () => reject(new Error('the thread that makes the engine for JavaScript ready ended')));
    });
  } finally {
    void worker.terminate();
  }
}
