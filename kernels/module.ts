/** The compiled kernel, found beside the program. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Places of the kernel: beside the bundle, above its chunks, or where the build puts it in a checkout. */
const places = ['./haumea.wasm', '../haumea.wasm', './build/haumea.wasm'];
let compiled: WebAssembly.Module | undefined;

/** Compiles the kernel once per process; the module can be posted to workers. Throws when no kernel was built. */
export function kernelModule(): WebAssembly.Module {
  compiled ??= new WebAssembly.Module(readFileSync(kernelPath()));
  return compiled;
}

function kernelPath(): string {
  const paths = places.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  const path = paths.find((candidate) => existsSync(candidate));
  if (path === undefined)
    throw new Error(`the kernel is not built: none of ${paths.join(', ')} exists; run npm run build`);
  return path;
}
