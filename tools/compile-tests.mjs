/**
 * Compiles the tests and the sources they import into a folder of the same form, so that a test file starts without a
 * compiler: tsx costs each one and more seconds of processor time, since it hands over every module by itself.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { root } from './root.mjs';
import { contentStamp } from './stamp.mjs';

/** Inside of node_modules, so that packages are found from there. */
const cache = join(root, 'node_modules/.cache/haumea');
/** A compiled form stays this long after another took its place: a run may still use it. */
const oldMs = 3_600_000;
const folders = ['host', 'kernels', 'bench', 'tools', 'test'];
const ignored = /(^|\/)(build|results|node_modules)\//;

/** A module finds the files beside its source, not beside its compiled form. */
const sourceUrls = {
  name: 'source-urls',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)),
      loader: 'ts',
    }));
  },
};

/** Compiles all unless that is done; resolves with the folder that has the compiled form of each source. */
export async function compileTests() {
  const compiled = join(cache, `compiled-${contentStamp(...folders, 'package.json').slice(0, 16)}`);
  if (existsSync(compiled)) return compiled;
  const entryPoints = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map((name) => `${folder}/${name}`)
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts') && !ignored.test(name)),
  );
  prune();
  const temporary = mkdtempSync(join(cache, 'compiling-'));
  await build({
    absWorkingDir: root,
    entryPoints,
    outdir: temporary,
    outbase: root,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'error',
    plugins: [sourceUrls],
  });
  copyFileSync(join(root, 'package.json'), join(temporary, 'package.json'));
  try {
    renameSync(temporary, compiled);
  } catch (error) {
    // Another run was faster.
    if (!existsSync(compiled)) throw error;
    rmSync(temporary, { recursive: true, force: true });
  }
  return compiled;
}

function prune() {
  mkdirSync(cache, { recursive: true });
  for (const name of readdirSync(cache)) {
    const folder = join(cache, name);
    if (name.startsWith('compil') && Date.now() - statSync(folder).mtimeMs > oldMs) {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}
