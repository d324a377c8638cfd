/**
 * Removes what is left of earlier builds in dist/, before the package is packed. The build itself leaves it for an
 * hour, for servers that run from it.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root } from '../root.mjs';

const dist = join(root, 'dist');
const folder = /\b(?:control|plane|chunks)-[0-9a-f]{8}\b/;

/** Folders of dist/ whose chunks no entry of the present build loads. */
export function staleBuilds() {
  const names = readdirSync(dist);
  const entries = names.filter((name) => name.endsWith('.mjs')).map((name) => readFileSync(join(dist, name), 'utf8'));
  const used = new Set(entries.flatMap((text) => text.match(new RegExp(folder, 'g')) ?? []));
  return names.filter((name) => folder.test(name) && !used.has(name));
}

/** Files for browsers and programs that the present build has not made, as paths below dist/. */
export function staleFiles() {
  return ['console', 'docs', 'sdk'].flatMap((name) => {
    const folder = join(dist, name);
    const list = join(folder, '.made');
    if (!existsSync(list)) return [];
    const made = new Set(['.made', ...readFileSync(list, 'utf8').split('\n')]);
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const paths = files.map((entry) => relative(folder, join(entry.parentPath ?? entry.path, entry.name)));
    return paths.filter((path) => !made.has(path.replaceAll('\\', '/'))).map((path) => `${name}/${path}`);
  });
}

export function pruneStale() {
  for (const name of [...staleBuilds(), ...staleFiles()]) rmSync(join(dist, name), { recursive: true });
}

if (process.argv[1]?.endsWith('prune.mjs')) pruneStale();
