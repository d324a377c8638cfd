/** Kernels for tests: entry points of assembly/testing, compiled once for each state of the sources. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  linkSync,
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
import { steadyOptions } from '../steady-options.js';

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
    if (!isHeld(lock)) rmSync(lock, { force: true });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  }
  try {
    work();
  } finally {
    rmSync(lock, { force: true });
  }
}

/** The lock comes with its text: nobody sees one whose process could not tell who it is. */
function take(lock: string): boolean {
  const own = `${lock}.${process.pid}`;
  writeFileSync(own, JSON.stringify([process.pid, startOf(process.pid)]));
  try {
    linkSync(own, lock);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(own, { force: true });
  }
}

/** Whether the process that took the lock lives. One that is gone by now was left, and may be taken again already. */
function isHeld(lock: string): boolean {
  let text: string;
  try {
    text = readFileSync(lock, 'utf8');
  } catch {
    return true;
  }
  const [pid, start] = JSON.parse(text) as [number, string];
  try {
    process.kill(pid, 0);
    return startOf(pid) === start;
  } catch {
    return false;
  }
}

/** When a process started, on Linux: another one may have got its number since. */
function startOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')[19]!;
  } catch {
    return '';
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
    execFileSync(process.execPath, [...steadyOptions, asc, entry, ...flags, '--outFile', 'kernel.wasm'], {
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
