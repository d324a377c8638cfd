/**
 * Makes a fresh clone ready: installs packages when missing or outdated, builds what is stale, then runs a script.
 * Plain Node without packages, because it runs before any is installed.
 *
 *     node tools/setup.mjs                     install and build only
 *     node tools/setup.mjs test/run.ts ...     the same, then run the script with these arguments
 *     node tools/setup.mjs --no-build ...      install only, then run the script
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './root.mjs';

/** Loaded on demand: few starts need it. */
const childProcess = () => createRequire(import.meta.url)('node:child_process');

const oldestNode = 20;
const lockFile = join(root, 'package-lock.json');
const installed = join(root, 'node_modules', '.package-lock.json');
const installStamp = join(root, 'node_modules', '.haumea-install');

/** Installs and builds as needed; costs a few milliseconds when everything is current. */
export async function prepare({ build = true } = {}) {
  const major = Number(process.versions.node.split('.')[0]);
  if (major < oldestNode) throw new Error(`Node ${oldestNode} or newer is needed, this is ${process.version}`);
  installIfNeeded();
  if (!build) return;
  const { isStale } = await import('./stamp.mjs');
  if (!isStale()) return;
  const { buildAll } = await import('./build.mjs');
  await buildAll();
}

/** Compares the lock file with the one of the last installation; a manual `npm ci` counts as one. */
function installIfNeeded() {
  const wanted = createHash('sha256').update(readFileSync(lockFile)).digest('hex');
  if (existsSync(installStamp) && readFileSync(installStamp, 'utf8') === wanted) return;
  if (!(existsSync(installed) && statSync(installed).mtimeMs >= statSync(lockFile).mtimeMs)) {
    console.error('haumea: installing packages, on the first run that and the build take a minute or two');
    // `install` keeps to the lock file as well, but goes on where a registry lacks packages for other platforms.
    if (!npm('ci') && !npm('install', '--no-save')) throw new Error('npm could not install the packages');
  }
  writeFileSync(installStamp, wanted);
}

/** Runs npm; its output goes to standard error, so that the output of the command itself stays clean. */
function npm(...args) {
  const { spawnSync } = childProcess();
  const all = [...args, '--no-audit', '--no-fund', '--loglevel=error'];
  const options = { cwd: root, stdio: ['ignore', 2, 2] };
  const script = process.env.npm_execpath;
  const result = script?.endsWith('.js')
    ? spawnSync(process.execPath, [script, ...all], options)
    : spawnSync('npm', all, { ...options, shell: process.platform === 'win32' });
  return result.status === 0;
}

/** Runs a script of the checkout in a process of its own and ends with its exit code. */
function run(script, args) {
  const loader = script.endsWith('.ts')
    ? ['--import', pathToFileURL(join(root, 'node_modules/tsx/dist/loader.mjs')).href]
    : [];
  const child = childProcess().spawn(process.execPath, [...loader, join(root, script), ...args], { stdio: 'inherit' });
  // The terminal sends Ctrl-C to the whole group: the child decides how to end.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === null ? 1 : 128);
  });
}

if (process.argv[1] && pathToFileURL(process.argv[1]).href === import.meta.url) {
  const args = process.argv.slice(2);
  const build = args[0] !== '--no-build';
  if (!build) args.shift();
  try {
    await prepare({ build });
    const [script, ...rest] = args;
    if (script !== undefined) run(script, rest);
  } catch (error) {
    console.error(`haumea: ${error.message}`);
    process.exitCode = 1;
  }
}
