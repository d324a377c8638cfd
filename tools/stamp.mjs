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
  'docs',
  'examples/README.md',
  'ARCHITECTURE.md',
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
  const lines = [];
  for (const name of sources) collect(name, (path, full) => lines.push(stamped(path, full)));
  return digest(lines);
}

/** Returns a text that changes with the content of the given files and folders, not with their times. */
export function contentStamp(...names) {
  const lines = [];
  for (const name of names) collect(name, (path, full) => lines.push(`${path}|${readFileSync(full, 'utf8')}`));
  return digest(lines);
}

function stamped(path, full) {
  const { mtimeMs, size } = statSync(full);
  return `${path}|${mtimeMs}|${size}`;
}

function digest(lines) {
  return createHash('sha256').update(lines.join('\n')).digest('hex');
}

function collect(name, take) {
  const info = statSync(join(root, name), { throwIfNoEntry: false });
  if (info?.isDirectory()) collectFolder(name, `${root}/${name}`, take);
  else if (info !== undefined) take(name, `${root}/${name}`);
}

/** Each start of a checkout looks at every file, so that files are told from folders without a call for each. */
function collectFolder(path, full, take) {
  const entries = readdirSync(full, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    if (ignored.has(entry.name)) continue;
    // A link counts as what it leads to.
    if (entry.isSymbolicLink()) collect(`${path}/${entry.name}`, take);
    else if (entry.isDirectory()) collectFolder(`${path}/${entry.name}`, `${full}/${entry.name}`, take);
    else take(`${path}/${entry.name}`, `${full}/${entry.name}`);
  }
}
