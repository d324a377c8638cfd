/** Kernels for tests: entry points of assembly/testing, compiled once for each state of the sources. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const sources = join(root, 'assembly');
const builds = join(root, 'kernels/build');
/** As the kernel that ships (asconfig.json), but it checks what must hold between its parts (`assert`). */
const flags = [
  ...['-O3', '--runtime', 'stub', '--enable', 'simd,bulk-memory'],
  ...['--initialMemory', '64', '--maximumMemory', '65536'],
];

/** The module of `assembly/testing/<name>.ts`. */
export function testModule(name: string): WebAssembly.Module {
  const target = join(builds, `test-${name}-${stateOfSources()}.wasm`);
  if (!existsSync(target)) {
    // The runner does not count this towards the time that a file may take.
    console.log(`\nWAITS for the ${name} module`);
    onceAtATime(target, () => existsSync(target) || compile(name, target));
    console.log(`WAITED for the ${name} module`);
  }
  return new WebAssembly.Module(new Uint8Array(readFileSync(target)));
}

/**
 * Test files run at the same time: the first one compiles, the others wait for it. A lock without its process is taken
 * over.
 */
function onceAtATime(target: string, work: () => void): void {
  mkdirSync(builds, { recursive: true });
  const lock = `${target}.lock`;
  while (!take(lock)) {
    if (!isAlive(Number(holderOf(lock)))) rmSync(lock, { force: true });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  }
  try {
    work();
  } finally {
    rmSync(lock, { force: true });
  }
}

function take(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch {
    return false;
  }
}

function holderOf(lock: string): string {
  try {
    return readFileSync(lock, 'utf8');
  } catch {
    return '0';
  }
}

function isAlive(pid: number): boolean {
  try {
    // 0 is the lock that is just being written.
    return pid === 0 || process.kill(pid, 0);
  } catch {
    return false;
  }
}

function stateOfSources(): string {
  const names = readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .sort();
  const hash = createHash('sha1');
  for (const name of names) hash.update(name).update(readFileSync(join(sources, name)));
  return hash.digest('hex').slice(0, 12);
}

function compile(name: string, target: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'haumea-kernel-'));
  try {
    cpSync(sources, join(folder, 'assembly'), { recursive: true });
    const asc = join(root, 'node_modules/assemblyscript/bin/asc.js');
    const entry = `assembly/testing/${name}.ts`;
    const made = join(folder, 'kernel.wasm');
    // Away from asconfig.json, whose default is the kernel that ships.
    execFileSync(process.execPath, [asc, entry, ...flags, '--outFile', 'kernel.wasm'], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    mkdirSync(builds, { recursive: true });
    removeOlder(name, target);
    // Test files run at the same time and share the module, so it takes its place only when it is whole.
    cpSync(made, `${target}.${process.pid}`);
    renameSync(`${target}.${process.pid}`, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Only modules of other sources go: another test file may be about to put the present one in place. */
function removeOlder(name: string, target: string): void {
  const form = new RegExp(`^test-${name}-[0-9a-f]+\\.wasm$`);
  for (const file of readdirSync(builds)) {
    if (form.test(file) && file !== basename(target)) rmSync(join(builds, file), { force: true });
  }
}

type Imports = ConstructorParameters<typeof WebAssembly.Instance>[1];

/** Imports for modules whose calls of the host are never reached. */
export const unreached = new Proxy({}, { get: () => new Proxy({}, { get: () => () => 0 }) }) as Imports;
