/**
 * Lays out what an image of a container holds: `node tools/release/image.mjs FOLDER` writes FOLDER/app and the empty
 * FOLDER/data. Of the packages it takes those that the program needs, without what only compilers and other platforms
 * read.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { root } from '../root.mjs';
import { staleBuilds, staleFiles } from './prune.mjs';

const [target] = process.argv.slice(2);
if (target === undefined) throw new Error('usage: node tools/release/image.mjs FOLDER');
const app = join(target, 'app');

/** Files that no program reads. */
const idle = /\.(?:map|md|markdown|d\.[cm]?ts|tsbuildinfo)$/i;

/** Of these packages the program reads a part: the rest serves compilers and browsers. */
const unread = ['node-addon-api', 'protobufjs/dist', ...['main', 'lib'].map((name) => `cmake-ts/build/${name}`)];
const isRead = (file) => !unread.some((one) => new RegExp(`node_modules/${one}(?:/|\\.m?js$|$)`).test(file));

const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
// `@types` are named by packages as dependencies, and hold declarations alone.
const isNeeded = ([path, { dev }]) => path !== '' && !dev && !path.includes('node_modules/@types/');
for (const [path] of Object.entries(packages).filter(isNeeded)) {
  const from = join(root, path);
  if (!existsSync(from)) continue;
  // Packages within it have entries of their own.
  cpSync(from, join(app, path), {
    recursive: true,
    filter: (file) => !idle.test(file) && isRead(file) && (file === from || basename(file) !== 'node_modules'),
  });
}

// Native builds for every platform come with this package: one for that of this process stays.
const zeromq = join(app, 'node_modules/zeromq');
if (existsSync(zeromq)) {
  const own = `${process.platform}/${process.arch}/node/${libc()}-`;
  const builds = foldersAt(join(zeromq, 'build'), 4);
  const kept = builds.filter((one) => one.startsWith(own)).sort((a, b) => abiOf(b) - abiOf(a));
  const used = kept.find((one) => loads(join(zeromq, 'build', one, 'addon.node')));
  for (const path of used === undefined ? [] : builds.filter((one) => one !== used)) {
    rmSync(join(zeromq, 'build', path), { recursive: true });
  }
  rmSync(join(zeromq, 'src'), { recursive: true, force: true });
}
const dist = realpathSync(join(root, 'dist'));
const stale = new Set([...staleBuilds(), ...staleFiles()].map((name) => join(dist, name)));
for (const name of ['bin', 'dist', 'package.json', 'LICENSE']) {
  cpSync(realpathSync(join(root, name)), join(app, name), {
    recursive: true,
    filter: (file) => !idle.test(file) && !/(?:stamp|\.made)$/.test(file) && !stale.has(file),
  });
}
mkdirSync(join(target, 'data'), { recursive: true });

/** The version of the interface of Node.js that a build is for; the package tries the newest first. */
function abiOf(path) {
  return Number(/-(\d+)-\w+$/.exec(path)?.[1]);
}

/** Tells whether this Node.js loads a native module. */
function loads(file) {
  return spawnSync(process.execPath, ['-e', 'require(process.argv[1])', file]).status === 0;
}

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
