/**
 * Zstandard where Node.js lacks it (before 22.15): the library compiled to WebAssembly. It is read at its first use and
 * called without its own wrappers, which trust sizes that a sender has written.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

type Imports = ConstructorParameters<typeof WebAssembly.Instance>[1];

interface Zstd {
  HEAPU8: Uint8Array;
  instantiateWasm?: (imports: Imports, receive: (instance: WebAssembly.Instance) => unknown) => unknown;
  init(): void;
  _malloc(bytes: number): number;
  _free(at: number): void;
  _ZSTD_isError(result: number): number;
  _ZSTD_compressBound(bytes: number): number;
  _ZSTD_compress(to: number, room: number, from: number, bytes: number, level: number): number;
  _ZSTD_decompress(to: number, room: number, from: number, bytes: number): number;
}

/** Largest result of one call, bytes, since the library keeps it in memory. */
const mostBytes = 256 * 1024 * 1024;
const leastRoom = 64 * 1024;
/** Error code of the library for a result that is longer than its buffer. */
const noRoom = -70;

let loaded: Zstd | undefined;

function library(): Zstd {
  if (loaded !== undefined) return loaded;
  const require = createRequire(import.meta.url);
  const folder = dirname(require.resolve('@bokuweb/zstd-wasm'));
  const { Module } = require(join(folder, 'zstd.js')) as { Module: Zstd };
  // Calls come from within a batch, where nobody can wait.
  Module.instantiateWasm = (imports, receive) =>
    receive(new WebAssembly.Instance(new WebAssembly.Module(readFileSync(join(folder, 'zstd.wasm'))), imports));
  Module.init();
  loaded = Module;
  return Module;
}

export function zstdCompressed(data: Uint8Array, level: number): Uint8Array {
  const zstd = library();
  const room = zstd._ZSTD_compressBound(data.length);
  const size = (to: number, from: number) => zstd._ZSTD_compress(to, room, from, data.length, level);
  const made = called(zstd, data, room, size);
  if (typeof made === 'number') throw new Error(`zstd failed with code ${made}`);
  return made;
}

/** Throws for input that is no zstd, and for a result of more than `maxBytes`. */
export function zstdDecompressed(data: Uint8Array, maxBytes: number): Uint8Array {
  if (data.length === 0) throw new Error('no valid zstd data');
  const zstd = library();
  const most = Math.min(maxBytes, mostBytes);
  for (let room = Math.min(most, Math.max(leastRoom, data.length * 4)); ; room = Math.min(most, room * 4)) {
    const size = (to: number, from: number) => zstd._ZSTD_decompress(to, room, from, data.length);
    const made = called(zstd, data, room, size);
    if (typeof made !== 'number') return made;
    if (made !== noRoom) throw new Error(`no valid zstd data (code ${made})`);
    if (room === most) throw new Error(`more than ${most} bytes`);
  }
}

/** Runs a call of the library; returns the bytes of its result, or the code of its failure. */
function called(
  zstd: Zstd,
  data: Uint8Array,
  room: number,
  call: (to: number, from: number) => number,
): Uint8Array | number {
  const from = zstd._malloc(Math.max(1, data.length));
  const to = zstd._malloc(Math.max(1, room));
  try {
    if (from === 0 || to === 0) throw new Error('no memory is left for zstd');
    zstd.HEAPU8.set(data, from);
    const size = call(to, from);
    return zstd._ZSTD_isError(size) ? size | 0 : zstd.HEAPU8.slice(to, to + size);
  } finally {
    zstd._free(to);
    zstd._free(from);
  }
}
