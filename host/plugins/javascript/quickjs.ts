/**
 * The engine for JavaScript with fuel written into it, an instance for each script. Its interpreter asks now and then
 * whether to go on; its built-in functions, which may be given lengths up to 2^53, don't, so these end by fuel, and the
 * instance with them.
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
  /** What may still run until the interpreter asks again; below zero when that has ended a call. */
  readonly fuel: { value: bigint };
  readonly memory: EngineMemory;
}

/** Memory of an engine, which grows and never shrinks. */
export interface EngineMemory {
  /** Without what nothing ever touches. */
  readonly bytes: number;
  /** Says whether it may grow to so many bytes; what asks for more gets none. */
  mayHave: (bytes: number) => boolean;
}

/**
 * What runs until the interpreter asks again takes far less, but for long texts and lists; some 50 to 200 ms of one
 * loop.
 */
export const usualFuel = 500_000_000n;

/** Beside the bundles (tools/build.mjs). */
const built = 'quickjs.wasm';

/** Of its stack at the bottom of its memory, 5 MiB, no script reaches the half: `maxStackBytes` is 1 MiB at most. */
const untouchedBytes = 4 << 20;

type Imports = ConstructorParameters<typeof WebAssembly.Instance>[1];

let module: Promise<WebAssembly.Module> | undefined;
/** One that is ready for whoever needs it at once. */
let spare: Engine | undefined;

/** Resolves with an instance that nobody else has; another one is in reserve then. */
export async function newEngine(): Promise<Engine> {
  module ??= metered().catch((error: unknown) => {
    module = undefined;
    throw error;
  });
  const made = await open(await module);
  await makeSpare();
  return made;
}

/** An instance without waiting, if there is one; the next is there when what runs now has ended. */
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
    // Whoever needs it does without.
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
  // What it prints when it ends is told as the error of a row.
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

/**
 * The engine's module with fuel: part of the build; from sources it is made in a thread, since that takes the better
 * part of a second.
 */
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
