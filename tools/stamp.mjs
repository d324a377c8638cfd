/** Tells whether the build is current, by the names, times and sizes of everything it is made from. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from './root.mjs';

const sources = [
  'host',
  'kernels',
  'assembly',
  'bench',
  'examples/demo',
  'package-lock.json',
  'asconfig.json',
  'tools',
];
const ignored = new Set(['build', 'results', 'node_modules']);
const stampFile = join(root, 'dist', '.stamp');

/** Returns true when a source changed since the last build. */
export function isStale() {
  return !existsSync(stampFile) || readFileSync(stampFile, 'utf8') !== sourceStamp();
}

/** Remembers that the build matches the sources as they were when `stamp` was taken. */
export function markCurrent(stamp) {
  mkdirSync(dirname(stampFile), { recursive: true });
  writeFileSync(stampFile, stamp);
}

/** Returns a text that changes with any source. */
export function sourceStamp() {
  const hash = createHash('sha256');
  for (const name of sources) add(hash, name, (path, info) => `${path}|${info.mtimeMs}|${info.size}`);
  return hash.digest('hex');
}

/** Returns a text that changes with the content of the given files and folders, not with their times. */
export function contentStamp(...names) {
  const hash = createHash('sha256');
  for (const name of names) add(hash, name, (path) => `${path}|${readFileSync(join(root, path), 'utf8')}`);
  return hash.digest('hex');
}

function add(hash, path, line) {
  const full = join(root, path);
  if (!existsSync(full)) return;
  const info = statSync(full);
  if (!info.isDirectory()) {
    hash.update(`${line(path, info)}\n`);
    return;
  }
  for (const name of readdirSync(full).sort()) {
    if (!ignored.has(name)) add(hash, `${path}/${name}`, line);
  }
}
