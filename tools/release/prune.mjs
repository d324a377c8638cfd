/**
 * Removes what is left of earlier builds in dist/, before the package is packed. The build itself leaves it for an
 * hour, for servers that run from it.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
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

export function pruneStale() {
  for (const name of staleBuilds()) rmSync(join(dist, name), { recursive: true });
}

if (process.argv[1]?.endsWith('prune.mjs')) pruneStale();
