/**
 * Lays out what an image of a container holds: `node tools/release/image.mjs FOLDER` writes FOLDER/app and the empty
 * FOLDER/data. Of the packages it takes those that the program needs, without what only compilers and other platforms
 * read.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { root } from '../root.mjs';
import { staleBuilds } from './prune.mjs';

const [target] = process.argv.slice(2);
if (target === undefined) throw new Error('usage: node tools/release/image.mjs FOLDER');
const app = join(target, 'app');

/** Files that no program reads. */
const idle = /\.(?:map|md|markdown|d\.[cm]?ts|tsbuildinfo)$/i;

const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
// `@types` are named by packages as dependencies, and hold declarations alone.
const isNeeded = ([path, { dev }]) => path !== '' && !dev && !path.includes('node_modules/@types/');
for (const [path] of Object.entries(packages).filter(isNeeded)) {
  const from = join(root, path);
  if (!existsSync(from)) continue;
  // Packages within it have entries of their own.
  cpSync(from, join(app, path), {
    recursive: true,
    filter: (file) => !idle.test(file) && (file === from || basename(file) !== 'node_modules'),
  });
}

// Native builds for every platform come with this package: those for that of this process stay.
const zeromq = join(app, 'node_modules/zeromq');
if (existsSync(zeromq)) {
  const own = `${process.platform}/${process.arch}/node/${libc()}-`;
  const builds = foldersAt(join(zeromq, 'build'), 4);
  for (const path of builds) {
    if (builds.some((one) => one.startsWith(own)) && !path.startsWith(own)) {
      rmSync(join(zeromq, 'build', path), { recursive: true });
    }
  }
  rmSync(join(zeromq, 'src'), { recursive: true, force: true });
}
const stale = staleBuilds();
for (const name of ['bin', 'dist', 'package.json', 'LICENSE']) {
  cpSync(realpathSync(join(root, name)), join(app, name), {
    recursive: true,
    filter: (file) => !idle.test(file) && !file.endsWith('.stamp') && !stale.includes(basename(file)),
  });
}
mkdirSync(join(target, 'data'), { recursive: true });

function libc() {
  if (process.platform !== 'linux') return 'unknown';
  return process.report.getReport().header.glibcVersionRuntime === undefined ? 'musl' : 'glibc';
}

/** Paths of the folders at this depth below a folder. */
function foldersAt(folder, depth) {
  if (depth === 0) return [''];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) =>
      foldersAt(join(folder, name), depth - 1).map((rest) => (rest === '' ? name : `${name}/${rest}`)),
    );
}
