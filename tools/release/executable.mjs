/**
 * Makes one file of the program, its packages and the Node.js that runs this (22 or newer):
 * `node tools/release/executable.mjs FILE`. It holds what an image holds, packed.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { root } from '../root.mjs';

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('usage: node tools/release/executable.mjs FILE');

/** Marks the place of the bytes in Node.js; its documentation has this text. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
/** Puts them there, for a Node.js that can't do so itself (before 25.5). */
const injector = 'postject@1.0.0-alpha.6';

const folder = mkdtempSync(join(tmpdir(), 'haumea-executable-'));
try {
  execFileSync(process.execPath, [join(root, 'tools/release/image.mjs'), join(folder, 'files')], { stdio: 'inherit' });
  // A module that is required can import others; what the executable runs itself can't.
  const start = `module.exports = (file) => import(require('node:url').pathToFileURL(file).href);\n`;
  writeFileSync(join(folder, 'files/start.cjs'), start);
  const packed = packedFiles(join(folder, 'files'));
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  writeFileSync(join(folder, 'packed'), packed);
  writeFileSync(join(folder, 'name'), `${version}-${createHash('sha256').update(packed).digest('hex').slice(0, 12)}`);
  writeExecutable();
} finally {
  rmSync(folder, { recursive: true });
}

/** A line of JSON with path, size and mode of each file, then the bytes of all. */
function packedFiles(from) {
  const entries = readdirSync(from, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = entries.map((entry) => join(entry.parentPath ?? entry.path, entry.name)).sort();
  const head = paths.map((path) => [path.slice(from.length + 1), statSync(path).size, statSync(path).mode & 0o777]);
  return gzipSync(
    Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), ...paths.map((path) => readFileSync(path))]),
  );
}

function writeExecutable() {
  const target = resolve(file);
  const canBuild = isAtLeast(25, 5);
  const settings = {
    main: join(root, 'tools/release/executable-main.cjs'),
    output: canBuild ? target : join(folder, 'blob'),
    disableExperimentalSEAWarning: true,
    assets: { files: join(folder, 'packed'), name: join(folder, 'name') },
  };
  writeFileSync(join(folder, 'settings.json'), JSON.stringify(settings));
  const flag = canBuild ? '--build-sea' : '--experimental-sea-config';
  execFileSync(process.execPath, [flag, join(folder, 'settings.json')], { stdio: 'inherit' });
  if (!canBuild) {
    copyFileSync(process.execPath, target);
    const args = ['--yes', injector, target, 'NODE_SEA_BLOB', settings.output, '--sentinel-fuse', fuse];
    execFileSync('npx', args, { stdio: 'inherit' });
  }
  chmodSync(target, 0o755);
}

function isAtLeast(major, minor) {
  const [ours = 0, ofOurs = 0] = process.versions.node.split('.').map(Number);
  return ours > major || (ours === major && ofOurs >= minor);
}
